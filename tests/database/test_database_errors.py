"""Errors of the database, of which each driver of PostgreSQL has its own classes."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError, ProgrammingError

from flask_paycheckout.database.database_errors import (
    cut_row,
    database_text,
    is_lock_timeout,
    is_lost_race,
    is_passing,
    is_refused_row,
    is_unavailable,
)
from tests.ports import free_port
from tests.postgres import empty_database

Way = Callable[[Engine], object]
PAGE = "https://pay.example/chk-1"


class Refused(Exception):
    """An error with the fields of a server's reply, as pg8000 raises it."""


@pytest.fixture(params=["psycopg", "pg8000"])
def engine(request: pytest.FixtureRequest, postgres_server: str) -> Iterator[Engine]:
    """An engine of a database with the table `one`, in which no second row can equal the first."""
    with empty_database(postgres_server, request.param) as address:
        engine = sa.create_engine(address)
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE one (id integer PRIMARY KEY, url text NOT NULL)")
            connection.exec_driver_sql("INSERT INTO one VALUES (1, 'a page')")
        yield engine
        engine.dispose()


def at(engine: Engine, **parts: object) -> Engine:
    """An engine for the same database with parts of its address replaced."""
    return sa.create_engine(engine.url.set(**parts), poolclass=sa.NullPool)  # type: ignore[arg-type]


@contextmanager
def limited(engine: Engine, setting: str) -> Iterator[Connection]:
    with engine.begin() as connection:
        connection.exec_driver_sql(f"SET LOCAL {setting}")
        yield connection


def statement_timeout(engine: Engine) -> None:
    with limited(engine, "statement_timeout = 50") as connection:
        connection.exec_driver_sql("SELECT pg_sleep(5)")


def lock_timeout(engine: Engine) -> None:
    with engine.begin() as other, limited(engine, "lock_timeout = 50") as connection:
        other.exec_driver_sql("LOCK TABLE one")
        connection.exec_driver_sql("SELECT * FROM one")


def read_only(engine: Engine) -> None:
    with limited(engine, "transaction_read_only = on") as connection:
        connection.exec_driver_sql("DELETE FROM one")


def admin_shutdown(engine: Engine) -> None:
    with engine.begin() as other, engine.begin() as connection:
        process = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
        other.exec_driver_sql(f"SELECT pg_terminate_backend({process}, 5000)")
        connection.exec_driver_sql("SELECT 1")


def too_many_connections(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(f"CREATE ROLE few_{engine.url.database} LOGIN CONNECTION LIMIT 0")
    at(engine, username=f"few_{engine.url.database}").connect()


TROUBLES: dict[str, Way] = {
    "lock timeout": lock_timeout,
    "statement timeout": statement_timeout,
    "admin shutdown": admin_shutdown,
    "too many connections": too_many_connections,
    "read-only": read_only,
    "nobody listens": lambda engine: at(engine, host="127.0.0.1", port=free_port(), query={}).connect(),
    "no such database": lambda engine: at(engine, database="nowhere").connect(),
    "no such role": lambda engine: at(engine, username="nobody").connect(),
}


@pytest.mark.parametrize("way", TROUBLES.values(), ids=TROUBLES)
def test_each_driver_tells_of_a_trouble_that_passes(engine: Engine, way: Way) -> None:
    with pytest.raises(DBAPIError) as caught:
        way(engine)
    assert is_passing(caught.value)
    assert is_unavailable(caught.value)
    assert is_lock_timeout(caught.value) is (way is lock_timeout)
    assert "{" not in database_text(caught.value), "people read the server's message, not its reply"


def test_a_lock_time_out_and_a_lost_race_are_told_by_their_code() -> None:
    waited = ProgrammingError("SELECT 1", {}, Refused({"C": "55P03", "M": "canceling statement due to lock timeout"}))
    assert is_lock_timeout(waited)
    assert not is_lost_race(waited)
    assert is_lost_race(ProgrammingError("SELECT 1", {}, Refused({"C": "40001", "M": "could not serialize access"})))


@pytest.mark.parametrize("key", [1, None], ids=["unique", "not null"])
def test_a_refused_row_is_cut_from_an_error(engine: Engine, key: int | None) -> None:
    with pytest.raises(DBAPIError) as caught, engine.begin() as connection:
        connection.execute(sa.text("INSERT INTO one VALUES (:key, :url)"), {"key": key, "url": PAGE})
    error = caught.value
    assert not is_passing(error)
    cut_row(error)
    text_ = "".join(traceback.format_exception(error))
    assert "constraint" in text_
    assert PAGE not in text_
    assert "already exists" not in text_
    assert is_refused_row(error)


def test_a_refused_row_of_sqlite_is_told_by_its_class() -> None:
    assert is_refused_row(IntegrityError("INSERT", {}, Exception("UNIQUE constraint failed: one.id")))
