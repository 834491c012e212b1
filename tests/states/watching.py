"""Triggers in the database that record every stored state."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Engine, text

#: Every stored state in order: the checkout's id, the state before (NULL for a new row), and the state then.
MOVES = "SELECT checkout_id, before, after FROM watched_move ORDER BY number"

_STATEMENTS = (
    "CREATE TABLE watched_move (number INTEGER PRIMARY KEY, checkout_id TEXT, before TEXT, after TEXT)",
    """CREATE TRIGGER watched_insert AFTER INSERT ON paycheckout_checkout BEGIN
        INSERT INTO watched_move (checkout_id, before, after) VALUES (new.checkout_id, NULL, new.status);
    END""",
    """CREATE TRIGGER watched_update AFTER UPDATE OF status ON paycheckout_checkout WHEN old.status <> new.status BEGIN
        INSERT INTO watched_move (checkout_id, before, after) VALUES (new.checkout_id, old.status, new.status);
    END""",
    """CREATE TRIGGER watched_delete BEFORE DELETE ON paycheckout_checkout BEGIN
        SELECT RAISE(ABORT, 'an attempt was deleted');
    END""",
)


def watch_moves(engine: Engine) -> None:
    with engine.begin() as connection:
        for statement in _STATEMENTS:
            connection.execute(text(statement))


def driver_of(engine: Engine) -> Any:
    """The driver's one connection to a database in memory, which can copy and replace the whole database."""
    return engine.raw_connection().dbapi_connection
