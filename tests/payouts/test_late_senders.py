"""Senders that come back too late, and whose clocks differ: what others have done meanwhile is not done again.

Where nothing else is said, the service pays whatever it is asked to, so that a call that is made twice pays twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from flask_paycheckout import ToWallet
from flask_paycheckout.payouts.following import Following
from tests.conftest import OpenShop
from tests.payouts.books import Books
from tests.payouts.conftest import CONFIG
from tests.payouts.shop import MAKER, TOKEN, WALLET, comes_to_rest, decides, payout, pays_out, sends
from tests.scripted import Shop, refusal

pytestmark = pytest.mark.on_each_database

KINDS = pytest.mark.parametrize("to", [MAKER, WALLET], ids=["bank", "token"])

Meanwhile = Callable[[], None]


def owes(shop: Shop, to: Any) -> None:
    pays_out(shop, "p-1", "8.00", to=to, currency=TOKEN if isinstance(to, ToWallet) else "USD")


def before_its_call(monkeypatch: pytest.MonkeyPatch, meanwhile: Meanwhile) -> None:
    """The next sender falls asleep when it has claimed a payout, and before its claim is prolonged for the call."""
    ask = Following.ask_earlier

    def falls_asleep(following: Following, *arguments: Any) -> bool:
        monkeypatch.setattr(Following, "ask_earlier", ask)
        meanwhile()
        return ask(following, *arguments)

    monkeypatch.setattr(Following, "ask_earlier", falls_asleep)


def before_its_answer(books: Books, meanwhile: Meanwhile) -> None:
    """The next sender falls asleep when its call was done, and before it has the answer."""

    def fall_asleep(references: Sequence[str]) -> None:
        books.created = lambda references: None
        meanwhile()

    books.created = fall_asleep


class Others:
    """Senders that take over, and a person who resolves a token by looking into the books."""

    def __init__(self, shop: Shop, books: Books) -> None:
        self._shop, self._books = shop, books
        self.left: str | None = None

    def __call__(self) -> None:
        self._shop.clock.advance(minutes=10)
        comes_to_rest(self._shop, self._books)
        self.left = payout(self._shop, "p-1").status
        assert self.left in ("sent", "completed")
        assert len(self._books.paid) == 1


@pytest.fixture
def others(shop: Shop, books: Books) -> Others:
    return Others(shop, books)


def nothing_changed(shop: Shop, books: Books, others: Others) -> None:
    assert others.left is not None
    assert payout(shop, "p-1").status == others.left
    shop.clock.advance(hours=1)
    comes_to_rest(shop, books)
    assert len(books.paid) == 1


@KINDS
def test_a_sender_that_sleeps_past_its_lease_makes_no_call(
    shop: Shop, books: Books, monkeypatch: pytest.MonkeyPatch, others: Others, to: Any
) -> None:
    owes(shop, to)
    before_its_call(monkeypatch, others)
    sends(shop)
    nothing_changed(shop, books, others)


@KINDS
def test_an_answer_that_comes_after_the_lease_moves_nothing_back(
    shop: Shop, books: Books, others: Others, to: Any
) -> None:
    owes(shop, to)
    before_its_answer(books, others)
    sends(shop)
    nothing_changed(shop, books, others)


@KINDS
@pytest.mark.parametrize("status_code", [400, 429, 500])
def test_a_refusal_that_comes_after_the_lease_sends_nothing_again(
    shop: Shop, books: Books, others: Others, to: Any, status_code: int
) -> None:
    owes(shop, to)
    books.instead = [refusal(status_code)]
    before_its_answer(books, others)
    sends(shop)
    nothing_changed(shop, books, others)


@KINDS
@pytest.mark.parametrize("minutes", [10, -10])
def test_two_senders_whose_clocks_differ_pay_once(
    open_shop: OpenShop, shop: Shop, books: Books, to: Any, minutes: int
) -> None:
    """The other one comes round again and again, while the call of the first one is under way.

    Here the service takes a reference once, as it says: a call that is still under way cannot be looked up.
    """
    books.unique = True
    other = open_shop(ahead=60 * minutes, **CONFIG)

    def under_way(references: Sequence[str]) -> None:
        books.creating = lambda references: None
        for _ in range(6):
            sends(other)
            shop.clock.advance(seconds=61)
        if payout(shop, "p-1").status == "unknown":
            decides(shop, "resolve", "p-1", books.has(payout(shop, "p-1").service_reference))

    owes(shop, to)
    books.creating = under_way
    sends(shop)
    shop.clock.advance(minutes=20)
    comes_to_rest(shop, books)
    assert len(books.paid) == 1
    assert payout(shop, "p-1").status == ("sent" if isinstance(to, ToWallet) else "completed")
