"""The fault plan: which requests and webhooks fail, how, and how often.

A fault belongs to an operation, named by its route (`GET /v1/deposit/{id}`) or by one concrete path
(`GET /v1/deposit/5a6d...`), or to `webhook`. It applies a limited number of times; the oldest fault applies first. A
fault with a `share` applies to that share of its requests, at random, and leaves the others to the next fault. With a
seed the draw is repeatable. A fault of an account applies to the calls and webhooks of that account only.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Annotated

import msgspec
from flask import current_app, request
from msgspec.structs import asdict
from sqlalchemy import delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.wire.envelope import FieldError, Record
from flask_paycheckout.sandbox.wire.field_types import Request, Text, choice, number, seconds, whole
from flask_paycheckout.sandbox.wire.openapi import path_of
from flask_paycheckout.sandbox.wire.operations import Credentials, operation_of
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import AccountId, Serial, Table
from flask_paycheckout.sandbox.world.settings import WorldSettings, derived

WEBHOOK = "webhook"
OPERATION_KINDS = ("error", "delay", "drop", "lose_response", "garbage")
WEBHOOK_KINDS = ("drop", "duplicate", "delay", "reorder", "before_response")

MAX_SECONDS_OF_DELAY = 60
"""The longest delay of a request, in real time."""
_MAX_WEBHOOK_DELAY = 30 * 24 * 3600
_MAX_TIMES = 1_000_000
# Bytes of a random draw.
_DRAWN = 6
GARBAGE = "<!doctype html><title>502 Bad Gateway</title><h1>502 Bad Gateway</h1><p>This is not the envelope."


class Fault(Table):
    __tablename__ = "fault"

    number: Mapped[Serial]
    operation: Mapped[str]
    user_id: Mapped[AccountId | None]
    account: Mapped[str | None]
    """Name of the account that it is limited to; None for all accounts."""
    kind: Mapped[str]
    times: Mapped[int]
    """How often it still applies."""
    status_code: Mapped[int | None]
    message: Mapped[str | None]
    seconds: Mapped[Decimal | None]
    retry_after: Mapped[int | None]
    share: Mapped[Decimal | None]
    """Above 0, at most 1; None applies always."""
    asked: Mapped[int] = mapped_column(default=0)
    """How often it was drawn, when it has a share."""


class FaultRecord(Record):
    """A fault as the control interface shows it."""

    number: int = msgspec.field(name="id")
    operation: str
    kind: str
    times: int
    account: str | None = None
    status_code: int | None = None
    message: str | None = None
    seconds: Decimal | None = None
    retry_after: int | None = None
    share: Decimal | None = None


class NewFault(Request):
    """A fault as a tester asks for it."""

    operation: Text
    kind: Annotated[str, choice(*sorted({*OPERATION_KINDS, *WEBHOOK_KINDS}))]
    times: Annotated[int, whole(1, _MAX_TIMES)] = 1
    status_code: Annotated[int, whole(200, 599)] | None = None
    message: Text | None = None
    seconds: Annotated[Decimal, seconds(_MAX_WEBHOOK_DELAY)] | None = None
    retry_after: Annotated[int, whole(0, 3600)] | None = None
    share: Annotated[Decimal, number("a number above 0, at most 1", exclusiveMinimum=0, maximum=1)] | None = None
    account: Text | None = None


def plan_fault(session: Session, new: NewFault, user_id: str | None) -> FaultRecord:
    """Append a fault to the plan; one that could never apply is refused.

    :param user_id: the user id of the fault's account; None for all accounts.
    :raises FieldError: naming the field at fault.
    """
    callers = {name: credentials for name, credentials in _callers().items() if _belongs(new.operation, name)}
    is_webhook = new.operation == WEBHOOK
    if not (is_webhook or callers):
        raise FieldError(f"operation must be one of: {', '.join([WEBHOOK, *operations()])}; or a concrete path of one.")
    kinds = WEBHOOK_KINDS if is_webhook else OPERATION_KINDS
    if new.kind not in kinds:
        raise FieldError(f"kind must be one of: {', '.join(kinds)}.")
    maximum = _MAX_WEBHOOK_DELAY if is_webhook else MAX_SECONDS_OF_DELAY
    if new.kind == "delay" and (new.seconds is None or new.seconds > maximum):
        raise FieldError(f"seconds must be a number from 0 to {maximum} for a delay.")
    if user_id is not None and callers and set(callers.values()) == {Credentials.NONE}:
        raise FieldError("account can only be given for webhooks and for operations that need credentials.")
    fault = Fault(**asdict(new) | {"seconds": new.seconds if new.kind == "delay" else None}, user_id=user_id)
    world().any_fault_added = True
    session.add(fault)
    session.flush()
    return FaultRecord.of(fault)


def operations() -> list[str]:
    """All operations that a fault can apply to, as `METHOD /path/{name}`: the service's and its hosted pages'."""
    return sorted(_callers())


def _callers() -> dict[str, Credentials]:
    """The credentials of each operation that a fault can apply to."""
    credentials = {}
    for rule in current_app.url_map.iter_rules():
        if rule.rule.startswith(("/v1/", "/v2/", "/checkout/")):
            declared, path = operation_of(current_app, rule.endpoint), path_of(rule)
            for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
                credentials[f"{method} {path}"] = Credentials.NONE if declared is None else declared.credentials
    return credentials


def active_faults(session: Session) -> list[Fault]:
    """The faults that still apply, oldest first."""
    return list(session.scalars(select(Fault).where(Fault.times > 0).order_by(Fault.number)))


def clear_faults(session: Session) -> None:
    # Locked in the order in which requests lock faults, because another order could deadlock.
    session.execute(select(Fault.number).order_by(Fault.number).with_for_update())
    session.execute(delete(Fault))


def take_fault(session: Session, caller: Callable[[Session], str | None]) -> Fault | None:
    """The fault that applies to the current request; it is counted as applied.

    :param caller: returns the user id of the account whose credentials the request has; called if a fault matches.
    """
    # By the matched route: its variables may contain slashes, and another route may have as many segments.
    path = f"{request.method} {request.path}"
    route = "" if request.url_rule is None else f"{request.method} {path_of(request.url_rule)}"
    matching = [
        fault
        for fault in active_faults(session)
        if fault.operation == path or ("{" in fault.operation and _belongs(fault.operation, route))
    ]
    return _take(session, matching, caller(session)) if matching else None


def take_webhook_fault(session: Session, user_id: str, *kinds: str) -> Fault | None:
    """The fault of one of these kinds that applies to a webhook to an account; it is counted as applied."""
    if not world().may_have_faults:
        return None
    planned = [fault for fault in active_faults(session) if fault.operation == WEBHOOK and fault.kind in kinds]
    return _take(session, planned, user_id)


def _take(session: Session, candidates: Iterable[Fault], user_id: str | None) -> Fault | None:
    for candidate in candidates:
        if candidate.user_id not in {None, user_id}:
            continue
        # Another process may use it up at the same time, or delete it.
        fault = session.get(Fault, candidate.number, with_for_update=True, populate_existing=True)
        if fault is not None and fault.times > 0 and _is_drawn(session, fault):
            fault.times -= 1
            return fault
    return None


def _is_drawn(session: Session, fault: Fault) -> bool:
    """Whether a fault with a share applies this time; each call draws anew."""
    if fault.share is None:
        return True
    fault.asked += 1
    seed = session.get_one(WorldSettings, 1).seed
    drawn = secrets.token_hex(_DRAWN) if seed is None else derived(f"{seed}:fault:{fault.number}:{fault.asked}", _DRAWN)
    return int(drawn, 16) < fault.share * (1 << 8 * _DRAWN)


def _belongs(operation: str, route: str) -> bool:
    """Whether an operation is a route, with any names in its braces, or a path with one segment for each variable."""
    return re.fullmatch(re.sub(r"{\w+}", "[^/]*", route), operation) is not None
