"""Changes that the inspector makes: clock, faults, unknowns, a webhook sent again, and the reset."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from flask import Response, request
from werkzeug import Response as AnyResponse
from werkzeug.datastructures import MultiDict

from flask_paycheckout.sandbox.control import message_calls, state_calls
from flask_paycheckout.sandbox.inspector.blueprint import inspector, redirect_to, show
from flask_paycheckout.sandbox.outgoing.faults import (
    OPERATION_KINDS,
    WEBHOOK,
    WEBHOOK_KINDS,
    FaultRecord,
    NewFault,
    active_faults,
    clear_faults,
    operations,
)
from flask_paycheckout.sandbox.wire.callers import CallRefused
from flask_paycheckout.sandbox.wire.envelope import FieldError, to_wire
from flask_paycheckout.sandbox.wire.field_types import Shape
from flask_paycheckout.sandbox.wire.operations import read_texts
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS, AssumptionError, choose
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import WorldSettings, change_unknowns

STEPS = {60: "1 minute", 960: "16 minutes", 3600: "1 hour", 90000: "25 hours"}
"""Seconds that the clock's buttons advance by, with their labels."""
MAX_FAULTS = 50
"""The most faults that are listed."""


@inspector.get("/inspector/control")
def show_control(problem: str = "") -> Response:
    """Show the clock and the planned faults, with forms to change them.

    :param problem: why the sent form is refused; the page keeps its input.
    """
    with transaction() as session:
        faults = FaultRecord.of_all(active_faults(session))
    return show(
        "control",
        400 if problem else 200,
        steps=STEPS,
        faults=to_wire(faults[:MAX_FAULTS]),
        count=len(faults),
        operations=[WEBHOOK, *operations()],
        kinds={"For operations": OPERATION_KINDS, "For webhooks": WEBHOOK_KINDS},
        problem={"clock" if "advanceSeconds" in request.form else "fault": problem},
        typed=request.form,
    )


@inspector.get("/inspector/reset")
def show_reset() -> Response:
    """Ask for confirmation, because a reset cannot be undone."""
    with transaction() as session:
        settings = session.get_one(WorldSettings, 1)
    return show("reset", first_webhook_url=settings.first_webhook_url)


@inspector.get("/inspector/unknowns")
def show_unknowns(problem: str = "") -> Response:
    """Show all switches by group, the changed ones also in a first group, and a form to change one."""
    started_with = world().unknowns.started_with
    rows = [(switch, assumption(switch.name), started_with[switch.name]) for switch in ASSUMPTIONS]
    groups = {"Not as usual": [row for row in rows if not row[1] == row[2] == row[0].default]}
    groups |= {row[0].group: [other for other in rows if other[0].group == row[0].group] for row in rows}
    return show(
        "unknowns",
        400 if problem else 200,
        groups=groups,
        problem=problem,
        changed=any(row[1] != row[2] for row in rows),
    )


Change = Callable[..., str | None]


def change(path: str, page: str, done: str) -> Callable[[Change], Change]:
    """Have a form change something, and redirect to a page of the inspector; a refused form is shown with the problem.

    :param done: the notice of that page, unless the function returns another.
    """

    def register(function: Change) -> Change:
        @inspector.post(f"/inspector/{path}", endpoint=function.__name__)
        @wraps(function)
        def carry_out(**of_path: str) -> AnyResponse:
            try:
                return redirect_to(page, function(**of_path) or done)
            except (FieldError, CallRefused) as error:
                return (show_unknowns if page == "unknowns" else show_control)(str(error))

        return function

    return register


@change("clock", "control", "advanced")
def advance() -> None:
    state_calls.advance(_sent(state_calls.Advance))


@change("faults", "control", "ordered")
def order_fault() -> None:
    with transaction() as session:
        message_calls.order_fault(session, _sent(NewFault))


def _sent(shape: type[Shape]) -> Shape:
    """The form as a call of the control interface has it; its empty fields count as absent."""
    typed = MultiDict({name: text.strip() for name, text in request.form.items()})
    return read_texts(shape, typed, keeps_empty=False)


@change("faults/forget", "control", "forgotten")
def forget_faults() -> None:
    with transaction() as session:
        clear_faults(session)


@change("webhooks/<webhook_id>", "webhooks", "resent")
def resend(webhook_id: str) -> str | None:
    try:
        message_calls.send_again(webhook_id)
    except CallRefused:
        return "not-resent"
    return None


@change("reset", "", "reset")
def reset() -> None:
    with transaction(exclusive=True) as session:
        state_calls.reset(session)


@change("unknowns", "unknowns", "switched")
def change_one() -> None:
    """Change the switch that `choice` names, which is `NAME=VALUE`."""
    name, _, value = request.form.get("choice", "").partition("=")
    try:
        choose({name: value})
    except AssumptionError:
        raise FieldError("Choose a switch and its value.") from None
    with transaction() as session:
        change_unknowns(session, world(), {name: value})


@change("unknowns/start", "unknowns", "switched-back")
def return_to_start() -> None:
    with transaction() as session:
        state_calls.return_unknowns(session)
