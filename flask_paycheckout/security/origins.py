"""The check of payment URLs: a customer is redirected to allowed origins only."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from flask_paycheckout.errors import UnsafeCheckoutUrl

_MAX_URL = 2048
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NOT_IN_URLS = re.compile(r'[^\x21-\x7E]|[\\"<>]')
_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?")
_ENDS_IN_NUMBER = re.compile(r"(^|\.)(\d+|0x[0-9a-f]*)\.?$")


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def leads_to_loopback(url: str) -> bool:
    """Whether the host of a URL means this machine."""
    return is_loopback(urlsplit(url).hostname or "")


def reaches_this_machine(host: str) -> bool:
    """Whether a connection to this host name or address may reach this machine, in any spelling.

    Wider than `is_loopback`, and used to refuse addresses. Names are not looked up in DNS.
    """
    name = host.strip("[]").rstrip(".").lower()
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return is_loopback(name)
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, without the default port.

    :raises ValueError: not an absolute http(s) URL, or one that browsers may read differently; the message says why.
    """
    if len(url) > _MAX_URL:
        raise ValueError(f"is longer than {_MAX_URL} characters")
    if _NOT_IN_URLS.search(url):
        # Browsers repair such characters in their own ways, and could go elsewhere than to the origin checked here.
        raise ValueError("holds a character that no URL may hold")
    parts = urlsplit(url)
    if parts.scheme not in _DEFAULT_PORTS or not url.lower().startswith(f"{parts.scheme}://"):
        raise ValueError("is not an absolute http or https URL")
    if not parts.hostname or "@" in parts.netloc or "%" in parts.netloc:
        raise ValueError("has no plain host")
    if ("[" in parts.netloc) != (":" in parts.hostname) or not _is_plain(parts.hostname):
        raise ValueError("has a host that is neither a plain name nor an address")
    port = _DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
    if port == 0:
        raise ValueError("names port 0, where nothing listens")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + ("" if port == _DEFAULT_PORTS[parts.scheme] else f":{port}")


def _is_plain(host: str) -> bool:
    """Whether browsers, and the policy header that lists the host, read it in exactly one way."""
    if ":" not in host and not _ENDS_IN_NUMBER.search(host):
        return _NAME.fullmatch(host) is not None
    try:
        # Browsers read 2130706433, 0x7f.1 and 127.1 as addresses too; only the dotted form is read alike everywhere.
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def require_allowed(url: str, allowed: tuple[str, ...]) -> None:
    """Refuse a payment URL whose origin is not in `allowed`.

    :param allowed: origins; when empty, https is allowed anywhere, and http on this machine only.
    :raises UnsafeCheckoutUrl: gives the fault, never the URL itself, with which anybody could pay.
    """
    try:
        origin = origin_of(url)
    except ValueError as fault:
        raise UnsafeCheckoutUrl(str(fault)) from None
    if allowed:
        if origin not in allowed:
            raise UnsafeCheckoutUrl(f"goes to {origin}, which is not an allowed origin")
    elif origin.startswith("http://") and not leads_to_loopback(url):
        raise UnsafeCheckoutUrl(f"goes to {origin}, which is not https")
