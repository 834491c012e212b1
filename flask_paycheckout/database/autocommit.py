"""Statements that commit by themselves: single ones of ours do, and no others may."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Engine


def autocommit(engine: Engine) -> Engine:
    """The engine for single statements: on PostgreSQL each commits by itself, which saves two round trips.

    On SQLite a transaction costs no round trip, and the engine is returned as it is.
    """
    return engine.execution_options(isolation_level="AUTOCOMMIT") if engine.dialect.name == "postgresql" else engine


def commits_each_statement(connection: Connection) -> bool:
    """Whether every statement of a connection commits by itself, as far as its driver tells."""
    connection.exec_driver_sql("SELECT 1").close()
    driver: Any = connection.connection.dbapi_connection
    if hasattr(driver, "in_transaction"):
        # SQLite's driver begins with the first write, unless it leaves that to the shop's own BEGIN.
        begins = driver.isolation_level is not None and getattr(driver, "autocommit", False) is not True
        return not (begins or driver.in_transaction)
    # As libpq numbers it: no transaction is open.
    return getattr(getattr(driver, "info", None), "transaction_status", None) == 0
