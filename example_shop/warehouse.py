"""The warehouse that sends parcels: a separate app on its own port, as another company's would be.

It stores the parcel for each idempotency key, so that a repeated request sends no second one. Its hatch can be shut, to
see how a shop behaves while the warehouse is unavailable.
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
    """A parcel with its packing slip, and the number of requests for it."""

    number: str
    slip: dict[str, Any]
    told: int = 1


@dataclass
class Hatch:
    """The hatch that takes requests; its lock makes two requests with one key one parcel."""

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
    """Read the packing slip from the request; 400 when it is malformed."""
    try:
        slip = request.get_json()
        jars = [{"name": str(jar["name"]), "quantity": int(jar["quantity"])} for jar in slip["jars"]]
        return {"order": str(slip["order"]), "name": str(slip["name"]), "jars": jars}
    except (LookupError, TypeError, ValueError, OverflowError, RecursionError):
        abort(400, "A slip has an order, a name and jars.")


def create_warehouse() -> Flask:
    app = Flask(__name__)
    # Against DNS rebinding: another site's host name could resolve to this machine.
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
