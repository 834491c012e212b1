"""URLs of the pages of orders and refunds, never built from an unchecked Host header."""

from __future__ import annotations

import os
from functools import partial
from urllib.parse import urljoin, urlsplit

from flask import current_app, has_request_context, url_for
from werkzeug.routing import BuildError

from flask_paycheckout.books.alarms import Alarm, OwnerPage
from flask_paycheckout.config import Settings
from flask_paycheckout.database.deeds import stored_name
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutKind
from flask_paycheckout.runtime import Runtime, runtime
from flask_paycheckout.security.origins import leads_to_loopback
from flask_paycheckout.security.signed_links import PAY, REFUND, REQUEST, STATUS, Link
from flask_paycheckout.shop_functions import present_door
from flask_paycheckout.text import is_order_id, require_order_id
from flask_paycheckout.views.language import page_settings, use_settings

OWNER = "paycheckout_owner"
"""The usual name of the owner's blueprint, and the key in the app's `extensions` of its registered name."""


def link_of(purpose: str, token: str) -> Link | None:
    """Read the link in a token, whose subject is an order; None if it is forged, expired, or for another purpose."""
    link = runtime().signed_links.open(purpose, token)
    if link is None or not is_order_id(link.subject):
        return None
    use_settings(partial(runtime().settings_of_order, link.subject))
    return link


def pay_url(order_id: str) -> str:
    """Absolute URL that a form posts to in order to pay this order; it carries a sealed token."""
    return _absolute(runtime().settings_of_order(order_id), "create_checkout", token=_token(PAY, order_id))


def status_url(order_id: str) -> str:
    """Absolute URL of the order's status page. It carries a sealed token: anybody who has it can see the page."""
    return _absolute(runtime().settings_of_order(order_id), "order_page", token=_token(STATUS, order_id))


def claim_url(reference: str, *, by: str | None = None) -> str:
    """Absolute URL of the page on which the receiver of a refund, or of a payout without `to`, says where it goes.

    It carries a sealed token: anybody who has it can say where the money goes until a person approves it, and can see
    the payout's state. Our other pages do not link there. A deed `linked` records who was shown the URL.

    :param reference: `reference` of the payout that `refund` or `pay_out` returned.
    :param by: the person of the shop who is shown the link, if any; on our own pages and in commands it is known.
    :raises UnknownPayout: no such payout is stored; a payout that `db.session` has not committed yet counts as stored.
    :raises ValueError: the payout is no refund, and was made with its destination.
    """
    require_order_id(reference, "reference")
    shop = runtime()
    payout = shop.payouts.require(reference, shop.sessions.open_connection())
    if payout.kind != PayoutKind.REFUND and not payout.is_claimed:
        raise ValueError(f"payout {reference!r} was made with its destination, so nobody says on a page where it goes")
    shop.linked(stored_name(by or present_door().by), payout)
    return url_of_claim(payout)


def url_of_claim(payout: PayoutMixin) -> str:
    """The URL of `claim_url`, without recording that anybody was shown it."""
    shop = runtime()
    return _absolute(shop.settings_of(payout.account), "refund", token=shop.signed_links.sign(REFUND, payout.reference))


def claim_line(reference: str) -> str:
    """The line in which a command prints the URL of `claim_url`."""
    return f"Send the customer this link, to say where the money goes: {claim_url(reference)}"


def request_url(reference: str) -> str:
    """Absolute URL of a payment request's page, to be sent to the person who pays; it carries a sealed token.

    :param reference: `reference` of the payment request that `request` returned.
    :raises UnknownRequest: no such request is stored; a request that `db.session` has not committed yet counts as
        stored.
    """
    shop = runtime()
    request = shop.requests.require(reference, shop.sessions.open_connection())
    return _absolute(shop.settings_of(request.account), "request", token=_token(REQUEST, request.order_id))


def request_page_url(token: str) -> str:
    """The absolute URL of the payment request's page with this token."""
    return _absolute(page_settings(), "request", token=token)


def later_status_url(link: Link) -> str:
    """The absolute URL of the order's status page, which expires together with this link."""
    return _absolute(page_settings(), "order_page", token=_token(STATUS, link))


def require_address(account: str) -> None:
    """Check that links to an account's pages can be made, before storing something that needs a link.

    :raises ConfigurationError: the shop's own address is unknown here.
    """
    _absolute(runtime().settings_of(account), "webhook")


def webhook_url() -> str:
    """Absolute URL to register in the service's dashboard."""
    return _absolute(runtime().settings, "webhook", **_webhook_secret())


def webhook_path() -> str:
    """`webhook_url` without scheme and host."""
    return current_app.url_map.bind("localhost").build("paycheckout.webhook", _webhook_secret())


def webhook_address(shop: Runtime, *, masked: bool = False) -> str:
    """The webhook's absolute URL, with a placeholder while the shop's own address is unknown.

    :param masked: without its secret.
    """
    is_known = shop.settings.public_url or shop.app.config.get("SERVER_NAME") or is_beside_sandbox(shop)
    address = webhook_url() if is_known else f"https://<the shop's address>{webhook_path()}"
    return f"{address.rpartition('/')[0]}/***" if masked and shop.settings.webhook_secret else address


def owner_url(alarm: Alarm) -> str:
    """Absolute URL of the owner's page about an alarm, else of the first page; "" if pages or address are missing."""
    page = alarm.page or OwnerPage("overview")
    status = {} if page.status is None else {"status": page.status}
    try:
        name = current_app.extensions.get(OWNER, OWNER)
        return _absolute(runtime().settings_of(alarm.account or ""), page.endpoint, name, **status)
    except (BuildError, ConfigurationError):
        return ""


def pay_path(link: Link | str) -> str:
    """`pay_url` without scheme and host, for forms on this site.

    :param link: the order's id; on our own pages the link that led there, so that the new link expires with it.
    """
    return url_for("paycheckout.create_checkout", token=_token(PAY, link))


def status_path(link: Link | str, endpoint: str = "order_page") -> str:
    """`status_url` without scheme and host, for redirects on this site; `link` as for `pay_path`.

    :param endpoint: "order_page", or "order_status" for the JSON.
    """
    return url_for(f"paycheckout.{endpoint}", token=_token(STATUS, link))


def development_address() -> str:
    """The default address of `flask run`, with the port of FLASK_RUN_PORT."""
    port = os.environ.get("FLASK_RUN_PORT", "")
    return f"http://127.0.0.1:{port if port.isdecimal() else 5000}"


def is_beside_sandbox(shop: Runtime) -> bool:
    """Whether a sandbox on this machine could send webhooks to `flask run`'s usual address."""
    return shop.app.debug and not shop.app.testing and leads_to_loopback(shop.settings.base_url)


def _webhook_secret() -> dict[str, str]:
    secrets = runtime().settings.webhook_secret
    return {"secret": secrets[0]} if secrets else {}


def _token(purpose: str, link: Link | str) -> str:
    if isinstance(link, Link):
        return runtime().signed_links.sign(purpose, link.subject, link.signed_at)
    return runtime().signed_links.sign(purpose, runtime().requests.require_order(link))


def _absolute(settings: Settings, endpoint: str, blueprint: str = "paycheckout", **values: str) -> str:
    """An absolute URL based on `public_url`, else on SERVER_NAME or the request's host, checked by TRUSTED_HOSTS."""
    if settings.public_url:
        base = settings.public_url
    elif has_request_context():
        return url_for(f"{blueprint}.{endpoint}", _external=True, **values)
    elif server_name := current_app.config.get("SERVER_NAME"):
        # Not by `url_for`: the shop's `url_defaults` often need what its requests leave in `g`.
        root = current_app.config["APPLICATION_ROOT"]
        base = f"{current_app.config['PREFERRED_URL_SCHEME']}://{server_name}{root}"
    elif current_app.testing:
        base = "http://localhost"
    elif current_app.debug:
        base = development_address()
    else:
        raise ConfigurationError(
            "PAYCHECKOUT_PUBLIC_URL is not set, and there is no request to take the shop's address from."
            " Set it to the shop's own address, such as 'https://shop.example'."
        )
    scheme, host, path, *_ = urlsplit(base)
    routes = current_app.url_map.bind(host, path, url_scheme=scheme)
    # The URL is absolute already if the page is on a separate subdomain, as the owner's pages may be.
    return urljoin(base, routes.build(f"{blueprint}.{endpoint}", values))
