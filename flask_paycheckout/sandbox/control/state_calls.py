"""Calls about the sandbox as a whole: reset, clock, snapshots, switches, and the documents of both interfaces."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import Annotated

from flask import Response, request
from sqlalchemy.orm import Session
from werkzeug.exceptions import RequestEntityTooLarge

from flask_paycheckout.sandbox.control.calls import call
from flask_paycheckout.sandbox.control.sender import run_due
from flask_paycheckout.sandbox.control.snapshots import (
    MAX_BYTES,
    TOO_LARGE,
    SnapshotFile,
    restore_snapshot,
    take_snapshot,
)
from flask_paycheckout.sandbox.control.start_state import reset_world
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp, read_object
from flask_paycheckout.sandbox.wire.field_types import Request, seconds
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS, AssumptionError, choose
from flask_paycheckout.sandbox.world.clock import MAX_SECONDS
from flask_paycheckout.sandbox.world.context import current_time, world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import advance_clock, change_unknowns

RESTORE = "restore"
"""The path of the call that takes a snapshot, below the control interface's path."""
_UNKNOWNS_REMEDY = "GET /_sandbox/unknowns lists names and values; nothing was changed."


class Reset(Record):
    """The answer of a reset."""

    reset: bool


class Time(Record):
    """The sandbox's time."""

    now: Timestamp
    offset_seconds: float


class UnknownRecord(Record):
    """A switch with its values."""

    name: str
    value: str
    start_value: str
    default: str
    alternatives: tuple[str, ...]
    meaning: str


class Advance(Request):
    """The body of `POST /clock`."""

    advance_seconds: Annotated[Decimal, seconds(MAX_SECONDS)]


@call(
    "POST /reset",
    "returns to the start state, with the switches of the start; control token and seed stay",
    command="reset",
    exclusive=True,
)
def reset(session: Session) -> Reset:
    reset_world(session, world())
    return Reset(reset=True)


@call("GET /clock", "reads the clock", command="clock")
def read_time() -> Time:
    return Time(current_time(), world().clock.offset.total_seconds())


@call(
    "POST /clock",
    "moves the clock forward and does what falls due, such as webhook retries",
    command="advance <advance_seconds>",
)
def advance(sent: Advance) -> Time:
    with transaction() as session:
        advance_clock(session, world().clock, timedelta(seconds=float(sent.advance_seconds)))
    run_due()
    return read_time()


@call(
    "GET /snapshot",
    "gives the whole state as a file, with all secrets of the sandbox",
    exclusive=True,
    answers=SnapshotFile,
)
def take_state(session: Session) -> Response:
    return Response(take_snapshot(session, world()), content_type="application/json")


@call(
    f"POST /{RESTORE}",
    "returns to the state of a snapshot, which is the body, of at most 32 MiB",
    body=SnapshotFile,
)
def restore_state() -> Time:
    request.max_content_length = MAX_BYTES
    try:
        content = request.get_data()
    except RequestEntityTooLarge:
        remedy = "Send the file that GET /_sandbox/snapshot gave."
        raise CallRefused(413, "snapshot", f"is {TOO_LARGE}", remedy) from None
    with transaction(exclusive=True) as session:
        restore_snapshot(session, world(), content)
    return read_time()


@call("GET /unknowns", "lists the switches with their values")
def read_unknowns() -> list[UnknownRecord]:
    values = world().unknowns
    return [
        UnknownRecord.of(unknown, value=values[unknown.name], start_value=values.started_with[unknown.name])
        for unknown in ASSUMPTIONS
    ]


@call("POST /unknowns", "changes the switches that it names, for all processes", body=dict[str, str | None])
def change_some_unknowns(session: Session) -> list[UnknownRecord]:
    """Change all of them or none; null stands for the value at the start."""
    values = read_object()
    for name, value in values.items():
        if value is not None and not isinstance(value, str):
            raise CallRefused(400, name[:60], "must be a text or null", _UNKNOWNS_REMEDY)
        try:
            choose({name: world().unknowns.get(name, "") if value is None else value})
        except AssumptionError as error:
            raise CallRefused(400, name[:60], f"cannot be set: {str(error)[:300]}", _UNKNOWNS_REMEDY) from None
    change_unknowns(session, world(), values)
    return read_unknowns()


@call("DELETE /unknowns", "returns all switches to their values at the start")
def return_unknowns(session: Session) -> list[UnknownRecord]:
    change_unknowns(session, world(), dict.fromkeys(world().unknowns))
    return read_unknowns()
