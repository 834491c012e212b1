"""Transactions of the shop's `db.session` that the extension opens, so that the shop takes part in a change of state.

`order_total` is called in such a transaction, so that a lock that it takes on the shop's order lasts until the commit.
Receivers marked with `@paycheckout.atomic` run in it, so that their writes are committed together with the move; every
other receiver has one of its own. After each function of the shop the transaction must be whole: neither ended nor
broken, and with all its writes in one database. Otherwise that function has failed, like one that raised.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.event import listens_for
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from flask_paycheckout.database.connections import LockWaits, begin_limited
from flask_paycheckout.database.database_errors import is_lost_race
from flask_paycheckout.database.open_transactions import BrokenTransaction, begun_in, guard, guarded, in_callback
from flask_paycheckout.errors import ReceiverFailed
from flask_paycheckout.events.events import HeldEvent, Subject, keywords_of
from flask_paycheckout.events.receivers import Receiver
from flask_paycheckout.parts import Parts

_SOCKET_EVENTS = frozenset({"socket.__new__", "socket.connect", "socket.getaddrinfo", "socket.sendto"})

_WRITES = ("INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE")
_SECOND_ENGINE = (
    "it wrote through a second engine, whose commit is another one than that of the payment tables; see 'Tables in a"
    " second database' in docs/receivers.md"
)

_confined: ContextVar[tuple[bool, Engine | None]] = ContextVar("flask_paycheckout_confined", default=(False, None))
"""Of an atomic receiver whether it may open no socket, and the only engine through which it may write."""


class ShopTransaction:
    """An open transaction of the shop's session, in which functions of the shop are called."""

    def __init__(self, parts: Parts, session: Session) -> None:
        self.session = session
        self.last_run: tuple[str, str, str] | None = None
        """The atomic receiver that ran last, with its signal, and whose order or payout it was."""

        self._given: list[Subject] = []
        self._root = session.get_transaction() or session.begin()
        self._parts = parts

    @property
    def connection(self) -> Connection:
        """The session's connection to the payment tables."""
        return self.session.connection(bind_arguments={"clause": self._parts.models.checkouts})

    def call(self, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Call a function of the shop, which must leave the transaction open and whole.

        :raises RuntimeError: it ended the transaction, or left it broken.
        """
        with in_callback(self.session):
            result = self._parts.call_shop(function, *arguments, **keywords)
        self._require_whole()
        return result

    def receive(self, receiver: Callable[..., Any], event: HeldEvent, subject: Subject) -> None:
        """Call a receiver, and flush its writes.

        :param subject: the event's checkout or payout, attached to the session.
        :raises RuntimeError: it left the transaction ended or broken, or wrote in a second database.
        """
        self._given.append(subject)
        self.call(receiver, self._parts.app, **keywords_of(event, subject))
        self.session.flush()
        self._require_whole()
        if not self._parts.settings.separate_database:
            engine = self.connection.engine
            if any(one.wrote() for one in begun_in(self.session) if one.connection.engine is not engine):
                raise RuntimeError(_SECOND_ENGINE)

    def run(self, receiver: Receiver, event: HeldEvent, mark: Callable[[], bool]) -> None:
        """Run an atomic receiver of an event that was just stored in this transaction.

        :param mark: records in the transaction that it has run; returns False when the event is not there, so that the
            transaction is another one.
        :raises ReceiverFailed: it raised, or did not leave the transaction whole; the caller must roll back.
        """
        owner = event.order_id or f"payout {event.payout_reference}"
        ran = self.last_run = receiver.name, event.name, owner
        if self._parts.strict:
            _watch_sockets()
        engine = None if self._parts.settings.separate_database else self.connection.engine
        confined = _confined.set((self._parts.strict, engine))
        try:
            # Merged, since the session may have loaded this row before; the receiver sees it as it is now.
            attached = self.session.merge(event.subject, load=False)
            self.receive(receiver.function, event, attached)
            if not mark():
                raise BrokenTransaction("it ended the transaction that it was called in")
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if is_lost_race(error):
                raise
            raise ReceiverFailed(*ran, error) from error
        finally:
            _confined.reset(confined)

    def commit(self) -> None:
        """Commit; the objects that receivers were given can still be read afterwards."""
        self.session.flush()
        for subject in self._given:
            if subject in self.session:
                self.session.expunge(subject)
        self.session.commit()

    def _require_whole(self) -> None:
        faults = [one.fault for one in begun_in(self.session)]
        if self.session.get_transaction() is not self._root:
            faults = ["it ended the transaction that it was called in"]
        for fault in filter(None, faults):
            raise BrokenTransaction(fault)


@dataclass(frozen=True)
class ShopTransactions:
    """Opens transactions of one shop's session."""

    parts: Parts
    waits: LockWaits

    @contextmanager
    def open(self) -> Iterator[ShopTransaction]:
        """Open a transaction that is rolled back at the end of the `with` block, unless it was committed.

        It takes a connection when the shop makes its first query, so a function without one costs nothing here.
        """
        with self.parts.sessions.own() as session:
            # A session of the shop's own class may have made queries already.
            session.rollback()
            try:
                with self.waits.limited() as patience, guarded(session, patience):
                    yield ShopTransaction(self.parts, session)
            finally:
                # Rolls back, and leaves objects readable that receivers were given.
                session.close()

    @contextmanager
    def begin(self) -> Iterator[ShopTransaction]:
        """Open a transaction that is committed at the end of the `with` block, or rolled back when it raises."""
        with self.open() as opened:
            yield opened
            try:
                opened.commit()
            except (BrokenTransaction, IntegrityError) as error:
                # Our own constraints are not deferred.
                if opened.last_run is None:
                    raise
                raise ReceiverFailed(*opened.last_run, error) from error

    @contextmanager
    def begin_for(self, *, shop: bool) -> Iterator[tuple[Connection, ShopTransaction | None]]:
        """Open a transaction for a change of ours, committed at the end of the `with` block.

        :param shop: whether functions of the shop run in it; without them it needs no session of the shop.
        """
        if shop:
            with self.begin() as transaction:
                yield transaction.connection, transaction
        else:
            with begin_limited(self.parts.engine()) as connection:
                yield connection, None

    def within(self, session: Session) -> ShopTransaction:
        """The open transaction of a session of the shop, which the shop itself commits."""
        opened = ShopTransaction(self.parts, session)
        with self.waits.limited() as patience:
            guard(session, opened.connection, patience)
        return opened


@listens_for(Engine, "before_cursor_execute")
def _on_statement(connection: Connection, cursor: object, statement: str, *rest: object) -> None:
    _, only = _confined.get()
    # An engine with other options has the same pool.
    if only and connection.engine.pool is not only.pool and statement.lstrip().upper().startswith(_WRITES):
        raise RuntimeError(_SECOND_ENGINE)


@cache
def _watch_sockets() -> None:
    # Once per process and only when needed, since an audit hook cannot be removed.
    sys.addaudithook(_audit)


def _audit(name: str, arguments: tuple[Any, ...]) -> None:
    if name in _SOCKET_EVENTS and _confined.get()[0]:
        raise RuntimeError(
            "an atomic receiver opened a socket. It runs inside the transaction that records the payment, so it may"
            " only write through db.session; do the rest in a receiver without @paycheckout.atomic."
        )
