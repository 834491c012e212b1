"""The app factory: the parts of the shop, and a list of its optional features."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from flask import Flask, redirect, render_template, url_for

from example_shop import basket, database, door, hooks, orders, owner, payments, products
from example_shop.hooks import utc_now
from example_shop.products import CURRENCY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    import httpx
    from werkzeug.exceptions import HTTPException
    from werkzeug.wrappers import Response

FEATURES = (
    "stock",  # jars are reserved while they are being paid, and never oversold
    "receipts",  # a letter for every paid order, by SMTP or on the owner's page
    "fulfilment",  # the warehouse gets a packing slip for every paid order
    "suppliers",  # each paid order pays its suppliers, by bank transfer or in tokens
    "refunds",  # the owner gives money back, and the customer says where to
)
"""Each feature is one module that no other imports; the shop works without it when its line is removed."""


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
    hooks.init_app(app, clock or utc_now)
    door.init_app(app)
    database.init_app(app)
    products.init_app(app)
    payments.init_app(app, transport=transport, clock=clock)
    basket.init_app(app)
    orders.init_app(app)
    owner.init_app(app)
    for feature in FEATURES:
        import_module(f"example_shop.{feature}").init_app(app)
    database.create_tables(app)
    for code in (400, 404, 409, 429):
        app.register_error_handler(code, show_fault)
    app.add_url_rule("/favicon.ico", view_func=favicon)
    return app


def configure(app: Flask, config: Mapping[str, object]) -> None:
    """Load the settings: defaults, the file of SHOP_SETTINGS, variables that begin with FLASK_, the caller's."""
    app.config.from_mapping(
        SQLALCHEMY_DATABASE_URI=f"sqlite:///{Path(app.instance_path) / 'shop.sqlite'}",
        OWNER_PASSWORD=None,  # nobody may log in as the owner until it is set
        # Lax: a customer who comes back from the hosted payment page still has the basket.
        SESSION_COOKIE_SAMESITE="Lax",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SECURE=None,  # by https only, unless in debug and testing
        PAYCHECKOUT_SHOP_NAME="Fair & Foul",
        PAYCHECKOUT_LOGO="/static/favicon.svg",
        PAYCHECKOUT_CONTACT="weather@fair-and-foul.example",
        PAYCHECKOUT_SELLER="Fair & Foul, 3 Harbour Steps, Port Tempest",
        # Seconds for which an order keeps its jars while its money is awaited: banks are slower than tokens.
        PAYCHECKOUT_PENDING_FOR={"crypto": 60 * 60, "bank": 24 * 60 * 60},
        # Seconds after which a customer who has begun to pay, and has not paid, is reminded.
        PAYCHECKOUT_REMIND_AFTER=[24 * 60 * 60, 3 * 24 * 60 * 60],
        # The amounts from which on a payout waits for the owner's approval; what a customer claimed always waits.
        PAYCHECKOUT_APPROVE_OVER={CURRENCY: "500.00", "usdc-polygon": "500"},
    )
    # An empty one counts as unset, as with the settings of payments.
    if os.environ.get("SHOP_SETTINGS"):
        app.config.from_envvar("SHOP_SETTINGS")
    app.config.from_prefixed_env()
    app.config.from_mapping(config)
    if app.config["SESSION_COOKIE_SECURE"] is None:
        app.config["SESSION_COOKIE_SECURE"] = not (app.debug or app.testing)


def show_fault(fault: HTTPException) -> tuple[str, int]:
    return render_template("fault.html", fault=fault), fault.code or 500


def favicon() -> Response:
    return redirect(url_for("static", filename="favicon.svg"), 301)
