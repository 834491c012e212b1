"""Following the events of a sandbox as they happen."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

from flask_paycheckout.sandbox.terminal.connection import Connection

_PAUSE = 0.5
Event = dict[str, Any]


def follow(
    connection: Connection,
    last: int,
    account: str | None,
    seconds: float | None,
    *,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
    is_over: Callable[[], bool] = lambda: False,
) -> Generator[Event, None, None]:
    """The newest events, then further ones as they happen, until so many seconds have passed.

    Each question begins where the last but one ended: on PostgreSQL, what several processes write at the same time is
    not always committed in the order of its numbers.
    """
    until = None if seconds is None else now() + seconds
    answer = _ask(connection, None, last, account)
    yield from answer["events"]
    before = cursor = str(answer["cursor"])
    seen = {_name(one) for one in answer["events"]}
    while (until is None or now() < until) and not is_over():
        if not answer["more"]:
            sleep(_PAUSE if until is None else max(0.0, min(_PAUSE, until - now())))
        answer = _ask(connection, before, last, account)
        yield from (one for one in answer["events"] if _name(one) not in seen)
        # No more than two answers hold: a sandbox gives a bounded number of events at once.
        seen = {_name(one) for one in answer["events"]}
        before, cursor = str(answer["cursor"] if answer["more"] else cursor), str(answer["cursor"])


def _ask(connection: Connection, after: str | None, last: int, account: str | None) -> dict[str, Any]:
    asked: Any = connection.call("GET", "events", query={"after": after, "last": last, "account": account})
    return asked if isinstance(asked, dict) else {"events": [], "cursor": after or ""}


def _name(event: Event) -> tuple[Any, ...]:
    # With the time, since numbers begin anew after a reset.
    return event["kind"], event["number"], event["at"]
