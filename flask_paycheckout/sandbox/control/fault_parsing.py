"""Parsing of new faults, `{"operation", "kind", "times", ...}`; one that could never apply is refused."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from flask import current_app

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.outgoing.faults import (
    MAX_SECONDS_OF_DELAY,
    OPERATION_KINDS,
    WEBHOOK,
    WEBHOOK_KINDS,
    Fault,
    matches,
)
from flask_paycheckout.sandbox.wire.operations import Credentials, operation_of
from flask_paycheckout.sandbox.wire.parsing import FieldError, optional_number, optional_text, read_text

_VARIABLE = re.compile(r"<(?:\w+:)?(\w+)>")
_MAX_TIMES = 1_000_000
_MAX_WEBHOOK_DELAY = 30 * 24 * 3600


def read_fault(body: dict[str, Any]) -> Fault:
    """Parse a fault. :raises FieldError: naming the first field that is wrong."""
    operation = read_text(body, "operation")
    kind = read_text(body, "kind")
    _check_kind(operation, kind)
    seconds = _seconds(body, operation, kind)
    return Fault(
        operation=operation,
        kind=kind,
        remaining=_whole(body, "times", 1, _MAX_TIMES) or 1,
        status_code=_whole(body, "statusCode", 200, 599),
        message=optional_text(body, "message"),
        seconds=None if seconds is None else f"{seconds:f}",
        retry_after=_whole(body, "retryAfter", 0, 3600),
        share=_share(body),
    )


def limit_fault(fault: Fault, account: Account) -> None:
    """Let a fault apply to one account only. :raises FieldError: callers of the operation give no credentials."""
    callers = _callers()
    if fault.operation != WEBHOOK and all(callers[one] is Credentials.NONE for one in _same(fault.operation)):
        raise FieldError("account can only be given for webhooks and for operations that need credentials.")
    fault.user_id, fault.account = account.user_id, account.name


def _check_kind(operation: str, kind: str) -> None:
    if operation != WEBHOOK and not _same(operation):
        raise FieldError(f"operation must be one of: {', '.join([WEBHOOK, *operations()])}; or a concrete path of one.")
    kinds = WEBHOOK_KINDS if operation == WEBHOOK else OPERATION_KINDS
    if kind not in kinds:
        raise FieldError(f"kind must be one of: {', '.join(kinds)}.")


def operations() -> list[str]:
    """All operations that a fault can apply to, as `METHOD /path/{name}`: those of the service and its hosted pages."""
    return sorted(_callers())


def _callers() -> dict[str, Credentials]:
    """The credentials of each operation that a fault can apply to."""
    found = {}
    for rule in current_app.url_map.iter_rules():
        if str(rule).startswith(("/v1/", "/v2/", "/checkout/")):
            declared, path = operation_of(current_app, rule.endpoint), _VARIABLE.sub(r"{\1}", rule.rule)
            for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
                found[f"{method} {path}"] = Credentials.NONE if declared is None else declared.credentials
    return found


def _same(operation: str) -> list[str]:
    """The operations that a name or a concrete path belongs to."""
    method, _, path = operation.partition(" ")
    return [known for known in operations() if matches(known, method, path)]


def _seconds(body: dict[str, Any], operation: str, kind: str) -> Decimal | None:
    seconds = optional_number(body, "seconds")
    if kind != "delay":
        return None
    # A request waits in real time, a webhook by the virtual clock.
    maximum = _MAX_WEBHOOK_DELAY if operation == WEBHOOK else MAX_SECONDS_OF_DELAY
    if seconds is None or not 0 <= seconds <= maximum:
        raise FieldError(f"seconds must be a number from 0 to {maximum} for a delay.")
    return seconds


def _share(body: dict[str, Any]) -> Decimal | None:
    share = optional_number(body, "share")
    if share is not None and not 0 < share <= 1:
        raise FieldError("share must be a number above 0, and at most 1.")
    return share


def _whole(body: dict[str, Any], name: str, minimum: int, maximum: int) -> int | None:
    number = optional_number(body, name)
    if number is None:
        return None
    if number != int(number) or not minimum <= number <= maximum:
        raise FieldError(f"{name} must be a whole number from {minimum} to {maximum}.")
    return int(number)
