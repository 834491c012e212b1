"""Refunds on the status page of their order."""

from __future__ import annotations

import re

import pytest

from flask_paycheckout import ByHand
from tests.payouts.shop import refunds, stands
from tests.scripted import Shop
from tests.views.owner import text_of
from tests.views.pages import heading, opens


def pays(shop: Shop, amount: str) -> str:
    """Pay a part of an order of 100 USD; returns the checkout's id."""
    shop.costs("100", parts=True)
    checkout_id: str = shop.settles(shop.has_arrived(amount)).checkout_id
    return checkout_id


def refunds_of(shop: Shop, checkout_id: str, *statuses: str, amount: str | None = "2") -> None:
    for status in statuses:
        stands(shop, refunds(shop, checkout_id, amount).reference, status=status)


@pytest.mark.parametrize(
    ("statuses", "amount", "title", "rows"),
    [
        (("cancelled", "failed"), "2", "Paid, thank you", ["delayed $2.00"]),
        (("claimable",), None, "Paid, thank you", ["unclaimed $12.50"]),
        (("unknown", "waiting"), "2", "Paid, thank you", ["under way $2.00", "delayed $2.00"]),
        (("completed",), "2", "Partly refunded", ["refunded $2.00"]),
        (("completed",), None, "Refunded", ["refunded $12.50"]),
        (("completed", "completed"), "6.25", "Refunded", ["refunded $12.50"]),
    ],
)
def test_the_status_page_tells_refunds_and_the_json_does_not(
    shop: Shop, statuses: tuple[str, ...], amount: str | None, title: str, rows: list[str]
) -> None:
    refunds_of(shop, shop.has_paid(), *statuses, amount=amount)
    page = opens(shop)
    assert heading(page.text) == title
    assert re.findall(r"Refund ([a-z ]+ \$[0-9.]+)", text_of(page)) == rows
    assert "/refunds/" not in page.text
    assert opens(shop, suffix="/status").get_json() == {"status": "paid", "final": True, "pollAfter": 0}


def test_a_failed_refund_that_another_has_replaced_is_not_promised_any_more(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    failed = refunds(shop, checkout_id, "5").reference
    stands(shop, failed, status="failed")
    refunds(shop, checkout_id, "5", to=ByHand(), replaces=failed)
    page = text_of(opens(shop))
    assert ("Refund refunded $5.00" in page, "delayed" in page) == (True, False)


def test_a_customer_who_paid_twice_is_told_what_becomes_of_the_second_payment(shop: Shop) -> None:
    second = shop.starts()
    shop.waits(minutes=15)
    shop.has_paid()
    assert shop.settles(second, says="completed").status == "held"
    page = opens(shop).text
    assert heading(page) == "Paid, thank you"
    assert ("A second payment arrived" in page, "nothing more to do" in page) == (True, False)
    shop.resolves(second, accept=True)
    page = opens(shop).text
    assert ("A second payment arrived" in page, "nothing more to do" in page) == (False, True)
    refunds_of(shop, second, "completed", amount=None)
    back = opens(shop)
    assert (heading(back.text), "Refund refunded $12.50" in text_of(back)) == ("Paid, thank you", True)


def test_a_customer_who_paid_twice_and_got_one_payment_back_is_partly_refunded(shop: Shop) -> None:
    second = shop.starts()
    shop.waits(minutes=15)
    first = shop.has_paid()
    shop.settles(second, says="completed")
    shop.resolves(second, accept=True)
    refunds_of(shop, first, "completed", amount=None)
    assert heading(opens(shop).text) == "Partly refunded"


@pytest.mark.parametrize(
    ("refunded", "title"), [((0,), "Partly refunded"), ((1,), "Partly refunded"), ((0, 1), "Refunded")]
)
def test_an_order_paid_in_parts_is_refunded_when_each_part_is(
    shop: Shop, refunded: tuple[int, ...], title: str
) -> None:
    parts = [pays(shop, amount) for amount in ("60", "40")]
    for number in refunded:
        refunds_of(shop, parts[number], "completed", amount=None)
    assert heading(opens(shop).text) == title


def test_a_customer_with_a_refunded_only_part_is_told_so_and_can_pay_again(shop: Shop) -> None:
    refunds_of(shop, pays(shop, "60"), "completed", amount=None)
    page = opens(shop).text
    assert (heading(page), "Pay $100.00" in page) == ("Refunded", True)


def test_a_refund_of_what_came_too_much_is_a_refund_of_a_part(shop: Shop) -> None:
    part = pays(shop, "60")
    shop.costs("20", parts=True)
    shop.reconciles()
    refunds_of(shop, part, "completed", amount="40")
    assert heading(opens(shop).text) == "Partly refunded"


def test_the_status_page_costs_no_more_with_many_refunds(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    assert len(shop.runtime.payouts.refund_states("o-1")) == 0
    refunds_of(shop, checkout_id, *["completed"] * 20, amount="0.10")
    assert len(shop.runtime.payouts.refund_states("o-1")) == 1
