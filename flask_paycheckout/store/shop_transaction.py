"""Transactions of the shop's `db.session` that the extension opens, so that the shop takes part in a change of state.

`order_total` is called in such a transaction, so that a lock that it takes on the shop's order lasts until the commit.
Receivers marked with `@paycheckout.atomic` run in it, so that their writes are committed together with the move.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, Protocol, TypeVar

from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Connection, Table, event
from sqlalchemy.orm import Session, scoped_session

from flask_paycheckout.errors import ReceiverFailed
from flask_paycheckout.rules.receivers import Receiver
from flask_paycheckout.store.database_errors import is_lost_race
from flask_paycheckout.store.events import Subject, keywords_of
from flask_paycheckout.store.lock_limit import limit_lock_waits, limited_when_begun

__all__ = [
    "AskedShop",
    "ReceiverTimes",
    "Scope",
    "ShopTransaction",
    "ShopTransactions",
    "leave_readable",
    "refuse_commits",
]

_IN_CALLBACK = "flask_paycheckout_in_callback"
_SOCKET_EVENTS = frozenset({"socket.__new__", "socket.connect", "socket.getaddrinfo", "socket.sendto"})

_without_sockets = threading.local()

Scope = Callable[[], AbstractContextManager[scoped_session[Any]]]
Result = TypeVar("Result")


class ReceiverTimes(Protocol):
    """Records atomic receivers that are slow."""

    @property
    def elapsed(self) -> Callable[[], float]:
        """Seconds that only move forward."""

    def ran(self, receiver: str, seconds: float) -> bool:
        """Record a run in memory if it took too long; returns whether it did."""

    def write(self) -> None:
        """Store what was noted, in a transaction of its own; never raises a database error."""


class AskedShop:
    """An open transaction of the shop's session, in which the shop's functions are called."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def call(self, callback: Callable[..., Result], *arguments: Any, **keywords: Any) -> Result:
        """Call a function of the shop, which must not end the transaction.

        :raises RuntimeError: it committed the transaction, or rolled it back.
        """
        before = self._session.get_transaction()
        self._session.info[_IN_CALLBACK] = True
        try:
            result = callback(*arguments, **keywords)
        finally:
            self._session.info.pop(_IN_CALLBACK, None)
        if self._session.get_transaction() is not before:
            raise RuntimeError("it ended the transaction that it was called in; it must not commit or roll back")
        return result


class ShopTransaction(AskedShop):
    """An open transaction of the shop's session on the payment tables."""

    def __init__(self, session: Session, table: Table, sender: object, strict: bool, times: ReceiverTimes) -> None:
        super().__init__(session)
        self.was_slow = False
        """Whether an atomic receiver held it for too long."""

        self.given: list[Subject] = []
        """The objects that atomic receivers were given."""

        self._times = times
        self._sender = sender
        self._strict = strict
        self.connection: Connection = session.connection(bind_arguments={"clause": table})
        """The session's connection to the payment tables."""

        limit_lock_waits(self.connection)

    def run(self, stored: Mapping[str, Any], subject: Subject, receivers: Iterable[Receiver]) -> None:
        """Run the atomic receivers of an event that was just stored.

        :param stored: the columns of the event.
        :param subject: the checkout or payout after the change, detached from any session.
        :raises ReceiverFailed: one of them raised; the caller must roll back.
        """
        for receiver in receivers:
            began = self._times.elapsed()
            try:
                # Merged, since the session may have loaded this row before; the receiver sees it as it is now.
                attached = self._session.merge(subject, load=False)
                self.given.append(attached)
                with _refuse_sockets(self._strict):
                    self.call(receiver.function, self._sender, **keywords_of(stored, attached))
                    self._session.flush()
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if is_lost_race(error):
                    raise
                raise ReceiverFailed(receiver.name, stored["name"], _owner_of(stored), error) from error
            finally:
                self.was_slow |= self._times.ran(receiver.name, self._times.elapsed() - began)


class ShopTransactions:
    """Opens transactions of one shop's session.

    :param scope: opens an application context of its own, and yields the shop's `db.session` in it.
    :param table: one of the payment tables.
    :param sender: the Flask app, as the signals' sender.
    :param strict: returns whether a socket that an atomic receiver opens is an error.
    :param times: records atomic receivers that are slow.
    """

    def __init__(
        self, scope: Scope, table: Table, sender: object, strict: Callable[[], bool], times: ReceiverTimes
    ) -> None:
        self._times = times
        self._scope = scope
        self._table = table
        self._sender = sender
        self._strict = strict

    @contextmanager
    def begin(self) -> Iterator[ShopTransaction]:
        """Open a transaction that is committed at the end of the `with` block, or rolled back when it raises."""
        opened = None
        try:
            with self._scope() as scoped:
                session: Session = scoped()
                try:
                    opened = self.within(session)
                    yield opened
                    session.flush()
                    leave_readable(session, opened.given)
                    session.commit()
                except BaseException:
                    leave_readable(session, opened.given if opened else ())
                    session.rollback()
                    raise
        finally:
            if opened is not None and opened.was_slow:
                self._times.write()

    def within(self, session: Session) -> ShopTransaction:
        """The open transaction of a session of the shop, which the shop itself commits."""
        return ShopTransaction(session, self._table, self._sender, self._strict(), self._times)

    @contextmanager
    def ask(self) -> Iterator[AskedShop]:
        """Open a transaction that is rolled back at the end of the `with` block.

        It takes a connection when the shop makes its first query, so an answer without one costs nothing here.
        """
        with self._scope() as scoped:
            session: Session = scoped()
            with limited_when_begun(session):
                if session.in_transaction():
                    # A session of the shop's own class may have made queries already.
                    limit_lock_waits(session.connection(bind_arguments={"clause": self._table}))
                else:
                    session.begin()
                try:
                    yield AskedShop(session)
                finally:
                    session.rollback()


def leave_readable(session: Session | scoped_session[Any], given: Iterable[Subject]) -> None:
    """Detach objects that receivers were given before the transaction ends, so that who kept one can still read it."""
    for subject in given:
        if subject in session:
            session.expunge(subject)


def _owner_of(event: Mapping[str, Any]) -> str:
    """The order that an event is about, or else the payout."""
    return event["order_id"] or f"payout {event['payout_reference']}"


def refuse_commits(db: SQLAlchemy) -> None:
    """Refuse commits of this `db`'s sessions while a function of the shop runs inside our transaction."""
    event.listen(db.session, "before_commit", _refuse_commit)


def _refuse_commit(session: Session) -> None:
    if session.info.get(_IN_CALLBACK) and not session.in_nested_transaction():
        raise RuntimeError(
            "db.session.commit() was called inside a transaction of flask_paycheckout."
            " order_total and atomic receivers must not commit: their changes are committed together with the payment."
        )


@contextmanager
def _refuse_sockets(strict: bool) -> Iterator[None]:
    """Make opening a socket in this thread an error, since locks would be held while another service answers."""
    if not strict:
        yield
        return
    _watch_sockets()
    _without_sockets.on = True
    try:
        yield
    finally:
        _without_sockets.on = False


@cache
def _watch_sockets() -> None:
    # Once per process and only when needed, since an audit hook cannot be removed.
    sys.addaudithook(_audit)


def _audit(name: str, arguments: tuple[Any, ...]) -> None:
    if name in _SOCKET_EVENTS and getattr(_without_sockets, "on", False):
        raise RuntimeError(
            "an atomic receiver opened a socket. It runs inside the transaction that records the payment, so it may"
            " only write through db.session; do the rest in a receiver without @paycheckout.atomic."
        )
