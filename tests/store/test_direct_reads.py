"""Reads by the driver itself: the same rows as SQLAlchemy's, seen by whoever watches it, and nothing left behind."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa

from flask_paycheckout.store.direct_reads import DirectRead

TABLE = sa.Table(
    "thing",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String(20)),
    sa.Column("at", sa.DateTime(timezone=True)),
    sa.Column("price", sa.Numeric(12, 2)),
    sa.Column("known", sa.Boolean),
    sa.Column("facts", sa.JSON),
    sa.Column("kind", sa.Enum("good", "bad", name="kind_of_thing")),
)
BY_NAME = sa.select(TABLE).where(TABLE.c.name == sa.bindparam("name", type_=TABLE.c.name.type)).order_by(TABLE.c.id)
AT = datetime(2026, 1, 1, 12, 0, 0, 250, UTC)
ROW = {"at": AT, "price": Decimal("12.50"), "known": True, "facts": {"a": [1, None]}, "kind": "good"}


@pytest.fixture
def engine(each_database: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(each_database, pool_size=1, max_overflow=0, pool_timeout=5)
    TABLE.metadata.create_all(engine)
    with engine.begin() as connection:
        connection.execute(TABLE.insert(), [ROW | {"name": "a"}, ROW | {"name": "b"}, ROW | {"name": "a"}])
        connection.execute(TABLE.insert().values(name="empty"))
    yield engine
    engine.dispose()


def as_usual(engine: sa.Engine, name: str) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(BY_NAME, {"name": name})]


def no_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLAlchemy may not run the statement."""

    def refuse(read: DirectRead, value: str) -> None:
        raise AssertionError("it was run as usual")

    monkeypatch.setattr(DirectRead, "_as_usual", refuse)
    # Other tests listened to all engines; what they leave behind is a mark that is never taken back.
    monkeypatch.setattr(sa.Engine, "_has_events", False)


@pytest.mark.parametrize("name", ["a", "b", "empty", "unknown"])
def test_every_type_is_read_as_sqlalchemy_reads_it(
    engine: sa.Engine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    expected = as_usual(engine, name)
    no_other_way(monkeypatch)
    read = DirectRead(lambda: engine, BY_NAME, "name")
    assert [read.rows(name), read.rows(name)] == [expected, expected]
    assert len(expected) == {"a": 2, "b": 1, "empty": 1, "unknown": 0}[name]


def test_the_connection_is_given_back_as_it_was(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    no_other_way(monkeypatch)
    read = DirectRead(lambda: engine, BY_NAME, "name")
    for _ in range(3):
        # The pool has one connection: kept, it would be missed here.
        assert len(read.rows("a")) == 2
        with engine.connect() as connection:
            connection.execute(TABLE.delete())
            connection.rollback()
    assert len(read.rows("a")) == 2


def test_a_connection_that_cannot_be_as_it_was_is_thrown_away(
    engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sa.Engine, "_has_events", False)
    if engine.dialect.name == "sqlite":
        pytest.skip("nothing is changed on its connections")
    read = DirectRead(lambda: engine, BY_NAME, "name")
    reset = engine.dialect.reset_isolation_level

    def fail(connection: Any) -> None:
        monkeypatch.setattr(engine.dialect, "reset_isolation_level", reset)
        raise InterruptedError

    monkeypatch.setattr(engine.dialect, "reset_isolation_level", fail)
    with pytest.raises(InterruptedError):
        read.rows("a")
    with engine.connect() as connection:
        connection.execute(TABLE.delete())
        connection.rollback()
    assert len(read.rows("a")) == 2


def test_who_listens_to_the_engine_hears_of_it(engine: sa.Engine) -> None:
    heard = []

    def executed(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
        heard.append(statement)

    sa.event.listen(engine, "before_cursor_execute", executed)
    assert len(DirectRead(lambda: engine, BY_NAME, "name").rows("a")) == 2
    assert [statement.split()[0] for statement in heard] == ["SELECT"]


def test_the_log_of_statements_has_it(
    engine: sa.Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sa.Engine, "_has_events", False)
    with caplog.at_level(logging.INFO, "sqlalchemy.engine"):
        assert len(DirectRead(lambda: engine, BY_NAME, "name").rows("a")) == 2
    assert any("SELECT" in record.getMessage() for record in caplog.records)


def test_a_schema_that_an_engine_puts_in_place_is_used(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sa.Engine, "_has_events", False)
    elsewhere = engine.execution_options(schema_translate_map={None: "elsewhere"})
    with pytest.raises(sa.exc.DBAPIError, match="elsewhere"):
        DirectRead(lambda: elsewhere, BY_NAME, "name").rows("a")


def test_what_goes_wrong_is_told_as_usual_and_over_then(engine: sa.Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sa.Engine, "_has_events", False)
    read = DirectRead(lambda: engine, BY_NAME, "name")
    assert len(read.rows("a")) == 2
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE thing RENAME TO lost"))
    with pytest.raises(sa.exc.DBAPIError):
        read.rows("a")
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE lost RENAME TO thing"))
    assert len(read.rows("a")) == 2


def test_a_server_that_cannot_be_reached_is_asked_once(
    engine: sa.Engine, monkeypatch: pytest.MonkeyPatch, each_database: str
) -> None:
    no_other_way(monkeypatch)
    driver_error: type[Exception] = engine.dialect.loaded_dbapi.OperationalError
    tried = []

    def refuse(*arguments: object, **options: object) -> None:
        tried.append(1)
        raise driver_error("nobody is there")

    away = sa.create_engine(each_database)
    monkeypatch.setattr(away.dialect, "connect", refuse)
    with pytest.raises(sa.exc.OperationalError, match="nobody is there"):
        DirectRead(lambda: away, BY_NAME, "name").rows("a")
    assert tried == [1]
