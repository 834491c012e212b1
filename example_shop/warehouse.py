"""A warehouse to send parcels from: an app of its own, on a port of its own, as another company's would be.

It keeps what it needs to be told twice without sending twice: the parcel for every idempotency key. Its hatch can be
shut, to see what a shop does with a warehouse that is not there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from flask import Flask, abort, redirect, render_template, request, url_for

from example_shop.door import HEADERS

if TYPE_CHECKING:
    from werkzeug.wrappers import Response


@dataclass
class Parcel:
    """What is to be sent, and how often the warehouse was told so."""

    number: str
    slip: dict[str, Any]
    told: int = 1


@dataclass
class Hatch:
    """Where orders come in; the lock makes two of the same key one parcel."""

    shut: bool = False
    turned_away: int = 0
    parcels: dict[str, Parcel] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def take(self, key: str, slip: dict[str, Any]) -> tuple[Parcel, bool]:
        """The parcel for this key, and whether it is a new one."""
        with self.lock:
            if parcel := self.parcels.get(key):
                parcel.told += 1
                return parcel, False
            parcel = self.parcels[key] = Parcel(f"P-{len(self.parcels) + 1:04}", slip)
            return parcel, True


def read_slip() -> dict[str, Any]:
    """What is to be packed, as its page shows it; 400 when it is something else."""
    try:
        slip = request.get_json()
        jars = [{"name": str(jar["name"]), "quantity": int(jar["quantity"])} for jar in slip["jars"]]
        return {"order": str(slip["order"]), "name": str(slip["name"]), "jars": jars}
    except (LookupError, TypeError, ValueError, OverflowError, RecursionError):
        abort(400, "A slip has an order, a name and jars.")


def create_warehouse() -> Flask:
    app = Flask(__name__)
    # A page that has its own name point at this machine would be this site's own page to a browser.
    app.config.update(TRUSTED_HOSTS=["127.0.0.1", "localhost"], MAX_CONTENT_LENGTH=64 * 1024)
    hatch = Hatch()

    @app.before_request
    def check_page() -> None:
        if request.method == "POST" and request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            abort(403, "Another site's page sent this.")

    @app.after_request
    def harden(response: Response) -> Response:
        response.headers.update(HEADERS)
        return response

    @app.get("/")
    def shelves() -> str:
        return render_template("warehouse.html", hatch=hatch)

    @app.post("/parcels")
    def take_parcel() -> tuple[dict[str, Any], int]:
        key = request.headers.get("Idempotency-Key", "")
        if not key:
            return {"error": "Idempotency-Key is missing"}, 400
        if hatch.shut:
            hatch.turned_away += 1
            return {"error": "the hatch is shut"}, 503
        parcel, new = hatch.take(key, read_slip())
        return {"parcel": parcel.number}, 201 if new else 200

    @app.post("/hatch")
    def turn_hatch() -> Response:
        if request.form.get("shut") not in ("yes", "no"):
            abort(400, "Shut or open?")
        hatch.shut = request.form["shut"] == "yes"
        return redirect(url_for("shelves"), 303)

    return app
