"""Following the feed of a sandbox's events."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

from flask_paycheckout.sandbox.terminal.connection import Connection

MAX_EVENTS = 200
"""The most events that an answer holds of one kind."""
_PAUSE = 0.5

Event = dict[str, Any]


def follow(
    connection: Connection,
    last: int,
    account: str | None = None,
    seconds: float | None = None,
    *,
    is_wanted: Callable[[Event], bool] = lambda one: True,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.monotonic,
    is_over: Callable[[], bool] = lambda: False,
) -> Generator[Event, None, None]:
    """The newest events, then further ones as they happen, until so many seconds have passed.

    Each question begins where the last but one ended: on PostgreSQL, what several processes write at the same time is
    not always committed in the order of its numbers.
    """
    until = None if seconds is None else now() + seconds
    answer = _ask(connection, None, account)
    newest = [one for one in answer["events"] if is_wanted(one)]
    yield from newest[max(0, len(newest) - last) :]
    before = cursor = str(answer["cursor"])
    seen = {_name(one) for one in answer["events"]}
    while (until is None or now() < until) and not is_over():
        if not answer["more"]:
            sleep(_PAUSE if until is None else max(0.0, min(_PAUSE, until - now())))
        answer = _ask(connection, before, account)
        yield from (one for one in answer["events"] if _name(one) not in seen and is_wanted(one))
        # No more than two answers hold: a sandbox gives a bounded number of events at once.
        seen = {_name(one) for one in answer["events"]}
        before, cursor = str(answer["cursor"] if answer["more"] else cursor), str(answer["cursor"])


def _ask(connection: Connection, after: str | None, account: str | None) -> dict[str, Any]:
    asked: Any = connection.call("GET", "events", query={"after": after, "last": MAX_EVENTS, "account": account})
    return asked if isinstance(asked, dict) else {"events": [], "cursor": after or "", "more": False}


def _name(event: Event) -> tuple[Any, ...]:
    # With the time, since numbers begin anew after a reset.
    return event["kind"], event["number"], event["at"]
