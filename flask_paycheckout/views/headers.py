"""Headers of every answer of ours, and who may post to us."""

from __future__ import annotations

import secrets
from urllib.parse import urlsplit

from flask import Response, abort, current_app, g, request

from flask_paycheckout.runtime import runtime
from flask_paycheckout.security.origins import origin_of

__all__ = ["harden", "harden_unrouted", "nonce", "require_same_site"]

# A form on a page that may send no referrer is sent with `Origin: null`, and older browsers, or any over plain http,
# say nothing else of where it comes from. Told is the shop's origin, never the page's address, which holds the token;
# where that policy is not known, nothing.
_PAGE_REFERRER = "no-referrer, strict-origin"
# Of an answer that is no page, nothing may run or be shown.
_POLICY = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"


def nonce() -> str:
    """This answer's nonce for scripts and styles."""
    value: str = g.setdefault("paycheckout_nonce", secrets.token_urlsafe(16))
    return value


def harden(response: Response) -> Response:
    """Nothing cached, nothing framed, nothing told to the next site, nothing run that is not ours."""
    headers = response.headers
    headers["X-Content-Type-Options"] = "nosniff"
    if request.endpoint == "paycheckout.static":
        return response
    shown = _is_page(response)
    headers["Cache-Control"] = "no-store"
    headers["Referrer-Policy"] = _PAGE_REFERRER if shown else "no-referrer"
    headers["X-Frame-Options"] = "DENY"
    headers["Content-Security-Policy"] = _page_policy() if shown else _POLICY
    return response


def _page_policy() -> str:
    return (
        f"default-src 'none'; script-src 'nonce-{nonce()}'; style-src 'self' 'nonce-{nonce()}'; img-src 'self' data:;"
        f" connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' {_payment_pages()}"
    )


def _is_page(response: Response) -> bool:
    """Whether this answer is shown; a redirect to the payment page is not, and tells it nothing."""
    return response.mimetype == "text/html" and not response.location


def harden_unrouted(response: Response) -> Response:
    """The same for what no route took: a wrong method, another path below ours, a host that is not trusted."""
    prefix = runtime().settings.url_prefix
    if request.url_rule is None and prefix and request.path.startswith(f"{prefix}/"):
        return harden(response)
    return response


def require_same_site(remedy: str = "Please start the payment from the shop's own page.") -> None:
    """Refuse a form that another site's page sent; 403.

    Browsers say where a form came from in `Sec-Fetch-Site`, older ones in `Origin`; a browser that says neither is
    refused. Tests and debugging clients often send neither, so there that is taken.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site in ("same-origin", "none"):
        return
    origin = request.headers.get("Origin")
    if site in (None, "same-site"):
        if origin in _own_origins():
            return
        if site is None and origin in (None, "null") and (current_app.testing or current_app.debug):
            return
    abort(403, f"This form was sent from another site. {remedy}")


def _own_origins() -> set[str]:
    """This shop's origins: the public one, and the one that this request came to."""
    # The host is empty when the header made no sense.
    own = {f"{request.scheme}://{request.host}"} if request.host else set()
    public = runtime().settings.public_url
    return own | {origin_of(public)} if public else own


def _payment_pages() -> str:
    """Browsers hold a form's redirects to `form-action` as well, so the service's page must be listed."""
    allowed = runtime().settings.checkout_origins
    if allowed:
        return " ".join(allowed)
    service = urlsplit(runtime().settings.base_url)
    local = " http://127.0.0.1:* http://localhost:*" if service.scheme == "http" else ""
    return f"https:{local}"
