"""An order is changed or cancelled while its payment is settled: at every moment, what leaves the shop was paid for."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event, select, update

from example_shop.database import Line, Order, db
from example_shop.fulfilment import order_parcel
from example_shop.hooks import now
from example_shop.payments import NotWhatWasPaid, paycheckout
from example_shop.receipts import write_receipt
from example_shop.stock import Reservation, Stock, take_jars
from example_shop.suppliers import pay_suppliers
from tests.example_shop.conftest import WAREHOUSE, Shopper
from tests.races.interleaving import every_interleaving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import responses
    from flask import Flask
    from requests import PreparedRequest
    from sqlalchemy import ExceptionContext

    from flask_paycheckout.testing import Sandbox

Answer = tuple[int, dict[str, str], str]

PLENTY = 500


@dataclass
class Moment:
    """A shop with an order that is paid at the service, and settled and changed by others at once."""

    shop: Flask
    sandbox: Sandbox
    shopper: Shopper
    #: The jars of each parcel that the warehouse was told to send, by order.
    shipped: dict[str, Counter[str]] = field(default_factory=dict)
    order_id: str = ""
    checkout_id: str = ""

    def packs(self, request: PreparedRequest) -> Answer:
        """The warehouse's side."""
        slip = json.loads(request.body or "")
        self.shipped[slip["order"]] = Counter({jar["jar"]: jar["quantity"] for jar in slip["jars"]})
        return 201, {}, json.dumps({"parcel": f"P-{len(self.shipped)}"})

    def begins(self) -> None:
        """A new order of one jar, which its customer has paid; the shop has not heard of it."""
        with self.shop.app_context():
            db.session.execute(update(Stock).values(free=PLENTY))
            line = Line(slug="first-snow", name="First Snow", price=Decimal(24), quantity=1, consigned=False)
            order = Order(name="Ada", email="ada@example.com", placed_at=now(), lines=[line])
            db.session.add(order)
            db.session.commit()
            self.order_id = order.id
            db.session.rollback()
            self.checkout_id = paycheckout.start(self.order_id).checkout_id
        self.sandbox.pay(self.checkout_id)

    def settles(self) -> None:
        with self.shop.app_context():
            paycheckout.settle(self.checkout_id)

    def posts(self, act: str, **fields: object) -> None:
        """The order page's form; nothing but it is asked of the database."""
        with self.shopper.browser.session_transaction() as session:
            fields["csrf"] = session.setdefault("csrf", "a secret")
        answer = self.shopper.browser.post(f"/orders/{self.order_id}/{act}", data=fields)
        assert answer.status_code in (303, 409), answer.text

    def nothing_is_lost_or_given_away(self) -> None:
        with self.shop.app_context():
            order = db.session.get_one(Order, self.order_id)
            state, jars = order.state, Counter({line.slug: line.quantity for line in order.lines})
            checkout = paycheckout.Checkout
            attempts = db.session.scalars(select(checkout).where(checkout.order_id == self.order_id)).all()
            statuses = sorted(attempt.status for attempt in attempts)
            taken = db.session.scalars(select(Reservation).where(Reservation.order_id == self.order_id))
            gone = Counter({row.slug: row.quantity for row in taken if row.taken})
            free = db.session.scalars(select(Stock.free).where(Stock.slug == "first-snow")).one()
            kept = db.session.scalars(
                select(Reservation.quantity).where(
                    Reservation.order_id == self.order_id, Reservation.slug == "first-snow"
                )
            ).all()
        one = Counter({"first-snow": 1})
        assert set(statuses) <= {"paid", "held"}, "money is out of sight"
        if "paid" in statuses:
            assert statuses.count("paid") == 1
            assert (state, jars, gone) == ("paid", one, one)
            assert self.shipped.get(self.order_id, one) == one
        else:
            assert state == "cancelled" or jars != one, "nothing had changed"
            assert not gone
            assert self.order_id not in self.shipped
        assert free + sum(kept) == PLENTY


@pytest.fixture
def moment(
    make_shop: Callable[..., Flask], each_database: str, paycheckout_sandbox: Sandbox, warehouse: responses.RequestsMock
) -> Iterator[Moment]:
    shop = make_shop(SQLALCHEMY_DATABASE_URI=each_database, WAREHOUSE_URL=WAREHOUSE, PAYCHECKOUT_RECONCILE_READERS=1)
    moment = Moment(shop, paycheckout_sandbox, Shopper(shop))
    warehouse.assert_all_requests_are_fired = False
    warehouse.add_callback("POST", f"{WAREHOUSE}/parcels", moment.packs)
    deadlocks: list[str] = []

    def listen(context: ExceptionContext) -> None:
        if "deadlock" in str(context.original_exception):
            deadlocks.append(str(context.statement))

    with shop.app_context():
        event.listen(db.engine, "handle_error", listen)
    yield moment
    assert not deadlocks, "locks are taken in one order everywhere"


CHANGES = {"changed": ("change", {"first-snow": 2}), "cancelled": ("cancel", {})}


@pytest.mark.parametrize(("act", "fields"), CHANGES.values(), ids=CHANGES)
def test_an_order_that_changes_at_any_moment_of_its_payment(moment: Moment, act: str, fields: dict[str, Any]) -> None:
    def begin() -> dict[str, Callable[[], object]]:
        moment.begins()
        return {"settles": moment.settles, "changes": partial(moment.posts, act, **fields)}

    with moment.shop.app_context():
        engine = db.engine
    # Each order of the statements in which one act is left once in its course for the other.
    assert every_interleaving(engine, begin, moment.nothing_is_lost_or_given_away, preemptions=1) > 2


def test_who_ships_and_who_books_look_at_what_was_paid(moment: Moment) -> None:
    """Should a shop forget the lock somewhere, its receivers refuse, and `report` names them."""
    moment.begins()
    moment.settles()
    with moment.shop.app_context():
        db.session.execute(update(Line).where(Line.order_id == moment.order_id).values(quantity=9))
        db.session.commit()
        checkout = db.session.scalars(select(paycheckout.Checkout)).one()
        # As receivers are called: with an object that is loaded, and without an open transaction.
        db.session.expunge(checkout)
        told: dict[str, Any] = {"order_id": moment.order_id, "checkout": checkout, "event_id": "told again"}
        for receiver in (order_parcel, pay_suppliers, write_receipt, take_jars):
            db.session.rollback()
            with pytest.raises(NotWhatWasPaid, match="was paid"):
                receiver(moment.shop, **told)
    assert moment.shipped == {moment.order_id: Counter({"first-snow": 1})}
