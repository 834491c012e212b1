"""The doctor and the shop's database: tables, columns, pools and PostgreSQL settings that can lose commits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from flask_paycheckout import ConfigurationError
from tests.conftest import OpenShop
from tests.doctor.examining import PUBLIC, about, diagnosis, worst
from tests.doctor.test_shop import well as well
from tests.scripted import Shop

TABLE_FAULTS: list[tuple[str, list[str]]] = [
    ("DROP TABLE paycheckout_event", ["paycheckout_event does not exist"]),
    (
        "ALTER TABLE paycheckout_checkout DROP COLUMN found_by",
        ["paycheckout_checkout.found_by does not exist"],
    ),
    (
        "DROP INDEX ix_paycheckout_checkout_state",
        ["paycheckout_checkout lacks the index of status and moved_at and id"],
    ),
    ("ALTER TABLE paycheckout_checkout ADD COLUMN colour VARCHAR NOT NULL DEFAULT 'x'", []),
]


@pytest.mark.parametrize(("statement", "texts"), TABLE_FAULTS, ids=[fault[0] for fault in TABLE_FAULTS])
def test_tables_that_are_not_as_the_models_say(well: Shop, statement: str, texts: list[str]) -> None:
    well.executes(text(statement))
    assert [check.found for check in about(well, "tables") if check.remedy] == texts
    # A missing index only makes queries slow.
    assert well.runs("doctor").exit_code == ("does not exist" in str(texts))


POSTGRES_FAULTS = [
    ("ALTER COLUMN created_at TYPE TIMESTAMP", "tables", "created_at does not keep the time zone"),
    ("ALTER COLUMN order_id TYPE VARCHAR(20)", "tables", "order_id is limited to 20 characters"),
    ("ALTER COLUMN total_amount TYPE NUMERIC USING 0", "tables", "total_amount is NUMERIC, not VARCHAR(64)"),
    ("DROP CONSTRAINT paycheckout_checkout_paid_order_id_key", "tables", "paid_order_id is not unique"),
    ("ALTER COLUMN reason SET NOT NULL", "writing", 'null value in column "reason"'),
    ("ADD COLUMN colour VARCHAR NOT NULL", "writing", 'null value in column "colour"'),
]


@pytest.mark.parametrize(("change", "about", "found"), POSTGRES_FAULTS, ids=[fault[2] for fault in POSTGRES_FAULTS])
def test_columns_that_are_not_as_the_models_say(
    open_shop: OpenShop, postgres_database: str, change: str, about: str, found: str
) -> None:
    """Only on PostgreSQL, because SQLite cannot alter columns like this; the checks are the same."""
    shop = open_shop(SQLALCHEMY_DATABASE_URI=postgres_database)
    shop.executes(text(f"ALTER TABLE paycheckout_checkout {change}"))
    assert found in worst(shop, about).found
    assert diagnosis(shop).failed


def test_a_database_that_is_away(open_shop: OpenShop, tmp_path: Path) -> None:
    shop = open_shop()
    (tmp_path / "shop.db").unlink()
    shop.app.config["SQLALCHEMY_DATABASE_URI"] = "moved"
    with shop.app.app_context():
        shop.db.engine.dispose()
    (tmp_path / "shop.db").mkdir()
    assert "unable to open database file" in worst(shop, "database").found
    assert worst(shop, "alarms").level == "failure"
    assert shop.runs("doctor").exit_code == 1


def test_a_database_that_refuses_to_be_written(open_shop: OpenShop, postgres_database: str) -> None:
    """A standby, for example, refuses writes."""
    shop = open_shop(SQLALCHEMY_DATABASE_URI=postgres_database)
    name = shop.engine.url.database
    shop.executes(text(f"ALTER DATABASE {name} SET default_transaction_read_only = on"))
    shop.engine.dispose()
    assert "read-only transaction" in worst(shop, "writing").found


def test_a_database_that_commits_every_statement(open_shop: OpenShop, each_database: str) -> None:
    shop = open_shop(SQLALCHEMY_DATABASE_URI=each_database, SQLALCHEMY_ENGINE_OPTIONS={"isolation_level": "AUTOCOMMIT"})
    assert worst(shop, "host").found.startswith("the database engine commits every statement by itself")
    with pytest.raises(ConfigurationError, match="commits every statement by itself"):
        shop.starts()
    assert shop.service.created == []


def test_tables_in_a_second_database_are_told_once(open_shop: OpenShop, tmp_path: Path) -> None:
    binds = {"orders": f"sqlite:///{tmp_path / 'orders.db'}"}
    shop = open_shop(
        prepare=lambda db: db.Table("order", db.Column("id", db.Integer), bind_key="orders"), SQLALCHEMY_BINDS=binds
    )
    (check,) = about(shop, "receivers")
    assert (check.level, check.found.split(":")[0]) == (
        "warning",
        "the tables of orders are in another database than those of payments",
    )


@pytest.mark.parametrize(("size", "level"), [(1, "warning"), (4, "ok")])
def test_a_pool_is_compared_with_the_threads_of_a_process(open_shop: OpenShop, size: int, level: str) -> None:
    shop = open_shop(SQLALCHEMY_ENGINE_OPTIONS={"pool_size": size, "max_overflow": 0})
    (check,) = about(shop, "pool")
    assert (check.level, check.found.split(":")[0]) == (level, f"{size} connection{'s' if size > 1 else ''}")


@pytest.mark.parametrize(
    ("options", "order_id", "warns"),
    [({}, None, True), ({}, "7", True), ({}, "a-7", False), ({"sqlite_autoincrement": True}, "7", False)],
)
def test_numbers_of_orders_that_come_again(
    open_shop: OpenShop, options: dict[str, Any], order_id: str | None, warns: bool
) -> None:
    shop = open_shop(
        prepare=lambda db: db.Table("basket", db.Column("id", db.Integer, primary_key=True), **options), **PUBLIC
    )
    if order_id is not None:
        shop.costs("12.50", order_id)
        shop.starts(order_id)
    assert ["in basket" in check.found for check in about(shop, "order ids")] == [True] * warns


def test_postgresql_that_may_forget_what_it_committed(open_shop: OpenShop, postgres_database: str) -> None:
    shop = open_shop(
        SQLALCHEMY_DATABASE_URI=postgres_database, SQLALCHEMY_ENGINE_OPTIONS={"isolation_level": "SERIALIZABLE"}
    )
    shop.executes(text(f"ALTER DATABASE {shop.engine.url.database} SET synchronous_commit = off"))
    shop.engine.dispose()
    names = [check.found.split(":")[0] for check in about(shop, "PostgreSQL")]
    assert names == ["the isolation level is SERIALIZABLE", "fsync is off", "synchronous_commit is off"]
