"""The app factory: the parts of the shop, and a list of its optional features."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING

from flask import Flask, render_template

from example_shop import basket, database, door, orders, owner, payments, settings
from example_shop.products import show_money

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx
    from werkzeug.exceptions import HTTPException

FEATURES = (
    "stock",  # jars are reserved while they are being paid, and never oversold
    "refunds",  # the owner refunds payments, and the customer says where the money goes
    "receipts",  # a letter for every paid order, by SMTP or on the owner's page
    "fulfilment",  # the warehouse gets a packing slip for every paid order
    "suppliers",  # each paid order pays its suppliers, by bank transfer or in tokens
)
"""Each feature is one module that no other module imports; the shop works without it if its line is removed.

Its templates `order_note.html`, `desk_note.html`, `desk_link.html` and `jar_note.html` are shown in the shop's pages.
"""


def create_app(
    config: Mapping[str, object] | None = None,
    *,
    transport: httpx.BaseTransport | None = None,
    clock: Callable[[], datetime] | None = None,
) -> Flask:
    """Make a shop; one process may have several.

    :param config: settings, which override every other source.
    :param transport: the HTTP transport to the payments service; tests pass one that needs no socket.
    :param clock: the only source of time, for the shop and for its payments; by default the machine's clock.
    """
    app = Flask(__name__)
    configure(app, config or {})
    app.extensions["clock"] = clock or (lambda: datetime.now(UTC))
    door.init_app(app)
    database.init_app(app)
    payments.init_app(app, transport=transport, clock=clock)
    for feature in FEATURES:
        import_module(f"example_shop.{feature}").init_app(app)
    owner.init_app(app)
    app.register_blueprint(basket.blueprint)
    app.register_blueprint(orders.blueprint)
    app.add_template_filter(show_money, "money")
    app.jinja_env.globals.update(basket=basket.contents, most=basket.MOST, features=FEATURES)
    for code in (400, 404, 409, 429):
        app.register_error_handler(code, show_fault)
    database.create_tables(app)
    return app


def configure(app: Flask, config: Mapping[str, object]) -> None:
    """Load the settings: defaults, the file of SHOP_SETTINGS, variables that begin with FLASK_, the caller's."""
    app.config.from_object(settings)
    # An empty variable counts as unset, as for the PAYCHECKOUT_ settings.
    if os.environ.get("SHOP_SETTINGS"):
        app.config.from_envvar("SHOP_SETTINGS")
    app.config.from_prefixed_env()
    app.config.from_mapping(config)
    if app.config["SESSION_COOKIE_SECURE"] is None:
        app.config["SESSION_COOKIE_SECURE"] = not (app.debug or app.testing)


def show_fault(fault: HTTPException) -> tuple[str, int]:
    return render_template("fault.html", fault=fault), fault.code or 500
