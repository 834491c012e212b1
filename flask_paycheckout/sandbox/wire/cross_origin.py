"""Requests that pages of other sites cause in a visitor's browser: only links, the picture and quotes are allowed.

Such pages cannot read other answers, because there are no CORS headers, but browsers send forms and simple POSTs all
the same. They could register users, send mails, pay checkouts, use up planned faults, and fill the request log.
Browsers send headers that say where a request comes from; other clients do not, and are served.

Quotes are for pages of shops, which ask with the client id alone. Any page may ask for one and read the answer.
"""

from __future__ import annotations

from flask import Response, g, request

from flask_paycheckout.sandbox.wire.envelope import success

_OWN = frozenset({"same-origin", "none"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
PICTURE = "/static/picture.svg"
_QUOTES = "/v2/payment/quote"
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET",
    "Access-Control-Allow-Headers": "X-Client-ID, X-Timestamp, X-Signature, Authorization, Content-Type",
    "Access-Control-Max-Age": "600",
}


def is_cross_site() -> bool:
    """Whether a page of another site caused this request, which is not allowed from there."""
    if is_for_every_page():
        return False
    site = request.headers.get("Sec-Fetch-Site")
    if site is None:
        # Old browsers, and browsers that consider the host insecure, send only this header, with forms.
        origin = request.headers.get("Origin")
        return request.method not in _READING and origin is not None and origin.partition("://")[2] != request.host
    is_picture = request.method == "GET" and request.path == PICTURE
    return site not in _OWN and not _is_link() and not is_picture


def is_for_every_page() -> bool:
    """Whether pages of other sites may send this request and read its answer: a quote."""
    reads = request.path == _QUOTES and request.method in _READING
    # Scripts, pictures and frames need no quotes, because they cannot send a client id.
    return reads and request.headers.get("Sec-Fetch-Mode", "cors") == "cors"


def is_noise() -> bool:
    """Whether any page could have sent this request: a quote from elsewhere, for no account that is known."""
    is_from_page = "Origin" in request.headers or request.headers.get("Sec-Fetch-Site", "none") not in _OWN
    return is_from_page and is_for_every_page() and "account" not in g


def preflight() -> Response | None:
    """Answer a CORS preflight request for a quote; None for every other request."""
    if request.method != "OPTIONS" or not is_for_every_page() or "Access-Control-Request-Method" not in request.headers:
        return None
    allowed = success({}, "Success")
    allowed.headers.update(_PREFLIGHT)
    return allowed


def isolate(response: Response) -> None:
    """Forbid pages of other sites to run, frame or load a response; our own pages have stricter headers already.

    A script may read a quote, which these headers leave alone.
    """
    headers = response.headers
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
    if is_for_every_page():
        headers["Access-Control-Allow-Origin"] = "*"
        headers["Access-Control-Expose-Headers"] = "Retry-After"
    if request.path != PICTURE:
        headers.setdefault("Cross-Origin-Resource-Policy", "same-origin")


def _is_link() -> bool:
    """Whether a person followed a link, in a tab and not in a frame."""
    sent = (request.method, request.headers.get("Sec-Fetch-Mode"), request.headers.get("Sec-Fetch-Dest"))
    return sent == ("GET", "navigate", "document")
