"""Newer tables and older processes, older rows and newer code, as docs/upgrading.md promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import produce_migrations
from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Column, Connection, MetaData, Table

from tests.scripted import Shop
from tests.test_cli import runs

# The columns of the first version that shops ran, by the table's name behind "paycheckout_".
FIRST = {
    "checkout": "id checkout_id order_id current_order_id paid_order_id status reason url total_kind total_amount"
    " total_currency total_other_currency created_at moved_at next_read_at last_read_at webhook_read_at deposit_status"
    " revision reads not_found_reads failed_reads webhooks found_by history",
    "event": "id event_id once name checkout_id order_id reason occurred_at delivered_at attempts next_attempt_at"
    " lease_token lease_until receivers_done last_error",
}


def first_tables(shop: Shop) -> MetaData:
    """The tables as the first version made them."""
    old = MetaData()
    for name, columns in FIRST.items():
        table = shop.db.metadata.tables[f"paycheckout_{name}"]
        Table(table.name, old, *(_copy(table.c[column]) for column in columns.split()))
    return old


def _copy(column: Column[Any]) -> Column[Any]:
    return Column(
        column.name,
        column.type,
        primary_key=column.primary_key,
        nullable=bool(column.nullable),
        unique=column.unique,
        index=column.index,
    )


@pytest.fixture
def connection(shop: Shop) -> Iterator[Connection]:
    with shop.app.app_context(), shop.db.engine.begin() as connection:
        yield connection


def changes(connection: Connection, metadata: MetaData, **options: Any) -> list[Any]:
    """What an automatic migration would do to this database."""
    script = produce_migrations(MigrationContext.configure(connection, opts=options), metadata)
    return [*_flat(script.upgrade_ops)]


def _flat(change: Any) -> Iterator[Any]:
    if hasattr(change, "ops"):
        for inner in change.ops:
            yield from _flat(inner)
    else:
        yield change


def first_rows(connection: Connection, shop: Shop) -> dict[str, list[dict[str, Any]]]:
    """What the first version would have stored, by the table's name; the numbers of rows come anew."""
    return {
        f"paycheckout_{name}": [
            {column: row[column] for column in columns.split()[1:]}
            for row in connection.execute(
                sa.select(shop.db.metadata.tables[f"paycheckout_{name}"]).order_by(sa.text("id"))
            ).mappings()
        ]
        for name, columns in FIRST.items()
    }


def as_first_version_left_it(shop: Shop) -> None:
    """The shop's tables and rows become those that the first version would have made."""
    with shop.app.app_context(), shop.db.engine.begin() as connection:
        old, rows = first_tables(shop), first_rows(connection, shop)
        shop.db.metadata.drop_all(connection)
        old.create_all(connection)
        for name, kept in rows.items():
            connection.execute(old.tables[name].insert(), kept)


@pytest.mark.on_each_database
def test_rows_of_the_first_version_go_on_after_the_migration(shop: Shop) -> None:
    paid, held = shop.has_paid("o-1"), shop.has_held("o-2")
    shop.totals["o-3"] = shop.totals["o-1"]
    open_one = shop.starts("o-3")
    as_first_version_left_it(shop)
    with shop.app.app_context(), shop.db.engine.begin() as connection:
        operations = Operations(MigrationContext.configure(connection))
        for change in changes(connection, shop.db.metadata):
            operations.invoke(change)
        assert changes(connection, shop.db.metadata) == []
    assert (shop.attempt(paid).status, shop.attempt(paid).payment) == ("paid", None)
    assert shop.resolves(held, accept=True).status == "paid"
    shop.service.says(open_one, "completed")
    shop.reconciles()
    assert shop.attempt(open_one).status == "paid"
    assert not [event.name for event in shop.events() if event.delivered_at is None]
    for order_id in ("o-1", "o-2", "o-3"):
        assert runs(shop, "show", order_id).exit_code == 0
    assert runs(shop, "report").stdout


@pytest.mark.on_each_database
def test_a_process_of_the_first_version_writes_to_the_newer_tables(shop: Shop) -> None:
    """It names only its own columns, in inserts and updates; whatever it leaves out is NULL, or has a default."""
    first, second = shop.starts("o-1"), shop.has_paid("o-2")
    old = first_tables(shop)
    with shop.app.app_context(), shop.db.engine.begin() as connection:
        for name, rows in first_rows(connection, shop).items():
            connection.execute(sa.delete(old.tables[name]))
            connection.execute(sa.insert(old.tables[name]), rows)
    shop.service.says(first, "completed")
    assert shop.settles(first).status == "paid"
    assert shop.attempt(second).status == "paid"


def test_no_column_that_is_newer_than_the_first_version_is_wanted_by_the_database(shop: Shop) -> None:
    for name, columns in FIRST.items():
        for column in shop.db.metadata.tables[f"paycheckout_{name}"].columns:
            if column.name not in columns.split():
                assert column.nullable or column.server_default is not None, column
