"""Removal of histories, delivered events, and abandoned checkouts that never had money, beside a working shop.

Rows are looked for in windows of ids, without a lock. What was found is then removed by short transactions of few rows,
in which each statement repeats all conditions, so that a row that has changed meanwhile stays as it is. Rows that
another transaction holds are left to the next run. A run that was interrupted is continued by another one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import Connection, Engine, Table, bindparam, delete, func, select, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from flask_paycheckout.books.prunable import Condition, Prunable
from flask_paycheckout.clock import Clock
from flask_paycheckout.database.autocommit import autocommit
from flask_paycheckout.database.database_errors import is_passing
from flask_paycheckout.database.history import Entry, without
from flask_paycheckout.database.parameters import is_of, new_values
from flask_paycheckout.payouts.payout_states import PayoutStatus

if TYPE_CHECKING:
    from flask_paycheckout.models import Models

__all__ = ["Pruned", "Pruning"]

# The ids in one query, and the most rows in one transaction.
_WINDOW = 2_000
_ROWS = 200
# How often a transaction is tried that the database refused because of another one.
_TRIES = 3
_AGAIN = 0.2
_LONGEST_PAUSE = 1.0
# The longest time that a datetime can be ahead of; no shop is older.
_LONGEST = timedelta(days=36_500)

_MONEY_MOVED = frozenset({PayoutStatus.SENT.value, PayoutStatus.FAILED.value})

Progress = Callable[[int, int], object]
"""Called with how far the run is, and with the end."""


@dataclass(frozen=True)
class Pruned:
    """The counts of one run; of a dry run what it would have removed."""

    before: datetime
    """Only what was decided and delivered before this time is removed."""

    dry_run: bool
    checkout_histories: int = 0
    """The number of checkouts whose history was removed, except for decisions of people."""

    payout_histories: int = 0
    """The number of payouts whose history was removed, except for decisions and moves of money."""

    events: int = 0
    """The number of events that were removed."""

    checkouts: int = 0
    """The number of abandoned checkouts that were removed as a whole."""

    left: int = 0
    """The number of rows that changed meanwhile, were in use, or that a table of the shop's own refers to."""


class _Removed(NamedTuple):
    """What one transaction removed."""

    rows: int = 0
    events: int = 0
    """The events of removed checkouts."""


_Removal = Callable[[Connection], _Removed]


class _Run(msgspec.Struct, frozen=True):
    """One run: its conditions, its time, and how it reports progress."""

    prunable: Prunable
    now: datetime
    dry_run: bool
    step: Callable[[int], object]


class Pruning:
    """Prunes the tables of one app.

    :param engine: returns the engine of the payment tables, when first needed.
    :param keep_checkouts: abandoned checkouts are removed as a whole only after this time.
    :param pause: waits for so many seconds.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        models: Models,
        clock: Clock,
        keep_checkouts: timedelta,
        pause: Callable[[float], object] = time.sleep,
    ) -> None:
        self._engine = engine
        self._models = models
        self._clock = clock
        self._keep_checkouts = keep_checkouts
        self._pause = pause

    def run(self, older_than: timedelta, *, dry_run: bool = False, progress: Progress | None = None) -> Pruned:
        """Remove what was decided and delivered longer ago than this time.

        :param dry_run: only count it.
        :param progress: called after each window of ids.
        """
        now = self._clock()
        before = now - min(older_than, _LONGEST)
        prunable = Prunable(self._models, before, now - min(self._keep_checkouts, _LONGEST))
        models = self._models
        tables = (models.checkouts, models.payouts, models.events, models.checkouts)
        ends = [self._last_id(table) for table in tables]
        ahead, done = sum(ends), 0
        result = Pruned(before, dry_run)
        removals = (self._prune_checkouts, self._prune_payouts, self._remove_events, self._remove_checkouts)
        for remove, end in zip(removals, ends, strict=True):
            behind = done

            def step(place: int, behind: int = behind) -> None:
                if progress is not None:
                    progress(behind + place, ahead)

            result = remove(_Run(prunable, now, dry_run, step), result, end)
            done += end
        return result

    # Histories

    def _prune_checkouts(self, run: _Run, result: Pruned, end: int) -> Pruned:
        condition = run.prunable.checkout_history()
        found, removed = self._prune_histories(run, self._models.checkouts, condition, end, _is_decision)
        return replace(result, checkout_histories=removed, left=result.left + found - removed)

    def _prune_payouts(self, run: _Run, result: Pruned, end: int) -> Pruned:
        condition = run.prunable.payout_history()
        found, removed = self._prune_histories(run, self._models.payouts, condition, end, _is_decision_or_money)
        return replace(result, payout_histories=removed, left=result.left + found - removed)

    def _prune_histories(
        self, run: _Run, table: Table, condition: Condition, end: int, is_kept: Callable[[dict[str, Any]], bool]
    ) -> tuple[int, int]:
        """Remove histories; returns the number of rows found, and of histories removed."""
        # The history only grows, and is compared: an entry that was added meanwhile must not be lost.
        same = update(table).where(is_of(table, "id"), is_of(table, "history"), condition)
        statement = same.values(new_values(table, ("history", "pruned_at")))

        def removal(ids: Sequence[int]) -> _Removal:
            with self._single.connect() as connection:
                histories = connection.execute(select(table.c.id, table.c.history).where(table.c.id.in_(ids))).all()
            changes = [
                {"of_id": row.id, "of_history": row.history, "new_pruned_at": run.now}
                | {"new_history": without(row.history, is_kept)}
                for row in histories
            ]

            def remove(connection: Connection) -> _Removed:
                free = self._lock_free(connection, table, ids)
                mine = [change for change in changes if change["of_id"] in free]
                return _Removed(connection.execute(statement, mine).rowcount if mine else 0)

            return remove

        found = removed = 0
        for ids in self._found(run, table, condition, end):
            found += len(ids)
            removed += len(ids) if run.dry_run else self._removed(removal(ids)).rows
        return found, removed

    # Events

    def _remove_events(self, run: _Run, result: Pruned, end: int) -> Pruned:
        table, condition = self._models.events, run.prunable.event(dry_run=run.dry_run)

        def removal(ids: Sequence[int]) -> _Removal:
            mine = delete(table).where(table.c.id.in_(ids), condition)
            return lambda connection: _Removed(connection.execute(mine).rowcount)

        for ids in self._found(run, table, condition, end):
            removed = len(ids) if run.dry_run else self._removed_each(ids, removal).rows
            result = replace(result, events=result.events + removed, left=result.left + len(ids) - removed)
        return result

    # Checkouts

    def _remove_checkouts(self, run: _Run, result: Pruned, end: int) -> Pruned:
        condition, table, e = run.prunable.checkout(), self._models.checkouts, self._models.events.c

        def removal(ids: Sequence[int]) -> _Removal:
            def remove(connection: Connection) -> _Removed:
                mine = delete(table).where(table.c.id.in_(self._lock_free(connection, table, ids)), condition)
                gone = connection.execute(mine.returning(table.c.order_id, table.c.checkout_id)).all()
                of_orders = e.order_id.in_({row.order_id for row in gone})
                about = (of_orders, e.checkout_id.in_({row.checkout_id for row in gone}), run.prunable.is_delivered())
                events = delete(self._models.events).where(*about)
                return _Removed(len(gone), connection.execute(events).rowcount if gone else 0)

            return remove

        for ids in self._found(run, table, condition, end):
            # A dry run has counted their events with the others.
            removed = _Removed(len(ids)) if run.dry_run else self._removed_each(ids, removal)
            left = result.left + len(ids) - removed.rows
            checkouts, events = result.checkouts + removed.rows, result.events + removed.events
            result = replace(result, checkouts=checkouts, events=events, left=left)
        return result

    # Windows and transactions

    def _last_id(self, table: Table) -> int:
        with self._single.connect() as connection:
            return int(connection.execute(select(func.max(table.c.id))).scalar() or 0)

    def _found(self, run: _Run, table: Table, condition: Condition, end: int) -> Iterator[list[int]]:
        """The ids of the rows for which the condition holds, as many at once as a transaction takes."""
        c: Any = table.c
        after = bindparam("after", type_=c.id.type)
        upto = bindparam("upto", type_=c.id.type)
        following = select(func.min(c.id)).where(c.id > after)
        rows = select(c.id).where(c.id > after, c.id <= upto, condition).order_by(c.id)
        place = 0
        while place < end:
            with self._single.connect() as connection:
                first = connection.execute(following, {"after": place}).scalar()
                if first is None or first > end:
                    break
                last = min(first - 1 + _WINDOW, end)
                ids = list(connection.execute(rows, {"after": first - 1, "upto": last}).scalars())
            for number in range(0, len(ids), _ROWS):
                yield ids[number : number + _ROWS]
            place = last
            run.step(place)
        run.step(end)

    def _lock_free(self, connection: Connection, table: Table, ids: Sequence[int]) -> set[int]:
        """Lock rows that no other transaction has locked, without waiting; SQLite has one writer, and no such locks."""
        if connection.dialect.name == "sqlite":
            return set(ids)
        locked = select(table.c.id).where(table.c.id.in_(ids)).order_by(table.c.id)
        return set(connection.execute(locked.with_for_update(skip_locked=True)).scalars())

    def _removed_each(self, ids: Sequence[int], removal: Callable[[Sequence[int]], _Removal]) -> _Removed:
        """Remove rows in one transaction, or one by one where a row of the shop's own refers to some of them."""
        try:
            return self._removed(removal(ids))
        except IntegrityError:
            if len(ids) == 1:
                return _Removed()
        removed = [self._removed_each([one], removal) for one in ids]
        return _Removed(sum(one.rows for one in removed), sum(one.events for one in removed))

    def _removed(self, remove: _Removal) -> _Removed:
        """Run one short transaction, and then let others have as much time; nothing when the database was too busy."""
        for _ in range(_TRIES):
            began = time.monotonic()
            try:
                with self._engine().begin() as connection:
                    removed = remove(connection)
            except DBAPIError as error:
                if not is_passing(error):
                    raise
                self._pause(_AGAIN)
            else:
                self._pause(min(time.monotonic() - began, _LONGEST_PAUSE))
                return removed
        return _Removed()

    @cached_property
    def _single(self) -> Engine:
        """The engine for single statements."""
        return autocommit(self._engine())


def _is_decision(entry: dict[str, Any]) -> bool:
    """Whether an entry names a person who decided."""
    return "by" in entry


def _is_decision_or_money(entry: dict[str, Any]) -> bool:
    """Whether an entry of a payout names a person, or says when its money moved, or may have."""
    moved = entry["what"] == Entry.MOVED and entry.get("to") in _MONEY_MOVED
    return "by" in entry or moved or entry["what"] == Entry.NOT_APPLIED
