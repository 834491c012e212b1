"""The shop window, and a page for every jar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask import Blueprint, abort, render_template

from example_shop.basket import MOST
from example_shop.products import SHELF, find

if TYPE_CHECKING:
    from flask import Flask

blueprint = Blueprint("catalogue", __name__)


@blueprint.get("/")
def window() -> str:
    return render_template("catalogue.html", products=SHELF)


@blueprint.get("/jars/<slug>")
def jar(slug: str) -> str:
    return render_template("product.html", product=find(slug) or abort(404), most=MOST)


def init_app(app: Flask) -> None:
    app.register_blueprint(blueprint)
