"""Checks that calls can be sent below a base URL."""

from __future__ import annotations

from urllib.parse import urlsplit

import httpx

__all__ = ["checked_base_url"]


def checked_base_url(base_url: str) -> str:
    """The base URL without a slash at its end.

    :raises TypeError: it is no string.
    :raises ValueError: it cannot be used; the text names the fault and never quotes the URL, which may hold a password.
    """
    if not isinstance(base_url, str):
        raise TypeError(f"base_url must be a string, not {type(base_url).__name__}")
    fault = _fault_of(base_url)
    if fault:
        raise ValueError(f"base_url {fault}; it should look like https://api.example.com")
    return base_url.rstrip("/")


def _fault_of(base_url: str) -> str | None:
    if not base_url.isascii() or not base_url.isprintable() or set(base_url) & set(' \\"<>^`{|}'):
        return "holds a character that a URL cannot have"
    try:
        parts = urlsplit(base_url)
        host, port = parts.hostname, parts.port
        httpx.URL(base_url).host.encode("idna")
    except (ValueError, httpx.InvalidURL):
        return "is not a URL: its host or port cannot be read"
    if parts.scheme not in ("http", "https"):
        return "must begin with https:// or http://"
    if not host or port == 0:
        return "has no host, or port 0"
    if "@" in parts.netloc:
        return "must not hold a user name or password"
    if "?" in base_url or "#" in base_url:
        return "must not have a query or fragment"
    if any(segment in ("", ".", "..") for segment in parts.path.rstrip("/").split("/")[1:]):
        return "has an empty or dotted path segment"
    return None
