"""Senders that continue too late, or whose clocks differ: the work that others did in the meantime is not repeated.

By default the service pays every request, so that a repeated call pays twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from flask_paycheckout.payouts.due_payouts import DuePayouts
from tests.conftest import OpenShop
from tests.payouts.books import Books
from tests.payouts.conftest import CONFIG
from tests.payouts.shop import MAKER, WALLET, comes_to_rest, decides, payout, pays_out, sends
from tests.scripted import Shop, refusal

pytestmark = pytest.mark.on_each_database

KINDS = pytest.mark.parametrize("to", [MAKER, WALLET], ids=["bank", "token"])

Meanwhile = Callable[[], None]


def before_its_call(monkeypatch: pytest.MonkeyPatch, meanwhile: Meanwhile) -> None:
    """Run `meanwhile` after the next sender has claimed a payout, before its claim is renewed for the call."""
    renew = DuePayouts.renew

    def falls_asleep(due: DuePayouts, *arguments: Any) -> Any:
        monkeypatch.setattr(DuePayouts, "renew", renew)
        meanwhile()
        return renew(due, *arguments)

    monkeypatch.setattr(DuePayouts, "renew", falls_asleep)


def before_its_answer(books: Books, meanwhile: Meanwhile) -> None:
    """Run `meanwhile` after the next sender's call was done, before it gets the answer."""

    def fall_asleep(references: Sequence[str]) -> None:
        books.created = lambda references: None
        meanwhile()

    books.created = fall_asleep


@pytest.fixture
def others(shop: Shop, books: Books) -> Meanwhile:
    """Let other senders take over, and a person decide a token by the service's books."""

    def take_over() -> None:
        shop.waits(minutes=10)
        comes_to_rest(shop, books)

    return take_over


def is_paid_once(shop: Shop, books: Books) -> None:
    """Check that the first sender has paid it and, if possible, followed it to its end; nothing changes that."""
    for _ in range(2):
        stored = payout(shop)
        assert (stored.status, len(books.paid)) == ("sent" if stored.is_token else "completed", 1)
        shop.waits(hours=1)
        comes_to_rest(shop, books)


@KINDS
def test_a_sender_that_sleeps_past_its_lease_makes_no_call(
    shop: Shop, books: Books, monkeypatch: pytest.MonkeyPatch, others: Meanwhile, to: Any
) -> None:
    pays_out(shop, to=to)
    before_its_call(monkeypatch, others)
    sends(shop)
    is_paid_once(shop, books)


@KINDS
def test_an_answer_that_comes_after_the_lease_moves_nothing_back(
    shop: Shop, books: Books, others: Meanwhile, to: Any
) -> None:
    pays_out(shop, to=to)
    before_its_answer(books, others)
    sends(shop)
    is_paid_once(shop, books)


@pytest.mark.parametrize(("to", "status_code"), [(MAKER, 400), (MAKER, 500), (WALLET, 400), (WALLET, 429)], ids=str)
def test_a_refusal_that_comes_after_the_lease_sends_nothing_again(
    shop: Shop, books: Books, others: Meanwhile, to: Any, status_code: int
) -> None:
    pays_out(shop, to=to)
    books.instead = [refusal(status_code)]
    before_its_answer(books, others)
    sends(shop)
    is_paid_once(shop, books)


@KINDS
@pytest.mark.parametrize("minutes", [10, -10])
def test_two_senders_whose_clocks_differ_pay_once(
    open_shop: OpenShop, shop: Shop, books: Books, to: Any, minutes: int
) -> None:
    """The other sender runs repeatedly while the call of the first one is under way.

    Here the service accepts a reference once, as documented: a call that is still under way cannot be looked up.
    """
    books.unique = True
    other = open_shop(ahead=60 * minutes, **CONFIG)

    def under_way(references: Sequence[str]) -> None:
        books.creating = lambda references: None
        for _ in range(6):
            sends(other)
            shop.waits(seconds=61)
        if payout(shop).status == "unknown":
            decides(shop, "resolve", "maker-1", books.has(payout(shop).service_reference))

    pays_out(shop, to=to)
    books.creating = under_way
    sends(shop)
    shop.waits(minutes=20)
    comes_to_rest(shop, books)
    is_paid_once(shop, books)
