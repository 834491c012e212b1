"""Payments that arrive while the shop or its database fails: none is held because of such a failure."""

from __future__ import annotations

from asyncio import CancelledError

import pytest
from flask import Flask
from sqlalchemy import text
from sqlalchemy.exc import InternalError, OperationalError, TimeoutError as PoolTimeout

from flask_paycheckout import ConfigurationError, Pay, payment_held
from flask_paycheckout.client import PaymentsError
from tests.alarming import urgent
from tests.scripted import Shop, raising


@pytest.mark.on_each_database
@pytest.mark.parametrize(
    "error",
    [PoolTimeout, SystemExit, CancelledError],
    ids=["no free connection", "gunicorn ends the worker", "a task is cancelled"],
)
def test_no_payment_is_held_for_what_the_shop_cannot_help(shop: Shop, error: type[BaseException]) -> None:
    """Failures of earlier reads, before any money was seen, do not hold it either."""
    checkout_id = shop.has_deposit("pending")
    shop.service.fails(checkout_id)
    for _ in range(3):
        with pytest.raises(PaymentsError):
            shop.settles(checkout_id)
    shop.service.says(checkout_id, "completed")

    shop.paycheckout.order_total(raising(error()))
    with pytest.raises(error):
        shop.settles(checkout_id)
    assert (shop.attempt(checkout_id).status, shop.attempt(checkout_id).deposit_status) == ("created", "completed")
    shop.paycheckout.order_total(shop.totals.get)
    assert shop.settles(checkout_id).status == "paid"


@pytest.mark.on_each_database
def test_an_order_total_must_not_commit(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")

    @shop.paycheckout.order_total
    def commits(order_id: str) -> Pay:
        shop.db.session.execute(text("SELECT 1"))
        shop.db.session.commit()
        return Pay("12.50", "USD")

    assert shop.settles(checkout_id).reason == "order_total_failed"
    with pytest.raises(RuntimeError, match="must not commit"):
        shop.starts("o-2")


@pytest.mark.on_each_database
@pytest.mark.parametrize("ends", ["raises", "rolls back"])
def test_a_receiver_of_a_held_payment_that_fails_runs_again_under_the_same_event_id(shop: Shop, ends: str) -> None:
    """The failure is stored with the payment, which changes the checkout's revision."""
    checkout_id, heard = shop.has_arrived("1"), list[str]()

    @shop.paycheckout.atomic
    def receiver(app: Flask, *, event_id: str, **facts: object) -> None:
        heard.append(event_id)
        if len(heard) == 3:
            return
        if ends == "raises":
            raise RuntimeError("not now")
        shop.db.session.rollback()

    with payment_held.connected_to(receiver, sender=shop.app):
        for _ in range(3):
            shop.reconciles(minutes=10)
    assert (shop.attempt(checkout_id).status, len(heard), len(set(heard))) == ("held", 3, 1)


def test_an_order_that_became_free_is_held_with_the_true_reason(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")

    shop.paycheckout.order_total(lambda order_id: Pay("0", "USD"))
    assert shop.settles(checkout_id).reason == "order_not_payable"


class _Simulated(Exception):
    """An error of a driver with a SQLSTATE."""

    def __init__(self, code: str) -> None:
        super().__init__(f"simulated {code}")
        self.sqlstate = code


@pytest.mark.parametrize("code", ["57014", "53200", "53300", "53400", "58030", "57P01", "57P05", "25006", "08006"])
def test_a_trouble_of_the_database_that_passes_holds_no_payment_however_long_it_lasts(shop: Shop, code: str) -> None:
    checkout_id = shop.has_deposit("completed")

    shop.paycheckout.order_total(raising(OperationalError("SELECT", {}, _Simulated(code))))
    for _ in range(5):
        shop.reconciles(hours=1)
    assert (shop.attempt(checkout_id).status, urgent(shop)) == ("created", {"unsettled-payments"})
    shop.paycheckout.order_total(shop.totals.get)
    shop.reconciles(minutes=10)
    assert shop.attempt(checkout_id).status == "paid"


def test_an_unknown_error_of_the_database_is_the_shops_after_an_hour(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")

    shop.paycheckout.order_total(raising(InternalError("SELECT", {}, _Simulated("XX000"))))
    for minutes in (0, 20, 20, 19):
        shop.reconciles(minutes=minutes)
        assert shop.attempt(checkout_id).status == "created"
    shop.reconciles(minutes=1)
    assert (shop.attempt(checkout_id).status, shop.attempt(checkout_id).reason) == ("held", "order_total_failed")


def test_a_process_without_order_total_holds_nothing(shop: Shop) -> None:
    """Such a process imported too little; another process has the function."""
    checkout_id = shop.has_deposit("completed")
    shop.runtime.callbacks.order_total = None
    with pytest.raises(ConfigurationError, match="order_total"):
        shop.settles(checkout_id)
    attempt = shop.attempt(checkout_id)
    assert (attempt.status, attempt.deposit_status) == ("created", "completed")
    assert "order_total" in attempt.problem

    shop.paycheckout.order_total(shop.totals.get)
    settled = shop.settles(checkout_id)
    assert (settled.status, settled.problem, settled.problem_since) == ("paid", None, None)


@pytest.mark.on_each_database
def test_a_stored_total_that_cannot_be_read_is_an_alarm_and_its_money_is_seen(shop: Shop) -> None:
    """An example is a total in a currency that is no longer in the standard."""
    checkout_id = shop.has_deposit("completed")
    table = shop.runtime.models.checkouts
    shop.executes(table.update().where(table.c.checkout_id == checkout_id).values(total_currency="QQQ"))
    shop.reconciles()
    assert shop.attempt(checkout_id).problem == "ValueError in the shop"
    assert "unsettled-payments" in urgent(shop)
