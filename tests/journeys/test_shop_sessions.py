"""The shop's own session: what it holds half-done is never committed, lost, or in our way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import event

from flask_paycheckout import Pay, PayCheckout, UncommittedChanges, order_paid
from flask_paycheckout.doctor.checks import Check, Level
from flask_paycheckout.doctor.shop import examine
from flask_paycheckout.operations import AppOperations
from flask_paycheckout.testing import Sandbox
from tests.conftest import NewDatabase
from tests.locks import with_patience
from tests.scripted import SAME_SITE


class ImmediateShop:
    """A shop that gives up waiting for a lock after a moment, and on SQLite takes it as each transaction begins."""

    def __init__(self, sandbox: Sandbox, database: str) -> None:
        self.app, self.db, self.paycheckout = Flask("immediate"), SQLAlchemy(), PayCheckout()
        self.app.config.update(
            sandbox.config,
            TESTING=True,
            SECRET_KEY="immediate",
            SQLALCHEMY_DATABASE_URI=with_patience(database, 0.2),
        )
        self.db.init_app(self.app)
        self.orders = self.db.Table("orders", self.db.Column("id", self.db.String, primary_key=True))
        self.paycheckout.init_app(self.app, self.db, transport=sandbox.transport)
        self.paycheckout.order_total(lambda order_id: Pay("12.50", "USD"))
        with self.app.app_context():
            if self.db.engine.dialect.name == "sqlite":
                event.listen(self.db.engine, "connect", _leave_transactions_to_us)
                event.listen(self.db.engine, "begin", _begin_immediately)
            self.db.create_all()

    def starts(self) -> None:
        self.checkout_id = self.paycheckout.start("o-1").checkout_id

    def reads(self) -> None:
        self.db.session.execute(self.db.select(self.orders)).all()

    def writes_unseen(self) -> None:
        self.db.session.connection().connection.cursor().execute("INSERT INTO orders VALUES ('raw')")

    def stored(self) -> list[str]:
        with self.app.app_context():
            return list(self.db.session.scalars(self.db.select(self.orders.c.id)))


def _leave_transactions_to_us(connection: Any, record: object) -> None:
    connection.isolation_level = None


def _begin_immediately(connection: Any) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE")


@pytest.fixture
def shop(new_database: NewDatabase, paycheckout_sandbox: Sandbox) -> Iterator[ImmediateShop]:
    shop = ImmediateShop(paycheckout_sandbox, new_database("immediate"))
    yield shop
    with shop.app.app_context():
        shop.db.engine.dispose()


@pytest.mark.on_each_database
def test_a_session_that_only_read_is_no_obstacle(shop: ImmediateShop, paycheckout_sandbox: Sandbox) -> None:
    with shop.app.app_context():
        shop.reads()
        checkout = shop.paycheckout.start("o-1")
        paycheckout_sandbox.pay(checkout.checkout_id)
        shop.reads()
        assert shop.paycheckout.settle(checkout.checkout_id).status == "paid"
        shop.reads()
        assert shop.paycheckout.reconcile().clean


@pytest.mark.on_each_database
def test_a_shop_that_reads_before_every_request_is_no_obstacle(
    shop: ImmediateShop, paycheckout_sandbox: Sandbox
) -> None:
    shop.app.before_request(shop.reads)
    with shop.app.app_context():
        pay_url, status_url = shop.paycheckout.pay_url("o-1"), shop.paycheckout.status_url("o-1")
    paycheckout_sandbox.deliver_to(shop.app.test_client())
    answer = shop.app.test_client().post(pay_url, headers=SAME_SITE)
    assert answer.status_code == 303
    paycheckout_sandbox.pay(answer.location.rsplit("/", 1)[1])
    assert [webhook["attempts"][-1]["answer"] for webhook in paycheckout_sandbox.webhooks] == [{"status": 200}]
    assert shop.app.test_client().get(status_url + "/status").get_json()["status"] == "paid"


WRITING = ("start", "settle", "reconcile")
READING = ("explain", "report", "examine")


def call(shop: ImmediateShop, name: str) -> Any:
    """Make this call, of a shop whose order "o-1" was started."""
    ours, runtime = shop.paycheckout, shop.app.extensions["paycheckout"]
    calls: dict[str, Callable[[], Any]] = {
        "start": lambda: ours.start("o-2"),
        "settle": lambda: ours.settle(shop.checkout_id),
        "reconcile": ours.reconcile,
        "explain": lambda: ours.explain("o-1").status,
        "report": lambda: AppOperations(runtime).report("https://shop.example").checkouts["created"],
        "examine": lambda: (
            Check("database", Level.OK, f"{shop.db.engine.dialect.name} answers") in examine(runtime).checks
        ),
    }
    return calls[name]()


@pytest.mark.parametrize("name", [*WRITING, *READING])
def test_rows_written_past_the_session_are_noticed_and_kept(shop: ImmediateShop, name: str) -> None:
    with shop.app.app_context():
        shop.starts()
        shop.writes_unseen()
        with pytest.raises(UncommittedChanges, match="commit"):
            call(shop, name)
        shop.db.session.commit()
    assert shop.stored() == ["raw"]


@pytest.mark.parametrize("name", WRITING)
@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_rows_written_past_the_session_stand_in_nobodys_way_where_there_are_many_writers(
    shop: ImmediateShop, name: str
) -> None:
    with shop.app.app_context():
        shop.starts()
        shop.writes_unseen()
        call(shop, name)
        shop.db.session.rollback()
    assert shop.stored() == [], "nothing of ours committed them"


@pytest.mark.on_each_database
@pytest.mark.parametrize("name", READING)
def test_a_session_that_only_read_does_not_keep_us_from_reading(shop: ImmediateShop, name: str) -> None:
    with shop.app.app_context():
        shop.paycheckout.start("o-1")
        shop.reads()
        assert call(shop, name)


@pytest.mark.on_each_database
def test_an_owner_whom_the_shop_looks_up_in_its_session_sees_every_page(shop: ImmediateShop) -> None:
    def owner() -> str:
        shop.reads()
        return "Ada"

    shop.app.register_blueprint(shop.paycheckout.owner_view(owner))
    with shop.app.app_context():
        checkout_id = shop.paycheckout.start("o-1").checkout_id
    browser = shop.app.test_client()
    for path in ("", f"?search={checkout_id}", "?status=created", "/order?id=o-1"):
        assert browser.get(f"/paycheckout/owner{path}").status_code in (200, 303)


@pytest.mark.parametrize("address", ["sqlite://", "sqlite:///{folder}/usual.db"])
def test_a_read_beside_half_done_work_neither_ends_it_nor_shows_it(
    tmp_path: Path, paycheckout_sandbox: Sandbox, address: str
) -> None:
    """A file lets others read; an in-memory database has one connection, whose transaction a read of ours would end."""
    app, db, paycheckout = Flask("usual"), SQLAlchemy(), PayCheckout()
    app.config.update(paycheckout_sandbox.config, TESTING=True, SECRET_KEY="usual")
    app.config["SQLALCHEMY_DATABASE_URI"] = address.format(folder=tmp_path)
    db.init_app(app)
    orders = db.Table("orders", db.Column("id", db.String, primary_key=True))
    paycheckout.init_app(app, db, transport=paycheckout_sandbox.transport)
    with app.app_context():
        db.create_all()
        db.session.execute(orders.insert().values(id="half done"))
        if address == "sqlite://":
            with pytest.raises(UncommittedChanges):
                paycheckout.explain("o-1")
        else:
            assert paycheckout.explain("o-1").status == "unpaid"
        db.session.commit()
        assert db.session.scalars(db.select(orders.c.id)).all() == ["half done"]
        db.session.remove()
        db.engine.dispose()


@pytest.mark.on_each_database
def test_a_receiver_that_only_calls_out_holds_no_lock(shop: ImmediateShop, paycheckout_sandbox: Sandbox) -> None:
    """Other processes of the shop can write while a receiver waits for its warehouse."""

    def slow(app: object, *, checkout: Any, **extra: object) -> None:
        assert checkout.status == "paid"
        with shop.db.engine.begin() as other_process:
            other_process.execute(shop.orders.insert().values(id="meanwhile"))

    with order_paid.connected_to(slow, sender=shop.app), shop.app.app_context():
        paycheckout_sandbox.pay(shop.paycheckout.start("o-1").checkout_id)
        report = shop.paycheckout.reconcile()
    assert (report.changed, report.failed) == (1, 0)
    assert shop.stored() == ["meanwhile"]
