"""The shop's uncommitted changes: always detected, refused, and never committed by the extension."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import select, text

import flask_paycheckout
from flask_paycheckout import UncommittedChanges
from tests.conftest import OpenShop
from tests.scripted import Shop


@pytest.fixture
def ledger(open_shop: OpenShop) -> Shop:
    """A shop with a mapped table "book" that holds one row."""

    def add_model(db: SQLAlchemy) -> None:
        columns = {"id": db.Column(db.Integer, primary_key=True), "title": db.Column(db.String(40))}
        db.metadata.info["Book"] = type("Book", (db.Model,), columns)

    shop = open_shop(prepare=add_model)
    with shop.app.app_context():
        shop.db.session.add(book(shop)(id=1, title="first"))
        shop.db.session.commit()
    return shop


def book(shop: Shop) -> Any:
    return shop.db.metadata.info["Book"]


def titles(shop: Shop) -> list[str]:
    with shop.app.app_context():
        return list(shop.db.session.scalars(select(book(shop).title).order_by(book(shop).id)))


def adds(shop: Shop) -> None:
    shop.db.session.add(book(shop)(id=2, title="half done"))


def changes(shop: Shop) -> None:
    row: Any = shop.db.session.get(book(shop), 1)
    row.title = "half done"


def deletes(shop: Shop) -> None:
    shop.db.session.delete(shop.db.session.get(book(shop), 1))


def flushes(shop: Shop) -> None:
    adds(shop)
    shop.db.session.flush()


def flushes_in_a_query(shop: Shop) -> None:
    changes(shop)
    shop.db.session.scalars(select(book(shop))).all()


def executes_core(shop: Shop) -> None:
    shop.db.session.execute(book(shop).__table__.insert().values(id=2, title="half done"))


def executes_orm_update(shop: Shop) -> None:
    shop.db.session.execute(shop.db.update(book(shop)).values(title="half done"))


def executes_text(shop: Shop) -> None:
    shop.db.session.execute(text("  insert into book (id, title) values (2, 'half done')"))


def writes_in_a_savepoint(shop: Shop) -> None:
    # Python's SQLite driver commits a savepoint if nothing was written before it.
    executes_orm_update(shop)
    with shop.db.session.begin_nested():
        executes_core(shop)


def writes_through_the_connection(shop: Shop) -> None:
    shop.db.session.connection().execute(book(shop).__table__.insert().values(id=2, title="half done"))


WRITTEN = [flushes, executes_core, executes_orm_update, executes_text, writes_in_a_savepoint]
WRITTEN += [flushes_in_a_query, writes_through_the_connection]
HALF_DONE = [adds, changes, deletes, *WRITTEN]
Work = Callable[[Shop], None]


@pytest.mark.parametrize("work", HALF_DONE)
def test_a_start_inside_half_done_work_is_refused_and_commits_nothing(ledger: Shop, work: Work) -> None:
    with ledger.app.app_context():
        work(ledger)
        with pytest.raises(UncommittedChanges, match=r"start\('o-1'\) .*db\.session\.commit\(\)") as refused:
            ledger.paycheckout.start("o-1")
        assert "half done" not in str(refused.value), "the classes are named, never the values"
    assert titles(ledger) == ["first"]
    assert ledger.service.created == []


@pytest.mark.parametrize(
    ("call", "work"), [("resolve", flushes), ("reconcile", flushes), *(("settle", work) for work in WRITTEN)]
)
def test_a_call_that_would_wait_for_its_own_transaction_is_refused_at_once(ledger: Shop, call: str, work: Work) -> None:
    """SQLite has one writer: without the refusal, the call would end in "database is locked" seconds later."""
    checkout_id = ledger.has_held()
    calls: dict[str, Callable[[], object]] = {
        "settle": lambda: ledger.paycheckout.settle(checkout_id),
        "resolve": lambda: ledger.paycheckout.resolve(checkout_id, True, "Ada", "why"),
        "reconcile": lambda: ledger.paycheckout.reconcile(),
    }
    with ledger.app.app_context():
        work(ledger)
        with pytest.raises(UncommittedChanges, match=rf"^{call}\("):
            calls[call]()
    assert titles(ledger) == ["first"]
    assert ledger.attempt(checkout_id).status == "held"


ALONE = """
import sys
from pathlib import Path
import flask_paycheckout
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import create_engine, text
from sqlalchemy.orm import Session
from flask_paycheckout import Pay, PayCheckout
from tests.scripted import make_app
app = make_app(TESTING=False, PAYCHECKOUT_PUBLIC_URL="https://shop.example")
db = SQLAlchemy(app)
paycheckout = PayCheckout(app, db)
paycheckout.order_total(lambda order_id: Pay("12.50", "USD"))
with app.app_context():
    db.create_all()
    paycheckout.explain("o-1")
ours = str(Path(flask_paycheckout.__file__).parent)
sys.setprofile(lambda frame, *event: print(frame.f_code) if frame.f_code.co_filename.startswith(ours) else None)
with Session(create_engine("sqlite://")) as session:
    session.execute(text("CREATE TABLE book (title TEXT)"))
    session.execute(text("INSERT INTO book VALUES ('first')"))
    session.commit()
"""


@pytest.mark.slow("programs")
def test_other_engines_and_sessions_of_the_process_are_left_alone() -> None:
    root = Path(flask_paycheckout.__file__).parent.parent
    ran = subprocess.run([sys.executable, "-c", ALONE], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout == "", "these functions of ours were called"


def test_a_savepoint_of_the_caller_is_no_fault_of_order_total(ledger: Shop) -> None:
    """Python's SQLite driver has committed it, since nothing was written before; `balance` is read in between."""
    ledger.costs("20", parts=True)
    ledger.settles(ledger.starts(), "completed")
    ledger.costs("30", parts=True)
    with ledger.app.app_context():
        with ledger.db.session.begin_nested():
            executes_core(ledger)
        balance = ledger.paycheckout.balance("o-1")
        ledger.db.session.commit()
    assert balance is not None
    assert balance.left == Decimal("17.50")
    assert titles(ledger) == ["first", "half done"]
