"""`GET /inspector/levers`: the clock and the planned faults, with forms to change them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

from flask import Response, request
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.inspector.blueprint import inspector, redirect_to, show
from flask_paycheckout.sandbox.levers.accounts import NoSuchAccount, find_account
from flask_paycheckout.sandbox.levers.due import run_due
from flask_paycheckout.sandbox.levers.fault_parsing import limit_fault, operations, read_fault
from flask_paycheckout.sandbox.outgoing.faults import (
    OPERATION_KINDS,
    WEBHOOK,
    WEBHOOK_KINDS,
    active_faults,
    add_fault,
    clear_faults,
    describe,
)
from flask_paycheckout.sandbox.wire.parsing import FieldError
from flask_paycheckout.sandbox.world.clock import MAX_SECONDS
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import advance_clock

STEPS = {60: "1 minute", 960: "16 minutes", 3600: "1 hour", 90000: "25 hours"}
"""Seconds that the clock's buttons advance by, with their labels."""
UNITS = {"minutes": 60, "hours": 3600, "days": 86400, "seconds": 1}
"""Units of the form for other durations, in seconds."""
MAX_FAULTS = 50
"""The most faults that are listed."""

_TEXTS = ("operation", "kind", "message", "account")
_NUMBERS = ("times", "statusCode", "seconds", "retryAfter")
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,6})?")


@inspector.get("/inspector/levers")
def show_levers() -> Response:
    return _page()


def _page(status: int = 200, problem: str = "", form: str = "") -> Response:
    """Render the page; after a refusal with the problem beside its form, which keeps its input."""
    with transaction() as session:
        faults = active_faults(session)
        listed = [describe(fault) for fault in faults[:MAX_FAULTS]]
    return show(
        "levers",
        status,
        steps=STEPS,
        units=UNITS,
        faults=listed,
        count=len(faults),
        operations=[WEBHOOK, *operations()],
        kinds={"For operations": OPERATION_KINDS, "For webhooks": WEBHOOK_KINDS},
        problem={form: problem},
        typed=request.form,
    )


@inspector.post("/inspector/clock")
def advance() -> AnyResponse:
    """Advance the virtual clock by `amount` of `unit`, and run what becomes due."""
    seconds = _seconds(request.form.get("amount", ""), request.form.get("unit", ""))
    if seconds is None:
        problem = f"Give a number, of at most {MAX_SECONDS // 86400} days; the clock cannot go back."
        return _page(400, problem, "clock")
    with transaction() as session:
        advance_clock(session, world().clock, timedelta(seconds=float(seconds)))
    run_due()
    return redirect_to("show_levers", "advanced")


def _seconds(amount: str, unit: str) -> Decimal | None:
    if unit not in UNITS or not _NUMBER.fullmatch(amount.strip()):
        return None
    seconds = Decimal(amount.strip()) * UNITS[unit]
    return seconds if seconds <= MAX_SECONDS else None


@inspector.post("/inspector/faults")
def order_fault() -> AnyResponse:
    sent = _order(request.form)
    account = sent.get("account")
    try:
        fault = read_fault(sent)
        with transaction() as session:
            if account is not None:
                limit_fault(fault, find_account(session, account.replace("\0", "")))
            add_fault(session, fault)
    except FieldError as wrong:
        return _page(400, str(wrong), "fault")
    except NoSuchAccount:
        return _page(400, "account is no name of an account.", "fault")
    return redirect_to("show_levers", "ordered")


def _order(form: Mapping[str, str]) -> dict[str, Any]:
    """Convert the form to the JSON of the control interface, without empty fields."""
    sent: dict[str, Any] = {name: form[name].strip() for name in (*_TEXTS, *_NUMBERS) if form.get(name, "").strip()}
    # Other text is left for the parser to refuse, naming the field.
    numbers = {name: Decimal(sent[name]) for name in _NUMBERS if _NUMBER.fullmatch(sent.get(name, ""))}
    return sent | numbers


@inspector.post("/inspector/faults/forget")
def forget_faults() -> AnyResponse:
    with transaction() as session:
        clear_faults(session)
    return redirect_to("show_levers", "forgotten")
