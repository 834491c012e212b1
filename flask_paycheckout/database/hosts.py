"""The database that a shop passes to `init_app`: Flask-SQLAlchemy's, Flask-SQLAlchemy-Lite's or plain SQLAlchemy's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, MetaData
from sqlalchemy.orm import Session

from flask_paycheckout.database.shop_session import Context, OfFlaskSQLAlchemy, ShopDatabase
from flask_paycheckout.errors import ConfigurationError

if TYPE_CHECKING:
    from flask_sqlalchemy import SQLAlchemy
    from flask_sqlalchemy_lite import SQLAlchemy as LiteSQLAlchemy


@dataclass(frozen=True)
class Host:
    """The database of a shop on plain SQLAlchemy, for `init_app(app, Host(Model.metadata, engine, session))`."""

    metadata: MetaData
    """The shop's `MetaData`; the payment tables are added to it."""

    engine: Engine | Callable[[], Engine]
    """The shop's engine, or a function that returns the engine of the current app."""

    session: Callable[[], Session]
    """A function that returns the session of the running application context; each context has its own session.

    A `scoped_session` whose `scopefunc` returns the id of the context is such a function.
    """


@dataclass(eq=False)
class _PlainSQLAlchemy(ShopDatabase):
    """The database of a `Host`, or of Flask-SQLAlchemy-Lite, which has a session for each context."""

    given_session: Callable[[], Session]
    given_engine: Engine | Callable[[], Engine] | None = None
    """None: the engine to which the session is bound."""

    _checked: bool = False

    def session(self) -> Session:
        if not self._checked:
            self._require_session_of_context()
            self._checked = True
        return self.given_session()

    @contextmanager
    def own(self) -> Iterator[Session]:
        with self.context():
            session = self.session()
            # The session may be left over from an earlier context with the same id.
            session.close()
            try:
                yield session
            finally:
                session.close()

    def engine(self, bound: Engine) -> Engine:
        configured = self.given_engine
        engine = configured() if callable(configured) else configured
        if engine is not None and engine.url != bound.url:
            raise ConfigurationError(
                f"the session of Host(metadata, engine, session) works on {bound.url!r}, and the engine on"
                f" {engine.url!r}: no transaction could cover an order and its payment. Give it the session's engine."
            )
        return engine or bound

    def _require_session_of_context(self) -> None:
        fault = None
        with self.context():
            session: Any = self.given_session()
            if not isinstance(session, Session):
                fault = f"gives a {type(session).__name__} instead of a sqlalchemy.orm.Session"
            elif self.given_session() is not session:
                session.close()
                fault = "gives another session with each call, so receivers would write in one that nobody commits"
            else:
                with self.context():
                    other = self.given_session()
                    if other is session:
                        fault = (
                            "gives the same session in two nested application contexts, so receivers would commit the"
                            " shop's own changes in it"
                        )
                    else:
                        other.close()
                        session.close()
        if fault:
            raise ConfigurationError(
                f"the session of Host(metadata, engine, session) {fault}. Give a function that returns the session of"
                " the running application context, such as one that keeps it in flask.g, or a scoped_session whose"
                " scopefunc returns the id of the context; docs/hosts.md shows one."
            )


def database_of(
    db: SQLAlchemy | LiteSQLAlchemy | Host | None, metadata: MetaData | None, context: Context = nullcontext
) -> ShopDatabase:
    """The database that a shop passed to `init_app`.

    :param metadata: the shop's metadata, for Flask-SQLAlchemy-Lite, which has none itself.
    :param context: opens an application context of the shop, which its sessions need.
    :raises ConfigurationError: `db` is something else, or `metadata` is missing or not needed.
    """
    # Not every shop has its types checked.
    untyped: Any = db
    if _is_sqlalchemy(db, "flask_sqlalchemy_lite"):
        if not isinstance(metadata, MetaData):
            raise ConfigurationError(
                "flask_sqlalchemy_lite knows no metadata, so the payment tables have no place."
                " Write: init_app(app, db, metadata=Model.metadata), where Model is the base class of your models."
            )
        return _PlainSQLAlchemy({None: metadata}, context, lambda: untyped.session)
    if metadata is not None:
        raise ConfigurationError("metadata is only for a flask_sqlalchemy_lite.SQLAlchemy. Leave it out.")
    if _is_sqlalchemy(db, "flask_sqlalchemy"):
        return OfFlaskSQLAlchemy(untyped.metadatas, context, untyped)
    if not isinstance(db, Host):
        raise ConfigurationError(
            f"db must be the shop's flask_sqlalchemy.SQLAlchemy or flask_sqlalchemy_lite.SQLAlchemy object, or a Host,"
            f" not {type(db).__name__}. Write: db = SQLAlchemy(app); init_app(app, db). With Flask-SQLAlchemy-Lite"
            " write init_app(app, db, metadata=Model.metadata), and with plain SQLAlchemy"
            " init_app(app, Host(Model.metadata, engine, session))."
        )
    has_engine = isinstance(untyped.engine, Engine) or callable(untyped.engine)
    if isinstance(untyped.metadata, MetaData) and has_engine and callable(untyped.session):
        return _PlainSQLAlchemy({None: db.metadata}, context, db.session, db.engine)
    raise ConfigurationError(
        "Host(metadata, engine, session) takes a sqlalchemy.MetaData, a sqlalchemy.Engine or a function that returns"
        f" one, and a function that returns the running context's session, not {type(db.metadata).__name__},"
        f" {type(db.engine).__name__} and {type(db.session).__name__}. Write: Host(Model.metadata, engine, session)"
    )


def _is_sqlalchemy(db: object, module: str) -> bool:
    """Whether this is the `SQLAlchemy` object of a library, which this check does not import."""
    loaded = sys.modules.get(module)
    return loaded is not None and isinstance(db, loaded.SQLAlchemy)
