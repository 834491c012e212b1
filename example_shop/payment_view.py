"""The extension's owner pages behind the shop's password: payments with their history, payouts and refunds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import abort

from example_shop import owner
from example_shop.hooks import hooks
from example_shop.payments import paycheckout

if TYPE_CHECKING:
    from flask import Flask


def owner_name() -> str:
    """The name that is recorded with decisions; visitors who are not logged in are redirected to the login."""
    if answer := owner.ask_for_password():
        abort(answer)
    return "the owner"


def init_app(app: Flask) -> None:
    view = paycheckout.owner_view(owner_name, home="owner.desk", logout="owner.logout")
    app.register_blueprint(view, url_prefix="/owner/payments")
    pages = {"list_orders": "Payments", "list_payouts": "Payouts", "show_month": "Books"}
    hooks(app).desk_pages.extend((f"{view.name}.{page}", label) for page, label in pages.items())
