"""The warehouse that sends parcels: a separate app on its own port, like another company's app.

It stores the parcel for each idempotency key, so that a repeated request sends no second parcel. Its hatch can be shut,
to show how a shop behaves while the warehouse is unavailable.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from flask import Flask, abort, redirect, render_template, request, url_for

from example_shop import door

if TYPE_CHECKING:
    from werkzeug.wrappers import Response


@dataclass
class Parcel:
    """A parcel with its packing slip, and the number of requests for it."""

    number: str
    slip: dict[str, Any]
    told: int = 0


@dataclass
class Hatch:
    """The hatch that accepts requests; because of its lock, two requests with one key make one parcel."""

    shut: bool = False
    turned_away: int = 0
    parcels: dict[str, Parcel] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


def create_warehouse() -> Flask:
    app = Flask(__name__)
    # Against DNS rebinding: another site's host name could resolve to this machine.
    app.config.update(TRUSTED_HOSTS=["127.0.0.1", "localhost"], MAX_CONTENT_LENGTH=64 * 1024)
    hatch = Hatch()
    app.after_request(door.harden)

    @app.get("/")
    def shelves() -> str:
        return render_template("warehouse.html", hatch=hatch)

    @app.post("/parcels")
    def take_parcel() -> tuple[dict[str, str], int]:
        if hatch.shut:
            hatch.turned_away += 1
            return {"error": "the hatch is shut"}, 503
        slip = request.get_json()
        with hatch.lock:
            number = f"P-{len(hatch.parcels) + 1:04}"
            parcel = hatch.parcels.setdefault(request.headers["Idempotency-Key"], Parcel(number, slip))
            parcel.told += 1
        return {"parcel": parcel.number}, 201 if parcel.told == 1 else 200

    @app.post("/hatch")
    def turn_hatch() -> Response:
        if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            abort(403, "Another site's page sent this.")
        hatch.shut = request.form["shut"] == "yes"
        return redirect(url_for("shelves"))

    return app
