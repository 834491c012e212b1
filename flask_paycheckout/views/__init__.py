"""The routes: each parses, calls one function, and answers. Rules about money live elsewhere."""

from __future__ import annotations

from pathlib import Path

from flask import Blueprint

from flask_paycheckout.config import Settings
from flask_paycheckout.views import checkout, order, webhook
from flask_paycheckout.views.headers import harden

__all__ = ["make_blueprint"]

_PACKAGE = Path(__file__).parent.parent


def make_blueprint(settings: Settings) -> Blueprint:
    """The blueprint `paycheckout` for one app."""
    blueprint = Blueprint(
        "paycheckout",
        "flask_paycheckout",
        root_path=str(_PACKAGE),
        template_folder="templates",
        static_folder="static",
        static_url_path="/static",
    )
    blueprint.add_url_rule("/orders/<token>/checkout", view_func=checkout.create_checkout, methods=["POST"])
    blueprint.add_url_rule("/orders/<token>", view_func=order.order_page)
    blueprint.add_url_rule("/orders/<token>/status", view_func=order.order_status)
    path = "/webhook/<secret>" if settings.webhook_secret else "/webhook"
    blueprint.add_url_rule(path, view_func=webhook.webhook, methods=["POST"])
    blueprint.after_request(harden)
    return blueprint
