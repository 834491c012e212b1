"""Security headers of every response, and the checks of who sends a form or a request for JSON.

Flask-WTF's check is not for our forms, as it wants a token from the visitor's session: the service that sends webhooks
has none, and a payment link works from any device. They are protected by their encrypted token, and by the browser's
`Sec-Fetch-Site` or `Origin` header; the shop's own forms stay checked.
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

# Under "no-referrer" browsers post forms with `Origin: null`, and older browsers, or any over plain http, send no other
# header that tells their origin. "strict-origin" sends the shop's origin, never the page's address with its token;
# browsers that do not know it fall back to "no-referrer".
_PAGE_REFERRER = "no-referrer, strict-origin"
# For responses that are no pages: nothing may run or be embedded.
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
    """Before a request: close what the shop's own functions for each request left open of its session, if unchanged."""
    if request.endpoint != "paycheckout.static":
        runtime().sessions.let_clean_go()


def nonce() -> str:
    """The nonce of this response for scripts and styles."""
    value: str = request.environ.setdefault(_NONCE, secrets.token_urlsafe(16))
    return value


def lead_forms_to(account: Callable[[], str]) -> None:
    """Let the pay form of this page lead to an account's payment pages; `form-action` is applied to redirects too.

    :param account: gives the account's name. While it fails, nobody knows the account's origins, and the form may lead
        wherever customers may be sent without a list.
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
    # Browsers do not show a redirect, which must send no referrer at all.
    shown = response.mimetype == "text/html" and not response.location
    headers["Cache-Control"] = "no-store"
    headers["Referrer-Policy"] = _PAGE_REFERRER if shown else "no-referrer"
    headers["X-Frame-Options"] = "DENY"
    headers["Content-Security-Policy"] = _page_policy() if shown else _POLICY
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

    This is the check of our own forms, for forms of the shop's that start a payment or decide about one. Browsers
    name the form's site in `Sec-Fetch-Site`, older ones in `Origin`. A request without both is refused, except in
    testing and debug, where clients often send neither.

    :param remedy: the sentence that tells people what to do instead.
    """
    if not _is_same_site():
        abort(403, f"{FOREIGN_FORM} {remedy}")


def may_use_links() -> bool:
    """Whether the sender of this request may change something by a sealed link, which needs no session.

    The shop's own pages may. With JSON, which no form of another site can send, so may pages of PAYCHECKOUT_ORIGINS,
    and programs, which send none of the headers by which browsers name a site.
    """
    if _is_same_site():
        return True
    if not (wants_json() or request.is_json):
        return False
    origin = request.headers.get("Origin")
    return origin in runtime().settings.origins or (origin is None and "Sec-Fetch-Site" not in request.headers)


def wants_json() -> bool:
    """Whether this request is answered with JSON, since `Accept` prefers it to a page or the route has no page."""
    if request.endpoint == "paycheckout.order_status":
        return True
    # Parameters such as a charset make no other type.
    accepted = MIMEAccept((parse_options_header(value)[0], quality) for value, quality in accepted_by("Accept"))
    # Many programs send "application/json, */*": of two that are equally good, the one that is named is preferred.
    return accepted.best_match(("text/html", "application/json")) == "application/json"


def allow_origins(response: Response) -> Response:
    """Let pages of PAYCHECKOUT_ORIGINS read the answers of the customers' routes, errors too; they send no cookies."""
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
    told_nothing = site is None and origin in (None, "null")
    return _is_own(origin or "") or (told_nothing and (current_app.testing or current_app.debug))


def _is_own(origin: str) -> bool:
    """Whether an origin is the public one, this page's account's or request's, or SERVER_NAME or a subdomain of it."""
    # Werkzeug gives an empty host for an invalid Host header.
    own = {f"{request.scheme}://{request.host}"} if request.host else set()
    own |= {origin_of(one.public_url) for one in (runtime().settings, page_settings()) if one.public_url}
    (scheme, _, host), name = origin.partition("://"), current_app.config["SERVER_NAME"]
    return origin in own or (bool(name) and scheme in ("https", request.scheme) and f".{host}".endswith(f".{name}"))


def exempt_from_csrf(app: Flask, views: Sequence[Callable[..., object]]) -> None:
    """Exempt these views from the app's `CSRFProtect`, whether it is set up before this extension or after."""

    def exempt() -> None:
        # An app that uses Flask-WTF has imported it. Other extensions register as "csrf" too, so check the type.
        wtf, csrf = sys.modules.get("flask_wtf.csrf"), app.extensions.get("csrf")
        if wtf is not None and isinstance(csrf, wtf.CSRFProtect):
            for view in views:
                csrf.exempt(view)

    exempt()
    # A CSRFProtect that is set up later registers its check behind this one, which therefore still comes first.
    app.before_request(exempt)
