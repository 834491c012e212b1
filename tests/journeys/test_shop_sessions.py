"""The shop's own session: its uncommitted work is never committed or lost by us, and never blocks us."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Column, String, Table, event, text

from flask_paycheckout import UncommittedChanges, order_paid
from flask_paycheckout.books.report import report
from flask_paycheckout.doctor.checks import Check, Level
from flask_paycheckout.doctor.shop import examine
from flask_paycheckout.runtime import for_reading
from flask_paycheckout.testing import Sandbox
from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience
from tests.scripted import Shop


def add_orders(db: Any) -> None:
    Table("orders", db.metadata, Column("id", String, primary_key=True))


def begins_immediately(db: Any) -> None:
    """On SQLite, let the shop take the write lock at the beginning of each transaction."""
    add_orders(db)
    if db.engine.dialect.name == "sqlite":
        event.listen(db.engine, "connect", lambda connection, _: setattr(connection, "isolation_level", None))
        event.listen(db.engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))


def reads(shop: Shop) -> None:
    shop.db.session.execute(text("SELECT * FROM orders")).all()


def writes_unseen(shop: Shop) -> None:
    shop.db.session.connection().connection.cursor().execute("INSERT INTO orders VALUES ('raw')")


def stored(shop: Shop) -> list[str]:
    with shop.app.app_context():
        return list(shop.db.session.scalars(text("SELECT id FROM orders")))


@pytest.fixture
def shop(open_shop: OpenShop, new_database: NewDatabase, paycheckout_sandbox: Sandbox) -> Shop:
    """A shop with a short lock timeout."""
    address = with_patience(new_database("immediate"), 0.2)
    return open_shop(sandbox=paycheckout_sandbox, prepare=begins_immediately, SQLALCHEMY_DATABASE_URI=address)


@pytest.mark.on_each_database
def test_a_session_that_only_read_is_no_obstacle(shop: Shop, paycheckout_sandbox: Sandbox) -> None:
    with shop.app.app_context():
        reads(shop)
        checkout = shop.paycheckout.start("o-1")
        for name in READING:
            reads(shop)
            assert call(shop, name, checkout.checkout_id)
        paycheckout_sandbox.pay(checkout.checkout_id)
        reads(shop)
        assert shop.paycheckout.settle(checkout.checkout_id).status == "paid"
        reads(shop)
        assert shop.paycheckout.reconcile().clean


WRITING = ("start", "settle", "reconcile")
READING = ("explain", "report", "examine")


def call(shop: Shop, name: str, checkout_id: str) -> Any:
    """Make the call of this name in a shop whose order "o-1" was started."""
    ours, runtime = shop.paycheckout, shop.app.extensions["paycheckout"]
    calls: dict[str, Callable[[], Any]] = {
        "start": lambda: ours.start("o-2"),
        "settle": lambda: ours.settle(checkout_id),
        "reconcile": ours.reconcile,
        "explain": lambda: ours.explain("o-1").status,
        "report": lambda: report(for_reading("the report").alarm_context()).checkouts["created"],
        "examine": lambda: (
            Check("database", Level.OK, f"{shop.db.engine.dialect.name} answers") in examine(runtime).checks
        ),
    }
    return calls[name]()


@pytest.mark.parametrize("name", [*WRITING, *READING])
def test_rows_written_past_the_session_are_noticed_and_kept(shop: Shop, name: str) -> None:
    with shop.app.app_context():
        checkout_id = shop.starts()
        writes_unseen(shop)
        with pytest.raises(UncommittedChanges, match="commit"):
            call(shop, name, checkout_id)
        shop.db.session.commit()
    assert stored(shop) == ["raw"]


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_rows_written_past_the_session_stand_in_nobodys_way_where_there_are_many_writers(shop: Shop, name: str) -> None:
    with shop.app.app_context():
        checkout_id = shop.starts()
        writes_unseen(shop)
        call(shop, name, checkout_id)
        shop.db.session.rollback()
    assert stored(shop) == [], "nothing of ours committed them"


@pytest.mark.parametrize("address", ["sqlite://", "sqlite:///{folder}/usual.db"])
def test_a_read_beside_half_done_work_neither_ends_it_nor_shows_it(
    open_shop: OpenShop, tmp_path: Path, paycheckout_sandbox: Sandbox, address: str
) -> None:
    """A file can be read meanwhile; a database in memory has one connection, whose transaction our read would end."""
    address = address.format(folder=tmp_path)
    shop = open_shop(sandbox=paycheckout_sandbox, prepare=add_orders, SQLALCHEMY_DATABASE_URI=address)
    checkout_id = shop.starts("o-2")
    with shop.app.app_context():
        shop.db.session.execute(text("INSERT INTO orders VALUES ('half done')"))
        if address == "sqlite://":
            for name in ("explain", "settle"):
                with pytest.raises(UncommittedChanges):
                    call(shop, name, checkout_id)
        else:
            assert shop.paycheckout.explain("o-1").status == "unpaid"
        shop.db.session.commit()
    assert stored(shop) == ["half done"]


@pytest.mark.on_each_database
def test_a_receiver_that_only_calls_out_holds_no_lock(shop: Shop, paycheckout_sandbox: Sandbox) -> None:
    """Other processes of the shop can write while a receiver waits for its warehouse."""

    def slow(app: object, *, checkout: Any, **extra: object) -> None:
        assert checkout.status == "paid"
        with shop.db.engine.begin() as other_process:
            other_process.execute(text("INSERT INTO orders VALUES ('meanwhile')"))

    with order_paid.connected_to(slow, sender=shop.app), shop.app.app_context():
        paycheckout_sandbox.pay(shop.paycheckout.start("o-1").checkout_id)
        report = shop.paycheckout.reconcile()
    assert (report.changed, report.failed) == (1, 0)
    assert stored(shop) == ["meanwhile"]
