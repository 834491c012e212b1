"""The fault plan: which requests and webhooks fail, how, and how often.

A fault belongs to an operation, named by its route (`GET /v1/deposit/{id}`) or by one concrete path
(`GET /v1/deposit/5a6d...`), or to `webhook`. It applies a limited number of times; the oldest fault applies first. A
fault with a `share` applies to that share of its requests, at random, and leaves the others to the next fault. With a
seed the draw is repeatable. A fault of an account applies to the calls and webhooks of that account only.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from sqlalchemy import ForeignKey, String, Text, delete, select, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import Table, rows_changed
from flask_paycheckout.sandbox.world.ids import derived
from flask_paycheckout.sandbox.world.settings import WorldSettings

WEBHOOK = "webhook"
OPERATION_KINDS = ("error", "delay", "drop", "lose_response", "garbage")
WEBHOOK_KINDS = ("drop", "duplicate", "delay", "reorder", "before_response")

MAX_SECONDS_OF_DELAY = 60
"""The longest delay of a request."""
# Bytes of a random draw.
_DRAWN = 6
GARBAGE = "<!doctype html><title>502 Bad Gateway</title><h1>502 Bad Gateway</h1><p>This is not the envelope."


class Fault(Table):
    __tablename__ = "fault"

    number: Mapped[int] = mapped_column(primary_key=True)
    operation: Mapped[str] = mapped_column(String(300))
    user_id: Mapped[str | None] = mapped_column(ForeignKey("account.user_id"))
    account: Mapped[str | None] = mapped_column(String(40))
    """Name of the account that it is limited to; None for all."""
    kind: Mapped[str] = mapped_column(String(20))
    remaining: Mapped[int]
    status_code: Mapped[int | None]
    message: Mapped[str | None] = mapped_column(Text)
    seconds: Mapped[str | None] = mapped_column(String(40))
    retry_after: Mapped[int | None]
    share: Mapped[Decimal | None]
    """Above 0, at most 1; None applies always."""
    asked: Mapped[int] = mapped_column(default=0)
    """How often it was drawn, when it has a share."""


def describe(fault: Fault) -> dict[str, Any]:
    """Convert a fault to the JSON of the control interface."""
    shown = {
        "id": fault.number,
        "operation": fault.operation,
        "account": fault.account,
        "kind": fault.kind,
        "times": fault.remaining,
        "statusCode": fault.status_code,
        "message": fault.message,
        "seconds": None if fault.seconds is None else float(fault.seconds),
        "retryAfter": fault.retry_after,
        "share": None if fault.share is None else float(fault.share),
    }
    return {name: value for name, value in shown.items() if value is not None}


def active_faults(session: Session) -> list[Fault]:
    """The faults that still apply, oldest first."""
    return list(session.execute(select(Fault).where(Fault.remaining > 0).order_by(Fault.number)).scalars())


def add_fault(session: Session, fault: Fault) -> None:
    """Append a fault to the plan."""
    world().known.any_fault_added = True
    session.add(fault)


def clear_faults(session: Session) -> None:
    session.execute(delete(Fault))


def take_fault(session: Session, method: str, path: str, caller: Callable[[], str | None]) -> Fault | None:
    """The fault that applies to a request; it is counted as applied.

    :param caller: gives the user id of the account whose credentials the request holds; asked when a fault matches.
    """
    if not world().may_have_faults:
        return None
    matching = [fault for fault in active_faults(session) if matches(fault.operation, method, path)]
    return _take(session, _of_account(matching, caller()) if matching else [])


def take_webhook_fault(session: Session, user_id: str, *kinds: str) -> Fault | None:
    """The fault of one of these kinds that applies to a webhook to an account; it is counted as applied."""
    if not world().may_have_faults:
        return None
    planned = [fault for fault in active_faults(session) if fault.operation == WEBHOOK and fault.kind in kinds]
    return _take(session, _of_account(planned, user_id))


def _of_account(faults: Iterable[Fault], user_id: str | None) -> list[Fault]:
    return [fault for fault in faults if fault.user_id in {None, user_id}]


def _take(session: Session, candidates: Iterable[Fault]) -> Fault | None:
    for fault in candidates:
        if fault.share is not None and not _is_drawn(session, fault, fault.share):
            continue
        use_up = (
            update(Fault).where(Fault.number == fault.number, Fault.remaining > 0).values(remaining=Fault.remaining - 1)
        )
        if rows_changed(session, use_up):
            return fault
    return None


def _is_drawn(session: Session, fault: Fault, share: Decimal) -> bool:
    """Whether the fault applies this time; each call draws anew."""
    asking = update(Fault).where(Fault.number == fault.number).values(asked=Fault.asked + 1).returning(Fault.asked)
    asked = session.execute(asking, execution_options={"synchronize_session": False}).scalar_one_or_none()
    seed = session.execute(select(WorldSettings.seed)).scalar_one()
    drawn = secrets.token_hex(_DRAWN) if seed is None else derived(f"{seed}:fault:{fault.number}:{asked}", _DRAWN)
    # None: the fault was deleted in the meantime.
    return asked is not None and int(drawn, 16) < share * (1 << 8 * _DRAWN)


def matches(operation: str, method: str, path: str) -> bool:
    """Whether a request belongs to an operation; `{name}` matches any one segment."""
    wanted_method, _, wanted_path = operation.partition(" ")
    wanted, given = wanted_path.split("/"), path.split("/")
    return (
        wanted_method == method
        and len(wanted) == len(given)
        and all(_is_placeholder(want) or want == have for want, have in zip(wanted, given, strict=True))
    )


def _is_placeholder(segment: str) -> bool:
    return segment.startswith("{") and segment.endswith("}")
