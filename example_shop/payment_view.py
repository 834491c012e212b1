"""The extension's own pages for the owner, behind the shop's password: every attempt, its story, and held money."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import abort

from example_shop import owner
from example_shop.hooks import hooks
from example_shop.payments import paycheckout

if TYPE_CHECKING:
    from flask import Flask


def who_looks() -> str:
    """The name that is recorded with a decision; whoever has not given the password is sent to do so."""
    if answer := owner.ask_for_password():
        abort(answer)
    return "the owner"


def init_app(app: Flask) -> None:
    view = paycheckout.owner_view(who_looks)
    app.register_blueprint(view, url_prefix="/owner/payments")
    hooks(app).desk_pages.append((f"{view.name}.list_orders", "Payments"))
