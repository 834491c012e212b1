"""Transactions of the shop's `db.session` that the extension opens, so that the shop takes part in a change of state.

`order_total` is called in such a transaction, so that a lock that it takes on the shop's order lasts until the commit.
Receivers marked with `@paycheckout.atomic` run in it, so that their writes are committed together with the move; every
other receiver has its own transaction. No function of the shop may end its transaction. After each function, and
right before the COMMIT, the transaction must still be open, without a failed statement, and with all writes in one
database. Otherwise the function counts as failed, as if it had raised an error.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from flask_paycheckout.database.connections import (
    ENDED,
    GUARD,
    LONGEST,
    BrokenTransaction,
    Guard,
    begin_limited,
    begun_in,
)
from flask_paycheckout.database.database_errors import is_refused_row
from flask_paycheckout.database.shop_session import ShopSessions
from flask_paycheckout.errors import ReceiverFailed
from flask_paycheckout.shop_functions import CallShop

# The seconds that a web request waits for locks in total, because the shop's other pages need its thread; the number of
# requests of a process that may wait so long at once; and the seconds that other requests wait.
_WEB, _MOST_WAITING, _HARDLY = 1.0, 2, 0.1
_WAITED = "flask_paycheckout.waited"


class LockWaits:
    """The lock timeouts of the transactions in which functions of the shop are called.

    :param request: returns a dictionary that lives as long as the current web request; None outside of a request.
    """

    def __init__(self, request: Callable[[], dict[str, Any] | None]) -> None:
        self._request = request
        # Keyed by process id, because a forked process has none of its parent's threads.
        self._web: dict[int, list[float]] = {}

    @contextmanager
    def limited(self) -> Iterator[float]:
        """Yield the seconds that each statement may wait in a transaction that lasts as long as the `with` block."""
        request = self._request()
        if request is None:
            yield LONGEST
            return
        open_now, began = self._web.setdefault(os.getpid(), []), time.monotonic()
        seconds_left = max(_WEB - request.setdefault(_WAITED, 0.0), _HARDLY)
        patience = seconds_left if len(open_now) < _MOST_WAITING else _HARDLY
        open_now.append(began)
        try:
            yield patience
        finally:
            # Any of them, because only their number counts.
            open_now.pop()
            request[_WAITED] += time.monotonic() - began


class ShopTransaction(Guard):
    """An open transaction of the shop's session, in which functions of the shop are called.

    :param patience: seconds that each statement waits for locks.
    """

    def __init__(self, of: ShopTransactions, session: Session, patience: float) -> None:
        self.session = session
        self.last_run: tuple[str, str, str] | None = None
        """The atomic receiver that ran last, its signal, and the order or payout."""

        self.given: list[object] = []
        """The objects that receivers got, which stay readable after the commit."""

        self._of = of
        engine = of.sessions.engine_of(session)
        super().__init__(engine, patience, of.sessions.require_same, None if of.separate else engine)

    @property
    def connection(self) -> Connection:
        """The session's connection to the payment tables."""
        return self._of.sessions.connection_of(self.session)

    def call(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Call a function of the shop, which must neither end nor break the transaction.

        :raises RuntimeError: the function ended or broke the transaction.
        """
        outer, self.calling = self.calling, True
        try:
            result = self._of.call_shop(function, *arguments, **keywords)
        finally:
            self.calling = outer
        self.require_whole()
        return result

    def ask(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function of the shop that only returns a value, such as `order_total`.

        A function that ends the transaction fails here even if the transaction has no connection yet. Otherwise it
        would fail later, in the transaction that moves a checkout after its customer has paid.

        :raises RuntimeError: the function ended or broke the transaction.
        """
        begun = self.session.get_transaction()
        answer = self.call(function, *arguments)
        if self.session.get_transaction() is not begun:
            raise BrokenTransaction(ENDED)
        return answer

    def commit(self) -> None:
        """Commit; the objects that receivers got stay readable."""
        self.session.flush()
        for subject in self.given:
            if subject in self.session:
                self.session.expunge(subject)
        self.session.commit()


@dataclass(frozen=True)
class ShopTransactions:
    """Opens transactions of one shop's session, and transactions of our own.

    :param separate: whether the payment tables are in another database than the shop's tables.
    """

    sessions: ShopSessions
    engine: Callable[[], Engine]
    call_shop: CallShop
    waits: LockWaits
    separate: bool

    @contextmanager
    def open(self) -> Iterator[ShopTransaction]:
        """Open a transaction that is rolled back at the end of the `with` block, unless it was committed.

        It takes a connection when the shop makes its first query, so a function without queries costs nothing here.
        """
        with self.sessions.own() as session:
            # A session of the shop's own class may have made queries already, or begin no transaction by itself.
            session.rollback()
            session.begin()
            try:
                with self.waits.limited() as patience:
                    session.info[GUARD] = opened = ShopTransaction(self, session, patience)
                    yield opened
            finally:
                session.info.pop(GUARD, None)
                # This rolls back, and leaves the objects readable that receivers got.
                session.close()

    @contextmanager
    def begin(self) -> Iterator[ShopTransaction]:
        """Open a transaction that is committed at the end of the `with` block, or rolled back after an error."""
        with self.open() as opened:
            yield opened
            try:
                opened.commit()
            except (BrokenTransaction, DBAPIError) as error:
                of_receiver = isinstance(error, BrokenTransaction) or is_refused_row(error)
                # Our own constraints are not deferred.
                if opened.last_run is None or not of_receiver:
                    raise
                raise ReceiverFailed(*opened.last_run, error) from error

    @contextmanager
    def begin_for(self, *, shop: bool) -> Iterator[tuple[Connection, ShopTransaction | None]]:
        """Open a transaction for a change of ours, committed at the end of the `with` block.

        :param shop: whether functions of the shop run in it; otherwise it needs no session of the shop.
        """
        if shop:
            with self.begin() as transaction:
                yield transaction.connection, transaction
        else:
            with begin_limited(self.engine()) as connection:
                yield connection, None

    def within(self, session: Session) -> ShopTransaction:
        """The open transaction of a session of the shop, which the shop itself commits."""
        # The engine must be watched before the session creates the savepoint that the shop may have begun.
        self.engine()
        with self.waits.limited() as patience:
            opened = ShopTransaction(self, session, patience)
            connection = opened.connection
            for begun in begun_in(session):
                if begun.connection is connection:
                    opened.take(begun)
        return opened
