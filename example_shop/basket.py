"""The shop window, a page for every jar, and the basket.

The basket is kept in the session as `{slug: quantity}` and priced whenever it is shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, abort, flash, redirect, render_template, request, session, url_for

from example_shop.database import Line, Order
from example_shop.products import SHELF, find

if TYPE_CHECKING:
    from werkzeug.wrappers import Response

blueprint = Blueprint("basket", __name__)

MOST = 20
"""The maximum number of jars of one kind in one order."""


def contents() -> Order:
    """The order that the basket would become at today's prices, without jars that are no longer sold."""
    basket: dict[str, int] = session.get("basket", {})
    return Order(
        lines=[
            Line(slug=slug, name=product.name, price=product.price, quantity=quantity, consigned=product.consigned)
            for slug, quantity in basket.items()
            if (product := find(slug))
        ]
    )


def quantity_in(field: str) -> int:
    """The quantity in a field of the form; 400 if it is no whole number from 0 to MOST."""
    quantity = request.form.get(field, -1, type=int)
    if not 0 <= quantity <= MOST:
        abort(400, f"A quantity is a whole number up to {MOST}.")
    return quantity


@blueprint.get("/")
def window() -> str:
    return render_template("catalogue.html", products=SHELF)


@blueprint.get("/jars/<slug>")
def jar(slug: str) -> str:
    return render_template("product.html", product=find(slug) or abort(404))


@blueprint.get("/basket/")
def show() -> str:
    return render_template("basket.html", order=contents())


@blueprint.post("/basket/add")
def add() -> Response:
    product = find(request.form["slug"]) or abort(404)
    basket = session.get("basket", {})
    quantity = basket.get(product.slug, 0) + max(quantity_in("quantity"), 1)
    session["basket"] = basket | {product.slug: min(quantity, MOST)}
    flash(f"{product.name} is in your basket.")
    return redirect(url_for("basket.show"))


@blueprint.post("/basket/change")
def change() -> Response:
    """Set every quantity (zero removes the jar), and continue to the order form if its button was pressed."""
    # The form of an older page lacks the jars that another tab has added since; they stay.
    quantities = {
        line.slug: quantity_in(line.slug) if line.slug in request.form else line.quantity for line in contents().lines
    }
    session["basket"] = {slug: quantity for slug, quantity in quantities.items() if quantity}
    return redirect(url_for("orders.place" if "order" in request.form else "basket.show"))
