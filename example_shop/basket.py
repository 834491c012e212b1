"""The shop window, a page for every jar, and the basket.

The basket is kept in the session as `{slug: quantity}` and priced whenever it is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from flask import Blueprint, abort, flash, redirect, render_template, request, session, url_for

from example_shop.products import SHELF, Product, find

if TYPE_CHECKING:
    from flask import Flask
    from werkzeug.datastructures import MultiDict
    from werkzeug.wrappers import Response

blueprint = Blueprint("basket", __name__, url_prefix="/basket")

MOST = 20
"""The most jars of one kind in one order."""


@dataclass(frozen=True)
class Entry:
    """A product with its quantity."""

    product: Product
    quantity: int

    @property
    def total(self) -> Decimal:
        return self.product.price * self.quantity


def contents() -> list[Entry]:
    """The basket's entries at today's prices, without jars that are no longer sold."""
    basket: dict[str, int] = session.get("basket", {})
    return [Entry(product, quantity) for slug, quantity in basket.items() if (product := find(slug))]


def total(entries: list[Entry]) -> Decimal:
    return sum((entry.total for entry in entries), Decimal(0))


def quantity_in(form: MultiDict[str, str], name: str) -> int:
    """The quantity in a form's field, at most MOST; 400 when it is not a number."""
    text = form.get(name, "").strip()
    if not (text.isascii() and text.isdigit() and len(text) <= 4):
        abort(400, "A quantity is a whole number.")
    return min(int(text), MOST)


def empty() -> None:
    session.pop("basket", None)


@blueprint.get("/")
def show() -> str:
    entries = contents()
    return render_template("basket.html", entries=entries, total=total(entries), most=MOST)


@blueprint.post("/add")
def add() -> Response:
    product = find(request.form.get("slug", "")) or abort(404)
    basket = dict(session.get("basket", {}))
    basket[product.slug] = min(basket.get(product.slug, 0) + max(quantity_in(request.form, "quantity"), 1), MOST)
    session["basket"] = basket
    flash(f"{product.name} is in your basket.")
    return redirect(url_for("basket.show"), 303)


@blueprint.post("/change")
def change() -> Response:
    """Set every quantity, where zero removes the jar; then go on to the order form if its button was pressed."""
    quantities = {entry.product.slug: quantity_in(request.form, entry.product.slug) for entry in contents()}
    session["basket"] = {slug: quantity for slug, quantity in quantities.items() if quantity}
    return redirect(url_for("orders.order_form" if "order" in request.form else "basket.show"), 303)


def jars_in_basket() -> int:
    return sum(entry.quantity for entry in contents())


def init_app(app: Flask) -> None:
    app.register_blueprint(window_blueprint)
    app.register_blueprint(blueprint)
    app.add_template_global(jars_in_basket)


window_blueprint = Blueprint("catalogue", __name__)


@window_blueprint.get("/")
def window() -> str:
    return render_template("catalogue.html", products=SHELF)


@window_blueprint.get("/jars/<slug>")
def jar(slug: str) -> str:
    return render_template("product.html", product=find(slug) or abort(404), most=MOST)
