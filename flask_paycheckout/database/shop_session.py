"""The shop's sessions: the extension knows the changes in their open transactions, and never commits them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, MetaData, StaticPool, Table, update
from sqlalchemy.orm import MappedAsDataclass, Session, SessionTransactionOrigin, registry, scoped_session
from sqlalchemy.util import ScopedRegistry

from flask_paycheckout.database.connections import GUARD, WROTE, Begun, begun_in, schema_of, watch_sessions
from flask_paycheckout.errors import ConfigurationError, UncommittedChanges

if TYPE_CHECKING:
    from flask_sqlalchemy import SQLAlchemy


Context = Callable[[], AbstractContextManager[object]]

_OF_CONNECTION = (
    "db.session is bound to a connection of its own, so that nothing of a payment is committed, or all of it together"
    " with what else is done there. Bind it to the engine; give each test a database of its own, such as one in memory."
)
_TENANTS = (
    "db.session leads to another {kind} in this context than before ({place}, not {first}), as in a shop with one for"
    " each tenant. Payments of one would be taken for payments of the other: make an app for each tenant, or keep all"
    " orders together and give each tenant a merchant account."
)


@dataclass(eq=False)
class ShopDatabase(ABC):
    """The database in which one app of a shop works."""

    metadatas: Mapping[str | None, MetaData]
    """The metadata of each bind key; None is the default bind."""

    context: Context
    """Opens an application context of the shop."""

    def base(self, bind_key: str | None) -> Any:
        """A declarative base of classes that are mapped in the shop's metadata of this bind."""
        return registry(metadata=self.metadatas[bind_key]).generate_base()

    @abstractmethod
    def session(self) -> Session:
        """The session of the running application context.

        :raises ConfigurationError: the shop does not provide a session for each context.
        """

    def current(self) -> Session | None:
        """The session of the running application context; None if the context has none yet."""
        return self.session()

    def engine(self, bound: Engine) -> Engine:
        """The engine for connections of our own.

        :param bound: the engine that sessions of the shop use for the payment tables.
        """
        return bound

    @abstractmethod
    def own(self) -> AbstractContextManager[Session]:
        """Open an application context with a new session of the shop, which is closed at the end."""


@dataclass(eq=False)
class OfFlaskSQLAlchemy(ShopDatabase):
    """The database of a `flask_sqlalchemy.SQLAlchemy`, whose `session` the shop may replace at any time.

    If its sessions do not belong to application contexts, for example with the shop's own `scopefunc`, the caller's
    session is set aside, without commit, rollback or close, while a session of our own is open.
    """

    db: SQLAlchemy
    _checked: object = None

    def base(self, bind_key: str | None) -> Any:
        # A base class that makes dataclasses does not accept a mixin that is no dataclass.
        return super().base(bind_key) if issubclass(self.db.Model, MappedAsDataclass) else self.db.Model

    def session(self) -> Session:
        session: Session = self._registry()()
        return session

    def current(self) -> Session | None:
        return _opened(self._registry())

    @contextmanager
    def own(self) -> Iterator[Session]:
        registry, host = self._registry(), None
        before = _opened(registry)
        try:
            with self.context():
                present = _opened(registry)
                if present is not None:
                    # Any other session than the caller's is left over from an earlier context.
                    registry.clear()
                    host = present if present is before else None
                yield registry()
        finally:
            if host is not None:
                # Flask-SQLAlchemy removes our session at the end of the context, unless the shop has replaced this too.
                self.db.session.remove()
                registry.set(host)

    def _registry(self) -> ScopedRegistry[Session]:
        sessions: Any = self.db.session
        if sessions is not self._checked:
            _require_new_sessions(sessions)
            self._checked = sessions
        registry: ScopedRegistry[Session] = sessions.registry
        return registry


def _opened(registry: ScopedRegistry[Session]) -> Session | None:
    """The session that the shop has opened in the running application context, if any."""
    try:
        return registry() if registry.has() else None
    except RuntimeError:
        # Sessions belong to application contexts, and none is open.
        return None


def _require_new_sessions(sessions: Any) -> None:
    if isinstance(sessions, scoped_session):
        one, other = sessions.session_factory(), sessions.session_factory()
        if one is not other:
            one.close()
            other.close()
            return
    raise ConfigurationError(
        "db.session was replaced by an object that always returns the same session, so receivers would commit the"
        " shop's own changes in it. Put scoped_session(sessionmaker(...)) there, which makes new sessions."
    )


@dataclass(eq=False)
class ShopSessions:
    """The database sessions of one shop: the current application context's, with its uncommitted changes, and our own.

    :param table: a payment table, by which a session chooses the engine.
    """

    database: ShopDatabase
    table: Table
    _places: dict[str, str] = field(default_factory=dict, init=False)
    _bind: Engine | None = field(default=None, init=False)
    _watched: type[Session] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        # An UPDATE, because the shop's session may send queries to a replica.
        self._writing = update(self.table)

    def of_context(self) -> Session:
        """The session of the running application context."""
        return self._seen(self.database.session())

    @contextmanager
    def own(self) -> Iterator[Session]:
        """Open an application context with a new session of the shop."""
        with self.database.own() as session:
            yield self._seen(session)

    def engine(self) -> Engine:
        """The engine of the payment tables."""
        with self.own() as session:
            return self.database.engine(self.engine_of(session))

    def engine_if_known(self) -> Engine | None:
        """The engine of the payment tables; None if the shop sets up its database later."""
        with suppress(Exception):
            return self.engine()
        return None

    def engine_of(self, session: Session) -> Engine:
        """The engine on which a session has the payment tables.

        :raises ConfigurationError: the session is bound to a connection, or to another database than earlier sessions.
        """
        bind = session.get_bind(clause=self._writing)
        if not isinstance(bind, Engine):
            raise ConfigurationError(_OF_CONNECTION)
        if bind is not self._bind:
            self.require_same("database", repr(bind.url))
            self.require_same("schema of its engine", str(schema_of(self.table, bind)))
            self._bind = bind
        return bind

    def require_same(self, kind: str, place: str) -> None:
        """Check that all sessions of the shop use the same place, which is a database or a schema of PostgreSQL.

        :raises ConfigurationError: an earlier session used another place.
        """
        first = self._places.setdefault(kind, place)
        if first != place:
            raise ConfigurationError(_TENANTS.format(kind=kind, first=first, place=place))

    def connection_of(self, session: Session) -> Connection:
        """The session's connection to the payment tables."""
        return session.connection(bind_arguments={"clause": self._writing})

    def open_connection(self) -> Connection | None:
        """The connection of the open transaction of the shop's session; None without a transaction.

        A read on it sees the transaction's own writes, and does not wait for its locks. Nothing is flushed.
        """
        session = self._present()
        return None if session is None or not session.in_transaction() else self.connection_of(session)

    def uncommitted(self) -> str:
        """The uncommitted changes of the shop's session, in words; empty without changes.

        :returns: the names of the classes with unflushed changes, never their values; otherwise "rows written".
        """
        session = self._present()
        if session is None:
            return ""
        transaction = session.get_transaction()
        wrote = transaction is not None and transaction is session.info.get(WROTE)
        # No session event reports writes through the session's plain connection, but SQLite counts changed rows.
        wrote = wrote or any(begun.has_changed for begun in begun_in(session))
        return _pending(session) or ("rows written" if wrote else "")

    def let_clean_go(self, call: str | None = None) -> None:
        """Roll the shop's session back if it has only read, so that its connection is released.

        A transaction that the shop began with `with session.begin()` stays open, because its block could not continue
        otherwise; so does a transaction of ours in which a function of the shop is called.

        :param call: the call that needs the session's uncommitted changes, or would wait for them; None if there is
            none.
        :raises UncommittedChanges: the session has changes, and a call is given; names the classes with unflushed
            changes, never their values.
        """
        session = self._present()
        begun = [] if session is None else begun_in(session)
        if session is None or any(each.fault for each in begun):
            return
        changed, transaction = self.uncommitted(), session.get_transaction()
        if changed and call:
            raise UncommittedChanges(call, changed)
        # Row locks stay, and so do writes past the session.
        has_work = bool(changed) or session.in_nested_transaction() or GUARD in session.info
        for each in begun:
            has_work |= each.wrote()
            if each.schema is not None and each.connection.engine.pool is self.engine_of(session).pool:
                self.require_same("schema", each.schema)
        ours_to_end = begun and transaction is not None and transaction.origin is SessionTransactionOrigin.AUTOBEGIN
        if ours_to_end and not has_work:
            session.rollback()

    def refuse_uncommitted(self, call: str) -> None:
        """Release a clean session before a write of ours; raise if its changes would block it or be committed by it.

        SQLite has one writer, and an in-memory database a single connection.

        :raises UncommittedChanges: names the classes with unflushed changes, never their values.
        :raises ConfigurationError: the shop does not provide new sessions.
        """
        self._let_clean_go_before(call, lambda begun: begun.changes is not None)

    def allow_reading(self, call: str) -> None:
        """Release a clean session before a read of ours; raise if its changes would block the read.

        SQLite allows reads during a write, unless the shop itself begins every transaction, perhaps with the
        write lock. An in-memory database has one connection, whose transaction our read would end.

        :raises UncommittedChanges: the session has uncommitted writes.
        """
        self._let_clean_go_before(
            call,
            lambda begun: (
                isinstance(begun.connection.engine.pool, StaticPool)
                or (begun.changes is not None and begun.driver.isolation_level is None)
            ),
        )

    def _let_clean_go_before(self, call: str, blocks: Callable[[Begun], bool]) -> None:
        session = self._present()
        if session is not None:
            open_ones = [begun for begun in begun_in(session) if begun.is_open]
            self.let_clean_go(call if any(map(blocks, open_ones)) else None)

    def _present(self) -> Session | None:
        """The session of the running application context; None if it has none yet, or its flush failed.

        A session whose flush failed holds no lock, and raises an error when it is used.
        """
        session = self.database.current()
        return None if session is None or not session.is_active else self._seen(session)

    def _seen(self, session: Session) -> Session:
        """Watch the sessions of this session's class from now on."""
        if type(session) is not self._watched:
            self._watched = type(session)
            watch_sessions(self._watched)
        return session


def _pending(session: Session) -> str:
    """The names of the classes with unflushed changes."""
    changed = [*session.new, *session.deleted, *(each for each in session.dirty if session.is_modified(each))]
    return ", ".join(sorted({type(each).__name__ for each in changed}))
