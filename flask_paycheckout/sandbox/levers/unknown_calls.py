"""The calls below `/_sandbox/unknowns`: switches that are read and changed while the sandbox runs.

Each call answers an array of `{"name", "value", "startValue", "default", "alternatives", "meaning"}`. The body of POST
is `{NAME: VALUE or null}`.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response

from flask_paycheckout.sandbox.levers.answers import answer
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.parsing import read_object
from flask_paycheckout.sandbox.world.assumptions import AssumptionError, choose
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import change_unknowns

unknowns = Blueprint("unknowns", __name__, url_prefix="/unknowns")
_REMEDY = "GET /_sandbox/unknowns lists names and values; nothing was changed."


@unknowns.get("")
def read_all() -> Response:
    return answer(world().unknowns.describe())


@unknowns.post("")
def change() -> Response:
    """Change the unknowns that the body names, all of them or none; null stands for the value at the start."""
    asked = _read(read_object())
    with transaction() as session:
        change_unknowns(session, world(), asked)
    return answer(world().unknowns.describe())


@unknowns.delete("")
def return_to_start() -> Response:
    """Return all unknowns to their values at the start."""
    with transaction() as session:
        change_unknowns(session, world(), dict.fromkeys(world().unknowns))
    return answer(world().unknowns.describe())


def _read(body: dict[str, Any]) -> dict[str, str | None]:
    for name, value in body.items():
        if value is not None and not isinstance(value, str):
            raise CallRefused(400, name[:60], "must be a text or null", _REMEDY)
        try:
            choose({name: world().unknowns.get(name, "") if value is None else value})
        except AssumptionError as wrong:
            raise CallRefused(400, name[:60], f"cannot be set: {str(wrong)[:300]}", _REMEDY) from None
    return body
