"""What pages of other origins can do here by way of their visitor's browser: link to a page, and show a picture.

They cannot read answers anyway, since no answer allows it. But a browser sends what it cannot read the answer to: a
form, or a script's plain POST, would register users, have mails sent, pay a checkout, use up a fault that was ordered,
and push what matters out of the request log. Browsers say where a request comes from; clients that are no browsers say
nothing, and are served.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Response, request

from flask_paycheckout.sandbox.wire.callers import CallRefused

_OWN = frozenset({"same-origin", "none"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_PICTURES = "/pictures/"


def is_cross_site() -> bool:
    """Whether a page of another origin has its visitor's browser send this, and more than a link could."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is None:
        # Browsers of old, or a host that they hold for insecure, tell this much of a form.
        origin = request.headers.get("Origin")
        return request.method not in _READING and origin is not None and _host_in(origin) != request.host
    return site not in _OWN and not _is_link() and not _is_picture()


def check_site() -> None:
    if is_cross_site():
        raise CallRefused(
            403, "page", "is of another origin", "Send this from a program, or open the address in a tab of its own."
        )


def isolate(response: Response) -> None:
    """Let no page of another origin run, frame or load an answer; pages of ours have stricter rules already."""
    headers = response.headers
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
    if not request.path.startswith(_PICTURES):
        headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")


def _is_link() -> bool:
    """Followed by a person in a tab, and not loaded into a frame."""
    sent = (request.method, request.headers.get("Sec-Fetch-Mode"), request.headers.get("Sec-Fetch-Dest"))
    return sent == ("GET", "navigate", "document")


def _is_picture() -> bool:
    return request.method == "GET" and request.path.startswith(_PICTURES)


def _host_in(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""
