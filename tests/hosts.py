"""Opens a shop's database with each SQLAlchemy that `init_app` takes, so that a test need not know which one it has.

`--host` chooses one for all tests. Without it, tests in `ROTATING` use one by their names, on PostgreSQL the next, and
all others the first. `--turn-hosts 1` or `2` moves each of `ROTATING` one or two further.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from flask import Flask
from flask.globals import app_ctx
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import Engine, MetaData, StaticPool, create_engine, make_url
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from flask_paycheckout import Host

FLASK_SQLALCHEMY, LITE, PLAIN = HOSTS = ("Flask-SQLAlchemy", "Flask-SQLAlchemy-Lite", "SQLAlchemy")
ROTATING = {"crash", "events", "journeys", "races", "states"}


def host_of(nodeid: str, options: Any) -> str:
    """The host of a test's shops; `options` come from the command line."""
    if options.host or not ROTATING.intersection(nodeid.split("/")):
        return options.host or FLASK_SQLALCHEMY
    one_name = nodeid.replace("postgresql", "sqlite")
    return HOSTS[(crc32(one_name.encode()) + (nodeid != one_name) + options.turn_hosts) % len(HOSTS)]


@dataclass(frozen=True)
class OtherDatabase:
    """The part of a `flask_sqlalchemy.SQLAlchemy` that the tests use, in a shop that has none.

    :ivar arguments: for `init_app`.
    """

    metadata: MetaData
    get_engine: Callable[[], Engine]
    get_session: Callable[[], Session]
    arguments: dict[str, Any]

    @property
    def engine(self) -> Engine:
        return self.get_engine()

    @property
    def engines(self) -> dict[None, Engine]:
        return {None: self.engine}

    @property
    def session(self) -> Session:
        """The session of the running application context."""
        return self.get_session()

    def create_all(self) -> None:
        self.metadata.create_all(self.engine)

    def drop_all(self) -> None:
        self.metadata.drop_all(self.engine)


def database_on(host: str, app: Flask) -> Any:
    """The database of an app's settings: a `flask_sqlalchemy.SQLAlchemy`, or an `OtherDatabase`."""
    if host == FLASK_SQLALCHEMY:
        return SQLAlchemy(app)
    metadata = MetaData()
    address, options = app.config["SQLALCHEMY_DATABASE_URI"], app.config.get("SQLALCHEMY_ENGINE_OPTIONS", {})
    if host == LITE:
        # Imported only for shops that use it, because it loads asyncio and unittest.
        from flask_sqlalchemy_lite import SQLAlchemy as LiteSQLAlchemy

        app.config["SQLALCHEMY_ENGINES"] = {"default": {"url": address} | options}
        lite = LiteSQLAlchemy(app)
        return OtherDatabase(metadata, lambda: lite.engine, lambda: lite.session, {"db": lite, "metadata": metadata})
    if make_url(address).database is None:
        options = options | {"poolclass": StaticPool, "connect_args": {"check_same_thread": False}}
    engine = create_engine(address, **options)
    sessions = scoped_session(sessionmaker(engine), scopefunc=_context)
    app.teardown_appcontext(lambda error: sessions.remove())
    return OtherDatabase(metadata, lambda: engine, sessions, {"db": Host(metadata, engine, sessions)})


def arguments_of(db: Any) -> dict[str, Any]:
    """The arguments of `init_app` for a shop with this database."""
    return db.arguments if isinstance(db, OtherDatabase) else {"db": db}


def _context() -> int:
    return id(app_ctx._get_current_object())  # type: ignore[attr-defined]
