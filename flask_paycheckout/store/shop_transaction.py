"""A transaction of the shop's `db.session`, opened by us: the shop's callbacks take part in our change of state.

`order_total` is asked in it, so that a lock which it takes on the shop's order is held until our commit, and receivers
marked with `@paycheckout.atomic` run in it, so that what they write is committed with the move or not at all.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, TypeVar

from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Connection, Table, event
from sqlalchemy.orm import Session, scoped_session

from flask_paycheckout.errors import ReceiverFailed
from flask_paycheckout.rules.receivers import Receiver
from flask_paycheckout.store.database_errors import is_lost_race
from flask_paycheckout.store.events import further_keywords
from flask_paycheckout.store.models import CheckoutMixin

__all__ = ["Scope", "ShopTransaction", "ShopTransactions", "refuse_commits"]

# How long we wait on PostgreSQL for a row that another transaction of the shop has locked, where the shop sets no limit
# of its own. Without one, a request that locks its order and then calls us would wait for itself for ever.
_LOCK_TIMEOUT = "SELECT set_config('lock_timeout', '10s', true) WHERE current_setting('lock_timeout') = '0'"
_IN_CALLBACK = "flask_paycheckout_in_callback"
_SOCKET_EVENTS = frozenset({"socket.__new__", "socket.connect", "socket.getaddrinfo", "socket.sendto"})

_without_sockets = threading.local()

Scope = Callable[[], AbstractContextManager[scoped_session[Any]]]
Result = TypeVar("Result")


class ShopTransaction:
    """One open transaction.

    :ivar connection: the session's connection to the payment tables.
    """

    def __init__(self, session: Session, table: Table, sender: object, strict: bool) -> None:
        self._session = session
        self._sender = sender
        self._strict = strict
        self.connection: Connection = session.connection(bind_arguments={"clause": table})
        if self.connection.dialect.name == "postgresql":
            self.connection.exec_driver_sql(_LOCK_TIMEOUT).close()

    def call(self, callback: Callable[..., Result], *arguments: Any, **keywords: Any) -> Result:
        """Call a function of the shop, which must leave the transaction open.

        :raises RuntimeError: it committed the transaction, or rolled it back.
        """
        before = self._session.get_transaction()
        self._session.info[_IN_CALLBACK] = True
        try:
            result = callback(*arguments, **keywords)
        finally:
            self._session.info.pop(_IN_CALLBACK, None)
        if self._session.get_transaction() is not before:
            raise RuntimeError("it ended the transaction that it was called in; leave commit and rollback to us")
        return result

    def run(self, stored: Mapping[str, Any], checkout: CheckoutMixin, receivers: Iterable[Receiver]) -> None:
        """Run the atomic receivers of an event that was just stored.

        :param stored: the columns of the event.
        :param checkout: as the change left it; belongs to no session.
        :raises ReceiverFailed: one of them raised. The caller rolls back.
        """
        keywords = further_keywords(stored["reason"], stored["extra"])
        for receiver in receivers:
            try:
                # The shop may have loaded this row already; either way the receiver sees it as it is now.
                attached = self._session.merge(checkout, load=False)
                with _refuse_sockets(self._strict):
                    self.call(
                        receiver.function,
                        self._sender,
                        order_id=stored["order_id"],
                        checkout=attached,
                        event_id=stored["event_id"],
                        **keywords,
                    )
                    self._session.flush()
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                if is_lost_race(error):
                    raise
                raise ReceiverFailed(receiver.name, stored["name"], stored["order_id"], error) from error


class ShopTransactions:
    """Opens transactions of one shop's session.

    :param scope: opens an application context of its own and gives the shop's `db.session` in it.
    :param table: one of the payment tables.
    :param sender: the Flask app, as the signals' sender.
    :param strict: sockets that an atomic receiver opens are errors.
    """

    def __init__(self, scope: Scope, table: Table, sender: object, strict: Callable[[], bool]) -> None:
        self._scope = scope
        self._table = table
        self._sender = sender
        self._strict = strict

    @contextmanager
    def begin(self) -> Iterator[ShopTransaction]:
        """A transaction that is committed at the end of the `with`, and rolled back when that raises."""
        with self._scope() as scoped:
            session: Session = scoped()
            try:
                yield ShopTransaction(session, self._table, self._sender, self._strict())
                session.commit()
            except BaseException:
                session.rollback()
                raise

    @contextmanager
    def ask(self) -> Iterator[ShopTransaction]:
        """A transaction that is rolled back at the end of the `with`."""
        with self._scope() as scoped:
            session: Session = scoped()
            try:
                yield ShopTransaction(session, self._table, self._sender, strict=False)
            finally:
                session.rollback()


def refuse_commits(db: SQLAlchemy) -> None:
    """Refuse commits of this `db`'s sessions while a callback of the shop runs inside a transaction of ours."""
    event.listen(db.session, "before_commit", _refuse_commit)


def _refuse_commit(session: Session) -> None:
    if session.info.get(_IN_CALLBACK) and not session.in_nested_transaction():
        raise RuntimeError(
            "db.session.commit() was called inside a transaction of flask_paycheckout."
            " An order_total and an atomic receiver must not commit: what they write is committed with the payment."
        )


@contextmanager
def _refuse_sockets(strict: bool) -> Iterator[None]:
    """Make each socket that this thread opens an error: our locks would be held while another service answers."""
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
    # An audit hook cannot be taken back, so there is one, installed when it is first needed.
    sys.addaudithook(_audit)


def _audit(name: str, arguments: tuple[Any, ...]) -> None:
    if name in _SOCKET_EVENTS and getattr(_without_sockets, "on", False):
        raise RuntimeError(
            "an atomic receiver opened a socket. It runs inside the transaction that records the payment, so it may"
            " only write through db.session; do the rest in a receiver without @paycheckout.atomic."
        )
