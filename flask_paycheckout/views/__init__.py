"""The routes of the blueprint `paycheckout`. Each parses its request and calls one function; rules live elsewhere."""

from __future__ import annotations

from pathlib import Path

from flask import Blueprint, Flask, Response, current_app, send_from_directory

from flask_paycheckout.config import Settings
from flask_paycheckout.views import order, refund, webhook
from flask_paycheckout.views.headers import allow_origins, exempt_from_csrf, harden, harden_unrouted, release_session
from flask_paycheckout.views.pages import answer_customer

_PACKAGE = Path(__file__).parent.parent


def add_routes(app: Flask, settings: Settings) -> None:
    """Register the blueprint `paycheckout` on an app."""
    app.register_blueprint(_make_blueprint(), url_prefix=settings.url_prefix)
    exempt_from_csrf(app, [order.create_checkout, refund.refund, webhook.webhook])


def _make_blueprint() -> Blueprint:
    blueprint = Blueprint("paycheckout", "flask_paycheckout", template_folder="templates")
    for rule, endpoint, view, methods in (
        ("/orders/<token>/checkout", "create_checkout", order.create_checkout, "GET POST"),
        ("/orders/<token>", "order_page", order.order_page, "GET"),
        # The JSON answer names no amount and no id.
        ("/orders/<token>/status", "order_status", order.order_page, "GET"),
        ("/requests/<token>", "request", order.request_page, "GET"),
        ("/refunds/<token>", "refund", refund.refund, "GET POST"),
        # Both routes always exist, so that the answer to another method does not reveal whether a secret is set.
        ("/webhook", "webhook", webhook.webhook, "POST"),
        ("/webhook/<secret>", "webhook", webhook.webhook, "POST"),
        # Not /static, which is Flask's own route: the prefix may be "/".
        ("/assets/<path:filename>", "static", static, "GET"),
    ):
        # Werkzeug would redirect merged slashes to the host in the request, which may be forged. The shop's setting
        # PROVIDE_AUTOMATIC_OPTIONS may keep its own routes from answering preflights.
        options = {"methods": [*methods.split(), "OPTIONS"], "merge_slashes": False}
        blueprint.add_url_rule(rule, endpoint, view, provide_automatic_options=True, **options)
    # APIFlask inspects the `before_request` functions of each blueprint, unless this attribute is False.
    blueprint.enable_openapi = False  # type: ignore[attr-defined]
    blueprint.before_request(release_session)
    blueprint.register_error_handler(Exception, answer_customer)
    blueprint.after_request(harden)
    blueprint.after_request(allow_origins)
    blueprint.after_app_request(harden_unrouted)
    return blueprint


def static(filename: str) -> Response:
    """Send a style sheet or script; Flask's own route would redirect odd paths to the request's host."""
    return send_from_directory(_PACKAGE / "static", filename, max_age=current_app.get_send_file_max_age(filename))
