"""Absolute URLs of an order's pages: never built from a Host header that nobody vouched for."""

from __future__ import annotations

import os
from datetime import datetime
from typing import NamedTuple

from flask import current_app, has_request_context, url_for

from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.rules.order_ids import is_order_id, require_order_id
from flask_paycheckout.runtime import runtime
from flask_paycheckout.security.signed_links import PAY, STATUS

__all__ = [
    "Link",
    "development_address",
    "link_of",
    "pay_path",
    "pay_url",
    "status_path",
    "status_url",
    "webhook_path",
    "webhook_url",
]


class Link(NamedTuple):
    """A good link to an order's page."""

    order_id: str
    signed_at: datetime
    """When the first link was made; links on the page that this one leads to end with it."""


def link_of(purpose: str, token: str) -> Link | None:
    """The link of this token; None for one that is forged, too old, or made for another purpose or app."""
    opened = runtime().tokens.open(purpose, token)
    return None if opened is None or not is_order_id(opened.subject) else Link(opened.subject, opened.signed_at)


def pay_url(order_id: str) -> str:
    """Where to POST to for paying this order."""
    return _absolute("create_checkout", token=_token(PAY, order_id))


def status_url(order_id: str) -> str:
    """The order's status page."""
    return _absolute("order_page", token=_token(STATUS, order_id))


def webhook_url() -> str:
    """Where the service sends webhooks."""
    return _absolute("webhook", **_webhook_secret())


def webhook_path() -> str:
    """`webhook_url` without scheme and host."""
    return _path("webhook", _webhook_secret())


def pay_path(link: Link | str) -> str:
    """`pay_url` without scheme and host, for forms on this site.

    :param link: the order's id; on a page of ours the link that led there, whose age the new one keeps.
    """
    return url_for("paycheckout.create_checkout", token=_token(PAY, link))


def status_path(link: Link | str, endpoint: str = "order_page") -> str:
    """`status_url` without scheme and host, for redirects on this site; `link` as for `pay_path`.

    :param endpoint: "order_page", or "order_status" for the JSON.
    """
    return url_for(f"paycheckout.{endpoint}", token=_token(STATUS, link))


def development_address() -> str:
    """Where `flask run` serves a shop in debug, unless it is told otherwise."""
    port = os.environ.get("FLASK_RUN_PORT", "")
    return f"http://127.0.0.1:{port if port.isdecimal() else 5000}"


def _webhook_secret() -> dict[str, str]:
    secrets = runtime().settings.webhook_secret
    return {"secret": secrets[0]} if secrets else {}


def _token(purpose: str, link: Link | str) -> str:
    if isinstance(link, Link):
        return runtime().tokens.sign(purpose, link.order_id, link.signed_at)
    return runtime().tokens.sign(purpose, require_order_id(link))


def _absolute(endpoint: str, **values: str) -> str:
    """From PUBLIC_URL; else from SERVER_NAME or the request, whose host Flask checks against TRUSTED_HOSTS."""
    public = runtime().settings.public_url
    if public:
        return public + _path(endpoint, values)
    if has_request_context() or current_app.config.get("SERVER_NAME"):
        return url_for(f"paycheckout.{endpoint}", _external=True, **values)
    if current_app.testing:
        return "http://localhost" + _path(endpoint, values)
    if current_app.debug:
        return development_address() + _path(endpoint, values)
    raise ConfigurationError(
        "PAYCHECKOUT_PUBLIC_URL is not set, and there is no request to take the shop's address from."
        " Set it to the shop's own address, such as 'https://shop.example'."
    )


def _path(endpoint: str, values: dict[str, str]) -> str:
    return current_app.url_map.bind("localhost").build(f"paycheckout.{endpoint}", values)
