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
from example_shop.stock import Reservation, Stock
from example_shop.suppliers import pay_suppliers
from tests.example_shop.conftest import WAREHOUSE, Owner, Shopper
from tests.races.crowds import crowd
from tests.races.interleaving import every_interleaving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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
    owner: Owner
    #: The jars of each parcel that the warehouse was told to send, by order.
    shipped: dict[str, Counter[str]] = field(default_factory=dict)
    #: The warehouse refuses so many times.
    refusals: int = 0
    order_id: str = ""
    checkout_ids: list[str] = field(default_factory=list)

    def packs(self, request: PreparedRequest) -> Answer:
        """The warehouse's side."""
        if self.refusals:
            self.refusals -= 1
            return 503, {}, "{}"
        slip = json.loads(request.body or "")
        self.shipped[slip["order"]] = Counter({jar["jar"]: jar["quantity"] for jar in slip["jars"]})
        return 201, {}, json.dumps({"parcel": f"P-{len(self.shipped)}"})

    def begins(self, *, payments: int = 1) -> None:
        """A new order of one jar, which its customer has paid for so many times; the shop has not heard of it."""
        with self.shop.app_context():
            db.session.execute(update(Stock).values(free=PLENTY))
            line = Line(slug="first-snow", name="First Snow", price=Decimal(24), quantity=1, consigned=False)
            order = Order(name="Ada", email="ada@example.com", placed_at=now(), lines=[line])
            db.session.add(order)
            db.session.commit()
            self.order_id, self.checkout_ids = order.id, []
            db.session.rollback()
            for number in range(payments):
                if number:
                    self.sandbox.advance(minutes=16)  # the first page is of no use any more, and stays payable
                self.checkout_ids.append(paycheckout.start(self.order_id).checkout_id)
                if payments > 1:
                    self.sandbox.pick(self.checkout_ids[-1])
        for checkout_id in self.checkout_ids:
            self.sandbox.pay(checkout_id)

    def settles(self, number: int = 0) -> None:
        with self.shop.app_context():
            paycheckout.settle(self.checkout_ids[number])

    def posts(self, act: str, **fields: object) -> None:
        """The order page's form; nothing but it is asked of the database."""
        with self.shopper.browser.session_transaction() as session:
            fields["csrf"] = session.setdefault("csrf", "a secret")
        answer = self.shopper.browser.post(f"/orders/{self.order_id}/{act}", data=fields)
        assert answer.status_code in (303, 409), answer.text

    def later(self) -> None:
        """What failed is tried again."""
        self.sandbox.advance(minutes=30)
        with self.shop.app_context():
            paycheckout.reconcile()

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

    def all_is_done(self) -> None:
        """After `later`: what was paid is shipped, and the owner sees what is held."""
        self.nothing_is_lost_or_given_away()
        with self.shop.app_context():
            paid = paycheckout.order_status(self.order_id) == "paid"
        assert (self.order_id in self.shipped) is paid
        if not paid:
            assert self.order_id in self.owner.sees("/owner/").partition("All orders")[0]


@pytest.fixture
def moment(
    make_shop: Callable[..., Flask], each_database: str, paycheckout_sandbox: Sandbox, warehouse: responses.RequestsMock
) -> Iterator[Moment]:
    shop = make_shop(SQLALCHEMY_DATABASE_URI=each_database, WAREHOUSE_URL=WAREHOUSE, PAYCHECKOUT_RECONCILE_READERS=1)
    owner = Owner(shop)
    owner.logs_in()
    moment = Moment(shop, paycheckout_sandbox, Shopper(shop), owner)
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


CHANGES = {"changed": ("change", {"first-snow": 9}), "cancelled": ("cancel", {})}


def interleavings(
    moment: Moment, begin: Callable[[], dict[str, Callable[[], object]]], check: Callable[[], None]
) -> int:
    """Each order of the statements in which one act is left once in its course for the others."""
    with moment.shop.app_context():
        engine = db.engine
    return every_interleaving(engine, begin, check, preemptions=1)


@pytest.mark.parametrize(("act", "fields"), CHANGES.values(), ids=CHANGES)
def test_an_order_that_changes_at_any_moment_of_its_payment(moment: Moment, act: str, fields: dict[str, Any]) -> None:
    def begin() -> dict[str, Callable[[], object]]:
        moment.begins()
        return {"settles": moment.settles, "changes": partial(moment.posts, act, **fields)}

    assert interleavings(moment, begin, moment.nothing_is_lost_or_given_away) > 2


@pytest.mark.parametrize(("act", "fields"), CHANGES.values(), ids=CHANGES)
def test_an_order_that_changes_before_a_parcel_that_failed_is_tried_again(
    moment: Moment, act: str, fields: dict[str, Any]
) -> None:
    moment.begins()
    moment.refusals = 1
    moment.settles()
    moment.nothing_is_lost_or_given_away()
    moment.posts(act, **fields)
    moment.nothing_is_lost_or_given_away()
    moment.later()
    moment.all_is_done()
    assert moment.order_id in moment.shipped


def test_an_order_that_changes_just_when_it_is_paid(moment: Moment) -> None:
    """Threads that nobody leads: two that settle, one that changes, one that cancels."""
    with crowd(4) as people:
        for _ in range(8):
            moment.begins()
            changes = [partial(moment.posts, act, **fields) for act, fields in CHANGES.values()]
            people.does([partial(moment.settles), partial(moment.settles), *changes])
            moment.nothing_is_lost_or_given_away()
    moment.later()
    moment.all_is_done()


def test_an_order_whose_held_payment_is_accepted_while_another_one_arrives(moment: Moment) -> None:
    def begin() -> dict[str, Callable[[], object]]:
        moment.begins(payments=2)
        moment.posts("cancel")
        moment.settles()
        with moment.shop.app_context():
            order = db.session.get_one(Order, moment.order_id)
            order.state = "open"  # as the owner may have done by hand
            db.session.commit()
        return {"accepts": partial(decide, moment.checkout_ids[0]), "settles": partial(moment.settles, 1)}

    def decide(checkout_id: str) -> None:
        with moment.shop.app_context():
            paycheckout.resolve(checkout_id, True, by="the owner", why="an old friend")

    assert interleavings(moment, begin, lambda: None) > 2


def test_who_ships_and_who_books_look_at_what_was_paid(moment: Moment) -> None:
    """Should a shop forget the lock somewhere, its receivers refuse, and `report` names them."""
    moment.begins()
    moment.settles()
    parcels = dict(moment.shipped)
    with moment.shop.app_context():
        order = db.session.get_one(Order, moment.order_id)
        order.lines[0].quantity = 9
        db.session.commit()
        checkout = db.session.scalars(select(paycheckout.Checkout)).one()
        # As receivers are called: with an object that is loaded, and without an open transaction.
        db.session.expunge(checkout)
        db.session.rollback()
        told: dict[str, Any] = {"order_id": moment.order_id, "checkout": checkout, "event_id": "told again"}
        for receiver in (order_parcel, pay_suppliers, write_receipt):
            with pytest.raises(NotWhatWasPaid, match="was paid"):
                receiver(moment.shop, **told)
            db.session.rollback()
    assert moment.shipped == parcels


def test_of_two_who_paid_for_the_last_jar_one_gets_it_and_one_is_held(moment: Moment) -> None:
    """At every moment: also when the jar goes after `order_total` was asked, and before the other's jars are taken."""

    def settle(checkout_id: str) -> None:
        with moment.shop.app_context():
            paycheckout.settle(checkout_id)

    def begin() -> dict[str, Callable[[], object]]:
        moment.begins()
        one = moment.checkout_ids[0]
        moment.begins()
        with moment.shop.app_context():
            db.session.execute(update(Stock).values(free=1))
            db.session.commit()
        return {"one": partial(settle, one), "other": moment.settles}

    def newest() -> Sequence[Any]:
        with moment.shop.app_context():
            checkout = paycheckout.Checkout
            return db.session.scalars(select(checkout).order_by(checkout.id.desc()).limit(2)).all()

    def check() -> None:
        if any(attempt.status == "created" for attempt in newest()):
            moment.later()  # who lost the jar in the last moment is weighed again
        both = newest()
        with moment.shop.app_context():
            assert sorted(attempt.status for attempt in both) == ["held", "paid"]
            assert db.session.scalars(select(Stock.free).where(Stock.slug == "first-snow")).one() == 0
        assert sum(attempt.order_id in moment.shipped for attempt in both) == 1

    assert interleavings(moment, begin, check) > 2
