"""A database that refuses a kind of write, like a database with a full disk; on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.scripted import Shop

_SQLITE = "CREATE TRIGGER refusal BEFORE {write} ON {table} BEGIN SELECT RAISE(ABORT, 'disk full'); END"
_POSTGRESQL = """
    CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'disk full' USING ERRCODE = 'integrity_constraint_violation'; END $$;
    CREATE TRIGGER refusal BEFORE {write} ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()
"""


@contextmanager
def refuses(shop: Shop, write: str, table: str) -> Iterator[None]:
    """Let every INSERT, or UPDATE, of this table fail with an IntegrityError that says "disk full"."""
    on_sqlite = shop.engine.dialect.name == "sqlite"
    with shop.engine.begin() as connection:
        connection.exec_driver_sql((_SQLITE if on_sqlite else _POSTGRESQL).format(write=write, table=table))
    yield
    with shop.engine.begin() as connection:
        drop = "DROP TRIGGER refusal" if on_sqlite else f"DROP TRIGGER refusal ON {table}; DROP FUNCTION refuse()"
        connection.exec_driver_sql(drop)
