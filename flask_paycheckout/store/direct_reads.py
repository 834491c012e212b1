"""SELECTs that are run by the database's driver itself, with SQLAlchemy's pool, SQL and types around it.

Most of what a busy shop's tables are asked is one small row for a page that polls or a webhook that is repeated, and
most of the time of such a read goes into what SQLAlchemy could do for it and here does not. Wherever somebody listens
to it, and whenever anything goes wrong, SQLAlchemy runs the statement as usual.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any, cast

from sqlalchemy import Engine, PoolProxiedConnection, Select
from sqlalchemy.exc import DBAPIError

__all__ = ["DirectRead"]

Row = tuple[Any, ...]
_Readers = list[Callable[[Any], Any] | None]


class DirectRead:
    """A SELECT with one parameter, outside of any transaction.

    :param engine: gives the engine, when first needed.
    """

    def __init__(self, engine: Callable[[], Engine], statement: Select[Any], parameter: str) -> None:
        self._make_engine = engine
        self._statement = statement
        self._parameter = parameter
        self._readers: _Readers = []

    def rows(self, value: str) -> Sequence[Row]:
        """The rows for this value.

        :raises sqlalchemy.exc.SQLAlchemyError: as SQLAlchemy raises it.
        """
        if _is_watched(self._engine):
            return self._as_usual(value)
        try:
            connection = self._engine.raw_connection()
        except self._driver_error as error:
            # A server that cannot be reached is not waited for twice.
            raise DBAPIError.instance(None, None, error, self._driver_error, dialect=self._engine.dialect) from error
        try:
            return self._directly(connection, value)
        except self._driver_error:
            # SQLAlchemy knows a lost connection from other faults, and what to do about each.
            return self._as_usual(value)

    def _as_usual(self, value: str) -> Sequence[Row]:
        with self._alone.connect() as connection:
            return [tuple(row) for row in connection.execute(self._statement, {self._parameter: value})]

    def _directly(self, connection: PoolProxiedConnection, value: str) -> Sequence[Row]:
        dialect, driver = self._engine.dialect, cast("Any", connection.dbapi_connection)
        try:
            if self._needs_autocommit:
                dialect.set_isolation_level(driver, "AUTOCOMMIT")
            with closing(connection.cursor()) as cursor:
                dialect.do_execute(cursor, self._sql, self._parameters(value))
                found = cursor.fetchall()
                read = self._readers or self._make_readers(cursor.description)
        finally:
            self._give_back(connection, driver)
        return [tuple([of(value) if of else value for of, value in zip(read, row, strict=True)]) for row in found]

    @cached_property
    def _engine(self) -> Engine:
        return self._make_engine()

    @cached_property
    def _alone(self) -> Engine:
        return without_transaction(self._engine)

    @cached_property
    def _driver_error(self) -> type[Exception]:
        error: type[Exception] = self._engine.dialect.loaded_dbapi.Error
        return error

    @cached_property
    def _needs_autocommit(self) -> bool:
        return self._alone is not self._engine

    @cached_property
    def _compiled(self) -> Any:
        return self._statement.compile(dialect=self._engine.dialect)

    @cached_property
    def _sql(self) -> str:
        return str(self._compiled)

    def _parameters(self, value: str) -> Any:
        return (value,) if self._compiled.positional else {self._parameter: value}

    def _give_back(self, connection: PoolProxiedConnection, driver: Any) -> None:
        """To the pool, as it was; one that would go on committing each statement by itself is thrown away instead."""
        try:
            if self._needs_autocommit:
                self._engine.dialect.reset_isolation_level(driver)
        except BaseException:
            connection.invalidate()
            raise
        finally:
            connection.close()

    def _make_readers(self, description: Any) -> _Readers:
        """What makes of each column's value, as the driver gives it, what the column's type says."""
        dialect = self._engine.dialect
        types = [column.type.dialect_impl(dialect) for column in self._statement.selected_columns]
        self._readers = [
            type_.result_processor(dialect, told[1]) for type_, told in zip(types, description, strict=True)
        ]
        return self._readers


def without_transaction(engine: Engine) -> Engine:
    """For what is one statement: on PostgreSQL it needs no transaction, whose begin and end are two more."""
    return engine.execution_options(isolation_level="AUTOCOMMIT") if engine.dialect.name == "postgresql" else engine


def _is_watched(engine: Engine) -> bool:
    """Whether events, a log or an option of this engine would have a part in running a statement."""
    if getattr(engine, "_has_events", True) or engine.logger.isEnabledFor(logging.INFO):
        return True
    return "schema_translate_map" in engine.get_execution_options()
