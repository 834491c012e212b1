"""Statements that need no transaction around them."""

from __future__ import annotations

from sqlalchemy import Engine

__all__ = ["autocommit"]


def autocommit(engine: Engine) -> Engine:
    """The engine for single statements: on PostgreSQL each commits by itself, which saves two round trips.

    On SQLite a transaction costs no round trip, and the engine is returned as it is.
    """
    return engine.execution_options(isolation_level="AUTOCOMMIT") if engine.dialect.name == "postgresql" else engine
