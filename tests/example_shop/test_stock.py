"""Jars are reserved, sold and released according to the payment's status, and never sold twice."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import delete, update

from example_shop.database import Order, db
from example_shop.payments import paycheckout
from example_shop.stock import OPENING, SoldOut, Stock, allot, follow_payment, wanted
from tests.example_shop.conftest import Owner, Payments, Shopper, rows, stored
from tests.races.crowds import crowd

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask


SLUG = "first-snow"


def shelf(shop: Flask) -> tuple[int, int, int]:
    """How many jars of First Snow are free, reserved and sold."""
    [counts] = [(kind.free, kind.reserved, kind.sold) for kind in rows(shop, Stock) if kind.slug == SLUG]
    return counts


def leave_only(shop: Flask, free: int) -> None:
    with shop.app_context():
        db.session.execute(update(Stock).where(Stock.slug == SLUG).values(free=free))
        db.session.commit()


def test_jars_are_reserved_while_somebody_pays_and_taken_once_it_is_paid(
    shop: Flask, shopper: Shopper, payments: Payments
) -> None:
    order_id = shopper.orders(first_snow=3)
    assert shelf(shop) == (OPENING, 0, 0)
    checkout_id = payments.picks(order_id)
    payments.passes(2)
    assert shelf(shop) == (OPENING - 3, 3, 0)
    payments.sandbox.pay(checkout_id)
    payments.passes(10)
    assert shelf(shop) == (OPENING - 3, 0, 3)


def test_jars_of_an_order_that_is_called_off_are_free_at_once(
    shop: Flask, shopper: Shopper, payments: Payments
) -> None:
    order_id = shopper.orders(first_snow=3)
    payments.picks(order_id)
    payments.passes(2)
    shopper.cancels(order_id)
    assert shelf(shop) == (OPENING, 0, 0)
    with shop.app_context():
        follow_payment(shop, order_id=order_id)
        db.session.commit()
    assert shelf(shop) == (OPENING, 0, 0), "nor does a signal that comes late reserve any"


def test_the_last_jar_is_for_who_pays_first(shop: Flask, shopper: Shopper, payments: Payments) -> None:
    leave_only(shop, 1)
    first, second = shopper.orders(first_snow=1), shopper.orders(first_snow=1)
    assert "Only 1 left." in shopper.sees("/jars/first-snow")
    slow = payments.picks(first)
    quick = payments.picks(second)
    payments.sandbox.pay(quick)
    payments.passes(2)
    assert stored(shop, second).state == "paid"
    assert "All gone for now." in shopper.sees("/jars/first-snow")
    page = shopper.sees(f"/orders/{first}")
    assert "We do not have enough left of First Snow." in page
    assert "Pay $" not in page
    payments.sandbox.pay(slow)
    payments.passes(10)
    assert shopper.reads(first) == "We are looking at your payment"
    assert shelf(shop) == (0, 0, 1)


def test_a_deposit_takes_its_jars_off_the_shelf(shop: Flask, shopper: Shopper, payments: Payments) -> None:
    """The jars of a deposit are not sold to others, however many jars other orders reserve or buy."""
    first, second = shopper.orders(first_snow=15), shopper.orders(first_snow=15)
    payments.picks(shopper.orders(first_snow=19))
    for order_id in (first, second):
        payments.pays(order_id)
        assert shopper.reads(order_id) == "A part is paid, thank you!"
        payments.passes(2)
    assert "We do not have enough left" in shopper.sees(f"/orders/{shopper.orders(first_snow=11)}")
    payments.picks(second)
    payments.passes(2)
    payments.pays(first)
    assert stored(shop, first).state == "paid"


def test_the_rest_of_an_order_without_jars_is_not_asked_for(
    shop: Flask, shopper: Shopper, payments: Payments, owner: Owner
) -> None:
    """A person has accepted the deposit although its jars are missing."""
    order_id = shopper.orders(first_snow=20)
    checkout_id = shopper.starts_to_pay(order_id)
    leave_only(shop, 16)
    payments.sandbox.pay(checkout_id)
    payments.passes(1)
    with shop.app_context():
        paycheckout.resolve(checkout_id, True, "Ada", "more are caught tomorrow", as_part=True)
    page = shopper.sees(f"/orders/{order_id}")
    assert ("We do not have enough left" in page, "Pay $" in page) == (True, False)
    owner.logs_in()
    catches_more(owner, payments)
    payments.pays(order_id)
    assert shelf(shop) == (0, 0, 20)


def test_a_product_that_is_newer_than_the_table_gets_its_first_jars(
    shop: Flask, owner: Owner, payments: Payments
) -> None:
    """So it is, too, after a migration, which makes an empty table."""
    with shop.app_context():
        db.session.execute(delete(Stock).where(Stock.slug == SLUG))
        db.session.commit()
    owner.logs_in()
    assert "First Snow" in owner.sees("/owner/stock/")
    catches_more(owner, payments)
    assert shelf(shop) == (4, 0, 0)


def test_nobody_reserves_more_than_half_of_a_shelf_without_paying(
    shop: Flask, shopper: Shopper, payments: Payments
) -> None:
    orders = [shopper.orders(first_snow=9) for _ in range(5)]
    for order_id in orders:
        payments.picks(order_id)
    payments.passes(2)
    for order_id in orders:
        shopper.changes(order_id, first_snow=20)
    free, reserved, _ = shelf(shop)
    assert 0 < reserved <= free


def test_of_many_at_once_as_many_get_a_jar_as_there_are(make_shop: Callable[..., Flask], each_database: str) -> None:
    shop = make_shop(SQLALCHEMY_DATABASE_URI=each_database)
    shopper = Shopper(shop)
    orders = [shopper.orders(first_snow=2) for _ in range(8)]
    leave_only(shop, 13)

    def act(order_id: str, *, gives_back: bool = False) -> None:
        with shop.app_context():
            order = db.session.get_one(Order, order_id, with_for_update=True)
            with suppress(SoldOut):
                allot(order) if gives_back else allot(order, reserved=wanted(order))
            db.session.commit()

    with crowd(8) as people:
        people.does([partial(act, each) for each in orders])
        assert shelf(shop) == (7, 6, 0)
        people.does([partial(act, each, gives_back=True) for each in orders[:4] * 2])
        people.does([partial(act, each, gives_back=True) for each in orders])
    assert shelf(shop) == (13, 0, 0)


def pays_too_late(shopper: Shopper, owner: Owner, payments: Payments) -> str:
    """The owner accepts a late payment although another customer bought the last jar; returns the order's id."""
    late, quick = shopper.orders(first_snow=1), shopper.orders(first_snow=1)
    checkout_id = payments.picks(late)
    payments.passes(10, 25 * 60)
    payments.sandbox.pay(shopper.starts_to_pay(quick))
    payments.passes(10)
    assert stored(shopper.shop, quick).state == "paid"
    payments.sandbox.pay(checkout_id)
    payments.passes(13 * 60)
    assert shopper.reads(late) == "We are looking at your payment"
    assert shelf(shopper.shop) == (0, 0, 1)
    owner.logs_in()
    owner.decides(checkout_id, "accept", "more is caught tomorrow")
    assert stored(shopper.shop, late).state == "paid"
    assert shelf(shopper.shop) == (0, 0, 1)
    return late


def catches_more(owner: Owner, payments: Payments) -> None:
    assert owner.sends("/owner/stock/", slug="first-snow", jars=4).status_code == 302
    payments.passes(60)


def test_a_paid_order_that_is_sold_out_waits_for_the_next_catch(
    shop: Flask, shopper: Shopper, owner: Owner, payments: Payments
) -> None:
    """A late payment is accepted after another customer bought the jar: no jar is oversold, and no order is lost."""
    leave_only(shop, 1)
    pays_too_late(shopper, owner, payments)
    assert "Paid, but sold out" in owner.sees("/owner/")
    catches_more(owner, payments)
    assert shelf(shop) == (3, 0, 2)
    assert "Paid, but sold out" not in owner.sees("/owner/")


def test_a_sold_out_order_that_was_refunded_gets_no_jar(
    shop: Flask, shopper: Shopper, owner: Owner, payments: Payments
) -> None:
    leave_only(shop, 1)
    late = pays_too_late(shopper, owner, payments)
    assert owner.refunds(late).status_code == 302
    catches_more(owner, payments)
    assert shelf(shop) == (4, 0, 1)
