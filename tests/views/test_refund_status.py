"""Refunds on the status page of their order."""

from __future__ import annotations

import re

import pytest

from tests.payouts.shop import refunds, stands
from tests.scripted import Shop
from tests.views.owner import text_of
from tests.views.pages import heading, opens


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


def test_who_paid_twice_is_told_so_and_what_becomes_of_the_second_payment(shop: Shop) -> None:
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


def test_the_status_page_costs_no_more_with_many_refunds(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    assert len(shop.runtime.payouts.refund_states("o-1")) == 0
    refunds_of(shop, checkout_id, *["completed"] * 20, amount="0.10")
    assert len(shop.runtime.payouts.refund_states("o-1")) == 1
