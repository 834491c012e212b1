"""The pay button: a template global for the shop's own pages."""

from __future__ import annotations

from flask import render_template
from markupsafe import Markup

from flask_paycheckout.views.order_urls import pay_path

__all__ = ["paycheckout_button"]


def paycheckout_button(order_id: object, label: str = "Pay now") -> Markup:
    """A form that starts paying this order. It carries a signed token, and no price."""
    return Markup(render_template("paycheckout/button.html", action=pay_path(str(order_id)), label=label))  # noqa: S704 - rendered with autoescape
