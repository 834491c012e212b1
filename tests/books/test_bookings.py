"""The ledger of payments: each movement is a row of the transaction that moves the checkout."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from flask_paycheckout import order_paid
from tests.books.test_report import has_second
from tests.scripted import Shop, number

IN_EUR: dict[str, Any] = {"fee": {"amount": number("0.37"), "currency": "EUR"}}
IN_USD: dict[str, Any] = {"fee": {"amount": number("0.37"), "currency": "USD"}}


def books(shop: Shop) -> list[str]:
    return [f"{line.kind} {line.gross} {line.fee} {line.net} {line.received}" for line in shop.calls.books()]


@pytest.mark.on_each_database
def test_held_money_is_booked_apart_and_becomes_a_payment_when_it_is_accepted(shop: Shop) -> None:
    checkout_id = shop.has_arrived("1", **IN_EUR)
    shop.settles(checkout_id)
    held_lines = ["held 1 0 1 12.13", "fee 0 0.37 -0.37 None"]
    assert books(shop) == held_lines
    shop.waits(days=40)
    shop.resolves(checkout_id, accept=True)
    assert books(shop) == [*held_lines, "held -1 0 -1 -12.13", "payment 1 0 1 12.13"], "its fee was paid once"
    assert [line.kind for line in shop.calls.books("2026-02-01")] == ["held", "payment"]
    assert len(shop.calls.books(end=shop.clock.now.date(), account="")) == 2
    assert shop.calls.books(account="north") == []


@pytest.mark.parametrize(("fee", "more"), [(IN_USD, []), (IN_EUR, ["fee 0 0.37 -0.37 None"])])
def test_the_fee_of_a_payment_that_comes_after_all_is_booked_once(
    shop: Shop, fee: dict[str, Any], more: list[str]
) -> None:
    checkout_id = shop.has_deposit("completed", **fee)
    shop.settles(checkout_id)
    first, *others = books(shop)
    assert others == more
    for status in ("failed", "completed"):
        shop.service.says(checkout_id, status, **fee)
        shop.waits(minutes=1)
        shop.hears_of(checkout_id)
    again = books(shop)[-1]
    assert len(books(shop)) == 3 + len(more)
    assert (first.split()[1], sum(line.fee or 0 for line in shop.calls.books())) == (again.split()[1], Decimal("0.37"))
    assert "differs 0" in shop.runs("audit").output


def test_rejected_and_second_payments_stay_held(shop: Shop) -> None:
    shop.has_rejected("o-2")
    shop.resolves(has_second("o-1", shop), accept=True)
    assert [line.split()[0] for line in books(shop)] == ["held", "payment", "held"], (
        "an accepted duplicate pays nothing"
    )


@pytest.mark.on_each_database
def test_money_that_could_not_be_applied_is_held_until_it_is(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed", **IN_USD)
    with shop.refusing(order_paid):
        shop.settles(checkout_id)
        shop.settles(checkout_id)
    assert books(shop) == ["held 12.50 0.37 12.13 12.13"]
    assert shop.settles(checkout_id).status == "paid"
    assert books(shop)[1:] == ["held -12.50 -0.37 -12.13 -12.13", "payment 12.50 0.37 12.13 12.13"]


@pytest.mark.on_each_database
def test_a_settlement_that_is_overtaken_by_a_noted_arrival_books_the_money_once(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed", **IN_USD)

    def overtake() -> None:
        with shop.refusing(order_paid):
            shop.settles(checkout_id)

    shop.service.meets_once(overtake)
    assert shop.settles(checkout_id).status == "paid"
    assert [line.split()[:2] for line in books(shop)] == [["held", "12.50"], ["held", "-12.50"], ["payment", "12.50"]]


@pytest.mark.on_each_database
def test_the_database_itself_refuses_a_second_booking(shop: Shop) -> None:
    shop.has_paid()
    table = shop.runtime.models.bookings
    columns = [column for column in table.c if column.name != "id"]
    with pytest.raises(IntegrityError):
        shop.executes(table.insert().from_select(columns, select(*columns)))
