"""Absolute URLs of an order's pages: never built from a Host header that nobody vouched for."""

from __future__ import annotations

from flask import current_app, has_request_context, url_for

from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.runtime import runtime
from flask_paycheckout.tokens import PAY, STATUS

__all__ = ["pay_path", "pay_url", "status_path", "status_url", "webhook_path", "webhook_url"]


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


def pay_path(order_id: str) -> str:
    """`pay_url` without scheme and host, for forms on this site."""
    return url_for("paycheckout.create_checkout", token=_token(PAY, order_id))


def status_path(order_id: str) -> str:
    """`status_url` without scheme and host, for redirects on this site."""
    return url_for("paycheckout.order_page", token=_token(STATUS, order_id))


def _webhook_secret() -> dict[str, str]:
    secret = runtime().settings.webhook_secret
    return {"secret": secret} if secret else {}


def _token(purpose: str, order_id: str) -> str:
    return runtime().tokens.sign(purpose, order_id)


def _absolute(endpoint: str, **values: str) -> str:
    """From PUBLIC_URL; else from SERVER_NAME or the request, whose host Flask checks against TRUSTED_HOSTS."""
    public = runtime().settings.public_url
    if public:
        return public + _path(endpoint, values)
    if has_request_context() or current_app.config.get("SERVER_NAME"):
        return url_for(f"paycheckout.{endpoint}", _external=True, **values)
    if current_app.testing or current_app.debug:
        return "http://localhost" + _path(endpoint, values)
    raise ConfigurationError(
        "PAYCHECKOUT_PUBLIC_URL is not set, and there is no request to take the shop's address from."
        " Set it to the shop's own address, such as 'https://shop.example'."
    )


def _path(endpoint: str, values: dict[str, str]) -> str:
    return current_app.url_map.bind("localhost").build(f"paycheckout.{endpoint}", values)
