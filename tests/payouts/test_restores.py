"""A shop on a restored database requests its lost refunds again, and finds those that the service has paid.

The service pays every request, so that a repeated call pays twice.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from flask_paycheckout import ByHand
from tests.books.conftest import contents, restores
from tests.conftest import OpenShop
from tests.payouts.books import Books
from tests.payouts.conftest import CONFIG
from tests.payouts.shop import MAKER, payout, refunds, sends, statuses
from tests.scripted import Shop, refusal

Act = Callable[[Shop, str], object]


@pytest.fixture
def restored(open_shop: OpenShop, shop: Shop, books: Books) -> Callable[[Act], tuple[Shop, str]]:
    """Do something, then restore an earlier database; returns the shop on that database, and the payment."""

    def restore(since: Act) -> tuple[Shop, str]:
        checkout_id = shop.has_paid()
        shop.reconciles()
        backup = contents(shop)
        since(shop, checkout_id)
        restores(shop, backup)
        shop.waits(hours=1)
        return open_shop(**CONFIG), checkout_id

    return restore


def refunded(amount: str, **keywords: Any) -> Act:
    """An act that sends a refund."""

    def refund(shop: Shop, checkout_id: str) -> None:
        refunds(shop, checkout_id, amount, **{"to": MAKER} | keywords)
        sends(shop)
        shop.waits(minutes=11)

    return refund


def cancelled(shop: Shop, checkout_id: str) -> None:
    reference = refunds(shop, checkout_id, "3.00").reference
    shop.calls.cancel_payout(reference, by="Ada", why="typed wrongly")


def unclaimed(shop: Shop, checkout_id: str) -> None:
    refunds(shop, checkout_id, "2.00")


def by_hand(shop: Shop, checkout_id: str) -> None:
    refunds(shop, checkout_id, "1.00", to=ByHand())


def each(*acts: Act) -> Act:
    def act(shop: Shop, checkout_id: str) -> None:
        for step in acts:
            step(shop, checkout_id)

    return act


@pytest.mark.parametrize(
    ("since", "again"),
    [
        (refunded("2.50"), refunded("2.50")),
        (each(cancelled, refunded("2.50")), refunded("2.50")),
        (each(unclaimed, refunded("2.50")), refunded("2.50")),
        (each(by_hand, refunded("2.50")), each(refunded("2.50"), by_hand)),
        (refunded("2.50"), each(by_hand, refunded("2.50"))),
        (each(refunded("2.50"), refunded("4.00")), each(refunded("4.00"), refunded("2.50"))),
        (each(*[refunded("2.50")] * 2), each(*[refunded("2.50")] * 2)),
    ],
    ids=["plain", "cancelled", "unclaimed", "by hand", "by hand first", "in another order", "twice"],
)
def test_refunds_that_are_asked_for_again_are_found(
    restored: Callable[[Act], tuple[Shop, str]], books: Books, since: Act, again: Act
) -> None:
    shop, checkout_id = restored(since)
    paid = sorted(payout.amount for payout in books.paid)
    again(shop, checkout_id)
    assert sorted(payout.amount for payout in books.paid) == paid
    assert statuses(shop)["sent"] == len(paid)


def test_another_refund_waits_until_the_forgotten_one_is_asked_for_again(
    restored: Callable[[Act], tuple[Shop, str]], books: Books
) -> None:
    shop, checkout_id = restored(refunded("2.50"))
    other = refunds(shop, checkout_id, "4.00", to=MAKER).reference
    sends(shop)
    stored = payout(shop, other)
    assert (stored.status, "has paid 2.50 USD of this payment" in stored.problem) == ("ready", True)
    assert len(books.paid) == 1
    refunded("2.50")(shop, checkout_id)
    sends(shop, minutes=11)
    assert statuses(shop) == {"sent": 2}
    assert [payout.amount for payout in books.paid] == [Decimal("2.50"), Decimal("4.00")]


def test_a_refund_waits_while_the_transfers_of_its_payment_cannot_be_looked_up(shop: Shop, books: Books) -> None:
    """It stops no other payout."""
    checkout_id = shop.has_paid()
    refund = refunds(shop, checkout_id, "2.50", to=MAKER).reference
    books.instead_of_reads = [refusal(503)] * 9
    sends(shop)
    stored = payout(shop, refund)
    assert (stored.status, "could not be looked up" in stored.problem, books.paid) == ("ready", True, [])
    books.instead_of_reads = []
    sends(shop, minutes=1)
    assert payout(shop, refund).status == "sent"
