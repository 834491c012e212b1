"""Requests that pages of other sites cause in a visitor's browser: only links and pictures are allowed.

Such pages cannot read answers, because there are no CORS headers, but browsers send forms and simple POSTs all the
same. These could register users, send mails, pay checkouts, use up planned faults, and fill the request log. Browsers
send headers that say where a request comes from; other clients do not, and are served.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Response, request

from flask_paycheckout.sandbox.wire.callers import CallRefused

_OWN = frozenset({"same-origin", "none"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_PICTURES = "/pictures/"


def is_cross_site() -> bool:
    """Whether a page of another site caused this request, and it is neither a link nor a picture."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is None:
        # Old browsers, and browsers that consider the host insecure, send only this header, with forms.
        origin = request.headers.get("Origin")
        return request.method not in _READING and origin is not None and _host_in(origin) != request.host
    return site not in _OWN and not _is_link() and not _is_picture()


def check_site() -> None:
    if is_cross_site():
        raise CallRefused(
            403, "page", "is of another origin", "Send this from a program, or open the address in a tab of its own."
        )


def isolate(response: Response) -> None:
    """Forbid pages of other sites to run, frame or load a response; our own pages have stricter headers already."""
    headers = response.headers
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
    if not request.path.startswith(_PICTURES):
        headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")


def _is_link() -> bool:
    """Whether a person followed a link, in a tab and not in a frame."""
    sent = (request.method, request.headers.get("Sec-Fetch-Mode"), request.headers.get("Sec-Fetch-Dest"))
    return sent == ("GET", "navigate", "document")


def _is_picture() -> bool:
    return request.method == "GET" and request.path.startswith(_PICTURES)


def _host_in(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""
