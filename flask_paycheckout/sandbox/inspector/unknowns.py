"""`GET /inspector/unknowns`: the switches of this sandbox, with their values and alternatives."""

from __future__ import annotations

from flask import Response

from flask_paycheckout.sandbox.inspector.blueprint import inspector, show
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS, Assumption
from flask_paycheckout.sandbox.world.context import assumption


@inspector.get("/inspector/unknowns")
def show_unknowns() -> Response:
    """Show all switches, changed ones first."""
    rows = sorted(
        ((switch, assumption(switch.name)) for switch in ASSUMPTIONS), key=lambda row: row[1] == row[0].default
    )
    return show("unknowns", rows=rows)


def changed_assumptions() -> list[tuple[Assumption, str]]:
    """The switches that have another value than the default."""
    values = ((switch, assumption(switch.name)) for switch in ASSUMPTIONS)
    return [(switch, value) for switch, value in values if value != switch.default]
