"""The environments that the extension does not support: one list, used by `init_app`, the first use and doctor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from flask import Flask
from jinja2 import defaults
from sqlalchemy import Connection, Engine
from sqlalchemy.orm import class_mapper

from flask_paycheckout.config import Settings
from flask_paycheckout.database.models import Models, table_of
from flask_paycheckout.errors import ConfigurationError

_DATABASES = "Take SQLite 3.35 or newer, or PostgreSQL 13 or newer."
_OLDEST = {"sqlite": (3, 35), "postgresql": (13,)}
_DELIMITERS = tuple(
    f"{part}_{end}_string" for part in ("block", "variable", "comment") for end in ("start", "end")
)  # fmt: skip
_PACKAGE = "flask_paycheckout."
_A_PAGE = "paycheckout/order.html"


class Unsupported(NamedTuple):
    """A reason why the extension cannot work in this shop, and its remedy."""

    found: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.found}. {self.remedy}"


def refuse_unsupported(
    app: Flask, models: Models, settings: Settings, engine: Engine | None, connection: Connection | None = None
) -> None:
    """Raise for the first reason why the extension cannot work here; arguments as for `unsupported`.

    :raises ConfigurationError: there is a reason; the message has the reason and the remedy.
    """
    for reason in unsupported(app, models, settings, engine, connection):
        raise ConfigurationError(str(reason))


def unsupported(
    app: Flask, models: Models, settings: Settings, engine: Engine | None, connection: Connection | None = None
) -> Iterator[Unsupported]:
    """Each known reason why the extension cannot work here.

    :param engine: the engine of the payment tables; None if the shop has none yet.
    :param connection: a connection to their database; None if it cannot be queried yet.
    """
    if app.url_map.host_matching:
        yield Unsupported(
            "the app is made with host_matching, so that no host leads to its pages of payments",
            "Make it without. It answers on every host then, and subdomain_matching may stay.",
        )
    if any(getattr(app.jinja_env, name) != getattr(defaults, name.upper()) for name in _DELIMITERS):
        yield Unsupported(
            "the delimiters of app.jinja_env are not Jinja's usual ones, so that pages of payments would show code",
            "Leave them, and give templates that need others an environment of their own: app.jinja_env.overlay(...).",
        )
    escapes = app.jinja_env.autoescape
    if not (escapes(_A_PAGE) if callable(escapes) else escapes):
        yield Unsupported(
            "app.jinja_env escapes nothing in templates whose names end in .html, so that what customers type would be"
            " code in pages of payments",
            "Leave its autoescape, and give templates that need none an environment of their own:"
            " app.jinja_env.overlay(autoescape=False).",
        )
    yield from _required_columns(models)
    yield from _two_databases(models, app.config, settings.separate_database)
    if engine is not None:
        yield from _database(engine, connection)


def _database(engine: Engine, connection: Connection | None) -> Iterator[Unsupported]:
    name, version = engine.dialect.name, _version(engine)
    if name not in _OLDEST:
        yield Unsupported(f"the database is {name}, on which no payment can be recorded", _DATABASES)
    elif version is not None and version < _OLDEST[name]:
        version_text = ".".join(map(str, version))
        yield Unsupported(f"the database is {name} {version_text}, which is too old to record payments", _DATABASES)
    elif engine.dialect.is_async:
        yield Unsupported(
            f"the driver {engine.dialect.driver} of {name} works inside async functions only",
            "Take psycopg (postgresql+psycopg://) or SQLite's own driver (sqlite://).",
        )
    elif connection is not None and _commits_each_statement(connection):
        yield Unsupported(
            "the database engine commits every statement by itself (AUTOCOMMIT), so a payment could be half written",
            "Remove that option, from SQLALCHEMY_ENGINE_OPTIONS with Flask-SQLAlchemy.",
        )


def _commits_each_statement(connection: Connection) -> bool:
    """Whether every statement of a connection commits itself, according to its driver."""
    driver: Any = connection.connection.dbapi_connection
    if not hasattr(driver, "in_transaction"):
        return bool(getattr(driver, "autocommit", False))
    # SQLite's driver begins a transaction with the first write, unless the shop executes its own BEGIN.
    connection.exec_driver_sql("SELECT 1").close()
    begins = driver.isolation_level is not None and getattr(driver, "autocommit", False) is not True
    return not (begins or driver.in_transaction)


def _version(engine: Engine) -> tuple[int, ...] | None:
    """The version of SQLite's library, or of the server; None before the first connection to the server."""
    library: tuple[int, ...] | None = getattr(engine.dialect.dbapi, "sqlite_version_info", None)
    return library or getattr(engine.dialect, "server_version_info", None)


def _required_columns(models: Models) -> Iterator[Unsupported]:
    """Columns of the shop's own, such as its base class's, with which our rows would lack a value or their number."""
    for model in models.classes:
        for column in table_of(model).c:
            attribute = class_mapper(model).get_property_by_column(column).key
            # The mapped class has every attribute; its mixin has only the attributes that we fill in.
            is_ours = any(attribute in vars(base) for base in model.__mro__[1:] if base.__module__.startswith(_PACKAGE))
            has_value = column.nullable or column.default is not None or column.server_default is not None
            if not is_ours and column.primary_key:
                yield Unsupported(
                    f"the column {column} of the shop's own is in the primary key, so that the database would give the"
                    " rows no numbers, and no payment could be stored",
                    "Map the class on a base without it, or make it no primary key there.",
                )
            elif not is_ours and not has_value:
                yield Unsupported(
                    f"the column {column} of the shop's own must have a value and has no default, so that no payment"
                    " could be stored",
                    "Give it a default or let it be empty; server_default=FetchedValue() says that the database gives"
                    " one. Or map the class on a base without it.",
                )


def _two_databases(models: Models, config: Mapping[str, Any], separate: bool) -> Iterator[Unsupported]:
    """Payment tables in another database than the shop's tables: no transaction covers both."""
    key = models.bind_key
    for model in models.classes:
        if (another := getattr(model, "__bind_key__", None)) != key:
            yield Unsupported(
                f"{models.checkouts.name} has the __bind_key__ {key!r} and {table_of(model).name} {another!r}: no"
                " transaction could store a payment together with its event",
                "Give the classes the same one.",
            )
    binds = set(config.get("SQLALCHEMY_BINDS") or ())
    has_default = config.get("SQLALCHEMY_DATABASE_URI") is not None or None in binds
    if key is not None and not separate and (has_default or binds - {key}):
        yield Unsupported(
            f"the payment tables have the __bind_key__ {key!r}, so they are in another database than the shop's"
            " orders: a receiver's writes and the mark that it has run would be two commits, and its effects could"
            " happen twice",
            "Take the __bind_key__ away, or set PAYCHECKOUT_SEPARATE_DATABASE = True if your receivers can be run again"
            " with the same event_id.",
        )
