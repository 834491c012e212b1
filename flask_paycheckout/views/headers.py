"""Security headers of every response, and the checks of who sends a form or a request for JSON.

Flask-WTF's check does not suit our forms, because it requires a token from the visitor's session: the service that
sends webhooks has no session, and a payment link works from any device. Our forms are protected by their encrypted
token, and by the browser's `Sec-Fetch-Site` or `Origin` header; Flask-WTF still checks the shop's own forms.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable, Sequence
from urllib.parse import urlsplit

from flask import Flask, Response, abort, current_app, request
from werkzeug.datastructures import HeaderSet, MIMEAccept
from werkzeug.http import parse_options_header

from flask_paycheckout.runtime import runtime
from flask_paycheckout.security.origins import origin_of
from flask_paycheckout.views.language import accepted_by, page_settings

# With "no-referrer", browsers post forms with `Origin: null`. Older browsers, and all browsers over plain http, send no
# other header that names the origin. "strict-origin" sends the shop's origin, never the page's address with its token;
# browsers that do not know it fall back to "no-referrer".
_PAGE_REFERRER = "no-referrer, strict-origin"
# The policy of responses that are not pages: nothing may run or be embedded.
_POLICY = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'"
_FOR_ORIGINS = {
    f"paycheckout.{name}" for name in ("create_checkout", "order_page", "order_status", "refund", "request")
}
HTML = {"Content-Type": "text/html; charset=utf-8"}
"""The header of each page, since the shop's own responses may be JSON by default."""

# Seconds for which a browser keeps the answer to a preflight.
_PREFLIGHT_AGE = 600
_NONCE, _PAYMENT_PAGES = "flask_paycheckout.nonce", "flask_paycheckout.payment_pages"


def release_session() -> None:
    """Before a request, end the transaction that the shop's `before_request` functions left open, if it only read."""
    if request.endpoint != "paycheckout.static":
        runtime().sessions.let_clean_go()


def nonce() -> str:
    """The nonce of this response for scripts and styles."""
    value: str = request.environ.setdefault(_NONCE, secrets.token_urlsafe(16))
    return value


def lead_forms_to(account: Callable[[], str]) -> None:
    """Let the pay form of this page lead to an account's payment pages; `form-action` is applied to redirects too.

    :param account: returns the account's name. If it raises an error, the account's origins are unknown, and the form
        may lead to any https address; with a sandbox on this machine, also to http on the loopback interface.
    """
    shop = runtime()
    try:
        origins = shop.origins_of(account())
    except Exception:
        origins = ()
    local = " http://127.0.0.1:* http://localhost:*" if urlsplit(shop.settings.base_url).scheme == "http" else ""
    request.environ[_PAYMENT_PAGES] = " " + (" ".join(origins) or f"https:{local}")


def harden(response: Response) -> Response:
    """Add headers against framing, MIME sniffing, caching, referrer leaks and foreign scripts."""
    headers = response.headers
    headers["X-Content-Type-Options"] = "nosniff"
    if request.endpoint == "paycheckout.static":
        return response
    # A redirect is not shown as a page, and must send no referrer at all.
    is_page = response.mimetype == "text/html" and not response.location
    headers["Cache-Control"] = "no-store"
    headers["Referrer-Policy"] = _PAGE_REFERRER if is_page else "no-referrer"
    headers["X-Frame-Options"] = "DENY"
    headers["Content-Security-Policy"] = _page_policy() if is_page else _POLICY
    return response


def _page_policy() -> str:
    payment_pages = request.environ.get(_PAYMENT_PAGES, "")
    return (
        f"default-src 'none'; script-src 'nonce-{nonce()}'; style-src 'self' 'nonce-{nonce()}'; img-src 'self' data:;"
        f" connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'{payment_pages}"
    )


def harden_unrouted(response: Response) -> Response:
    """Add the headers to errors that no route handled: a wrong method, an unknown path, an untrusted host."""
    if request.url_rule is None:
        prefix = runtime().settings.url_prefix
        if prefix and request.path.startswith(f"{prefix}/"):
            return harden(response)
    return response


FOREIGN_FORM = "This form was sent from another site."


def require_same_site(remedy: str = "Please send it from the shop's own page.") -> None:
    """Refuse a form that was sent from another site, with 403.

    Our own forms use this check; shops can use it for their own forms that start a payment or decide about one.
    Browsers name the form's site in `Sec-Fetch-Site`, older browsers in `Origin`. A request with neither header is
    refused, except in testing and debug mode, in which clients often send neither.

    :param remedy: the sentence that tells people what to do instead.
    """
    if not _is_same_site():
        abort(403, f"{FOREIGN_FORM} {remedy}")


def may_use_links() -> bool:
    """Whether the sender of this request may change something with a sealed link, which needs no session.

    The shop's own pages may. Pages of PAYCHECKOUT_ORIGINS may with JSON, which no form of another site can send.
    Programs may with JSON too; they send none of the headers in which browsers name a site.
    """
    if _is_same_site():
        return True
    if not (wants_json() or request.is_json):
        return False
    origin = request.headers.get("Origin")
    return origin in runtime().settings.origins or (origin is None and "Sec-Fetch-Site" not in request.headers)


def wants_json() -> bool:
    """Whether to answer this request with JSON, because `Accept` prefers it to a page or the route has no page."""
    if request.endpoint == "paycheckout.order_status":
        return True
    # Ignore parameters such as a charset.
    accepted = MIMEAccept((parse_options_header(value)[0], quality) for value, quality in accepted_by("Accept"))
    # Many programs send "application/json, */*": between types of equal quality, prefer the one that is named.
    return accepted.best_match(("text/html", "application/json")) == "application/json"


def allow_origins(response: Response) -> Response:
    """Let pages of PAYCHECKOUT_ORIGINS read the answers of the customers' routes, including errors, without cookies."""
    origins, origin = runtime().settings.origins, request.headers.get("Origin")
    if not origins or request.endpoint not in _FOR_ORIGINS:
        return response
    response.vary.add("Origin")
    if origin in origins:
        response.access_control_allow_origin = origin
        if request.method == "OPTIONS":
            response.access_control_allow_methods = response.allow
            response.access_control_allow_headers = HeaderSet(["Accept", "Content-Type"])
            response.access_control_max_age = _PREFLIGHT_AGE
    return response


def _is_same_site() -> bool:
    site = request.headers.get("Sec-Fetch-Site")
    if site in ("same-origin", "none"):
        return True
    origin = request.headers.get("Origin")
    if site not in (None, "same-site"):
        return False
    no_header = site is None and origin in (None, "null")
    return _is_own(origin or "") or (no_header and (current_app.testing or current_app.debug))


def _is_own(origin: str) -> bool:
    """Whether an origin is ours: the request's, a `public_url` (the shop's or account's), or under SERVER_NAME."""
    # Werkzeug returns an empty host for an invalid Host header.
    own = {f"{request.scheme}://{request.host}"} if request.host else set()
    own |= {origin_of(settings.public_url) for settings in (runtime().settings, page_settings()) if settings.public_url}
    (scheme, _, host), name = origin.partition("://"), current_app.config["SERVER_NAME"]
    return origin in own or (bool(name) and scheme in ("https", request.scheme) and f".{host}".endswith(f".{name}"))


def exempt_from_csrf(app: Flask, views: Sequence[Callable[..., object]]) -> None:
    """Exempt these views from the app's `CSRFProtect`, whether it is initialized before this extension or after."""

    def exempt() -> None:
        # An app that uses Flask-WTF has imported it. Other extensions register as "csrf" too, so check the type.
        wtf, csrf = sys.modules.get("flask_wtf.csrf"), app.extensions.get("csrf")
        if wtf is not None and isinstance(csrf, wtf.CSRFProtect):
            for view in views:
                csrf.exempt(view)

    exempt()
    # A CSRFProtect that is initialized later registers its check after this function, which therefore runs first.
    app.before_request(exempt)
