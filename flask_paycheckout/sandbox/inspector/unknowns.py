"""`GET /inspector/unknowns`: the switches with their values and alternatives, and a form to change one."""

from __future__ import annotations

from flask import Response, request
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.inspector.blueprint import inspector, redirect_to, show
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS, Assumption, AssumptionError, choose
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import change_unknowns


@inspector.get("/inspector/unknowns")
def show_unknowns() -> Response:
    """Show all switches, changed ones first."""
    return _page()


def _page(status: int = 200, problem: str = "") -> Response:
    started_with = world().unknowns.started_with
    rows = sorted(
        ((switch, assumption(switch.name), started_with[switch.name]) for switch in ASSUMPTIONS),
        key=lambda row: row[1] == row[2] == row[0].default,
    )
    return show("unknowns", status, rows=rows, problem=problem, changed=any(row[1] != row[2] for row in rows))


@inspector.post("/inspector/unknowns")
def change_one() -> AnyResponse:
    """Change the switch that `choice` names, which is `NAME=VALUE`."""
    name, _, value = request.form.get("choice", "").partition("=")
    try:
        choose({name: value})
    except AssumptionError:
        return _page(400, "Choose a switch and its value.")
    with transaction() as session:
        change_unknowns(session, world(), {name: value})
    return redirect_to("show_unknowns", "switched")


@inspector.post("/inspector/unknowns/start")
def return_to_start() -> AnyResponse:
    with transaction() as session:
        change_unknowns(session, world(), dict.fromkeys(world().unknowns))
    return redirect_to("show_unknowns", "switched-back")


def changed_assumptions() -> list[tuple[Assumption, str]]:
    """The switches that have another value than the default."""
    values = ((switch, assumption(switch.name)) for switch in ASSUMPTIONS)
    return [(switch, value) for switch, value in values if value != switch.default]
