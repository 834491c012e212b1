"""Histories with two persons, one of them malicious, against an oracle: another person approved each sent payout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from flask_paycheckout import ByHand, RefundTooLarge
from flask_paycheckout.payouts.payout_table import references_of
from tests.chance import seed_of, soak_count, stream
from tests.conftest import OpenShop
from tests.payouts.books import NO_ANSWER, Books, Pages
from tests.payouts.claiming import Customer
from tests.payouts.conftest import CONFIG
from tests.payouts.shop import MAKER, TOKEN, WALLET, decides, payout, payouts, pays_out, refunds, sends
from tests.scripted import Shop, refusal

HISTORIES, STEPS, LIMIT = 12, 40, 100
ADA, EVE = "Ada", "Eve"
MEANS = [("retry", ()), ("resolve", (True,)), ("resolve", (False,)), ("cancel", ())]


@pytest.fixture
def shop(open_shop: OpenShop, books: Books) -> Shop:
    books.unique = True
    limits = {"USD": str(LIMIT), TOKEN: str(LIMIT)}
    return open_shop(**CONFIG, PAYCHECKOUT_APPROVE_BY_ANOTHER=True, PAYCHECKOUT_DAILY_LIMIT=limits)


@dataclass
class Oracle:
    """The persons' actions, recorded independently of the database."""

    shop: Shop
    books: Books
    barred: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    """The persons who may not approve a payout: they requested it, saw its link, or decided its result."""

    approved: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    let_through: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    """The sums beyond the limit that approvals allow, by currency."""

    is_deceived: bool = False
    """Whether a person has recorded that paid money came back: another person who believes it may approve it again."""

    def decides(self, decision: str, reference: str, by: str, *arguments: Any, **keywords: Any) -> None:
        """Let a person try a decision."""
        if not decides(self.shop, decision, reference, *arguments, by=by, **keywords):
            return
        if decision == "resolve":
            self.barred[reference].add(by)
            self.is_deceived |= arguments == (False,) and self.has(reference)
        elif decision == "approve":
            assert by not in self.barred[reference], f"{by} has approved {reference}"
            self.approved[reference] += 1
            if keywords["over_limit"]:
                each_payout = payout(self.shop, reference)
                self.let_through[each_payout.currency] += each_payout.amount

    def has(self, reference: str) -> bool:
        """Whether the money of a payout has left."""
        references = references_of([payout(self.shop, reference)])
        return any(each.reference in references and each.status != "failed" for each in self.books.paid)

    def check(self) -> None:
        """Check that each transfer has its own approval, within the daily limits."""
        by_reference = {payout.reference: payout for payout in payouts(self.shop)}
        for reference, each_payout in by_reference.items():
            sent = [each for each in self.books.paid if each.reference in references_of([each_payout])]
            assert len(sent) <= self.approved[reference], reference
            assert len([each for each in sent if each.status != "failed"]) <= 1 or each_payout.is_token
        references = references_of(by_reference.values())
        assert {each.reference for each in self.books.paid} <= references
        days = self.shop.runtime.models.days
        with self.shop.runtime.engine().connect() as connection:
            counted = [(row.currency, row.day) for row in connection.execute(days.select())]
        for currency in ("USD", TOKEN):
            left = sum(
                payout.amount for payout in self.books.paid if payout.currency == currency and payout.status != "failed"
            )
            room = LIMIT * len([day for day in counted if day[0] == currency]) + self.let_through[currency]
            assert left <= room, f"{left} {currency} have left"

    def refunds_are_covered(self, checkout_id: str) -> None:
        """Check that the paid refunds of a payment, without returned ones, are at most what arrived."""
        back = [payout for payout in payouts(self.shop) if payout.refund_of == checkout_id]
        paid = {each.reference: each for each in self.books.paid if each.status != "failed"}
        sent = sum(
            (paid[each].amount for each_payout in back for each in references_of([each_payout]) if each in paid),
            Decimal(0),
        )
        by_hand = sum(
            (
                each_payout.amount
                for each_payout in back
                if each_payout.to_kind == "hand" and each_payout.status == "completed"
            ),
            Decimal(0),
        )
        assert sent + by_hand <= Decimal("12.50") or self.is_deceived


def asks(oracle: Oracle, checkout_id: str, chance: Random) -> None:
    by, amount = chance.choice([ADA, EVE]), Decimal(chance.choice(["12.50", "5", "60", "120"]))
    if chance.random() < 0.5:
        reference = f"p-{chance.randrange(10**12)}"
        pays_out(oracle.shop, reference, amount, to=chance.choice([MAKER, WALLET]), approve=True, by=by)
    else:
        to = chance.choice([None, None, ByHand()])
        try:
            reference = refunds(oracle.shop, checkout_id, min(amount, Decimal("12.50")), to=to, by=by).reference
        except RefundTooLarge:
            return
    oracle.barred[reference].add(by)


def claims(oracle: Oracle, reference: str, chance: Random) -> None:
    """The customer, or Eve after viewing the link, gives a refund's destination."""
    if payout(oracle.shop, reference).kind == "refund" and chance.random() < 0.5:
        oracle.shop.calls.claim_url(reference, by=EVE)
        oracle.barred[reference].add(EVE)
    Customer(oracle.shop, reference).sends()


def approves(oracle: Oracle, reference: str, chance: Random) -> None:
    over_limit = chance.random() < 0.2
    oracle.decides("approve", reference, chance.choice([ADA, EVE, EVE]), over_limit=over_limit)


def decides_otherwise(oracle: Oracle, reference: str, chance: Random) -> None:
    decision, arguments = chance.choice(MEANS)
    if decision == "resolve" and chance.random() < 0.5:
        arguments = (oracle.has(reference),)
    oracle.decides(decision, reference, chance.choice([ADA, EVE]), *arguments)


def has_it_sent_again(oracle: Oracle, reference: str, chance: Random) -> None:
    """Eve records that a payout came back, and tries everything to have it sent again."""
    for decision, arguments in (("resolve", (False,)), ("retry", ())):
        oracle.decides(decision, reference, EVE, *arguments)
    oracle.decides("approve", reference, EVE, over_limit=True)
    sends(oracle.shop)


def happens(oracle: Oracle, chance: Random) -> None:
    """Let the service answer, refuse or lose answers, banks complete, fail or return transfers, and time pass."""
    books = oracle.books
    books.instead = chance.choice([[], [], [NO_ANSWER], [refusal(400, "no such account")]])
    books.lost = chance.choice([0, 0, 1])
    sends(oracle.shop)
    books.instead, books.lost = [], 0
    if chance.random() < 0.5:
        books.finish(chance.choice(["completed", "failed"]))
    completed = [payout for payout in books.paid if payout.status == "completed"]
    if completed and chance.random() < 0.3:
        books.paper.add("finished", id=chance.choice(completed).id, status="failed")
        oracle.shop.browser.post("/paycheckout/webhook", json={"event": "disbursement"})
    oracle.shop.waits(minutes=chance.choice([1, 20, 60 * 24]))
    sends(oracle.shop)


def walk(shop: Shop, books: Books, chance: Random) -> None:
    """Walk a history of one payment and of other payouts."""
    oracle, order_id = Oracle(shop, books), f"h-{chance.randrange(10**12)}"
    books.paper = Pages()
    tables = shop.runtime.models
    for table in (tables.payouts, tables.days):
        shop.executes(table.delete())
    shop.costs("12.50", order_id)
    checkout_id = shop.has_paid(order_id)
    acts: list[Callable[[Oracle, str, Random], None]] = [
        claims,
        approves,
        approves,
        has_it_sent_again,
        decides_otherwise,
    ]
    for _ in range(STEPS):
        stored = [payout.reference for payout in payouts(shop)]
        if not stored or chance.random() < 0.2:
            asks(oracle, checkout_id, chance)
        elif chance.random() < 0.3:
            happens(oracle, chance)
        else:
            chance.choice(acts)(oracle, chance.choice(stored), chance)
        oracle.check()
        oracle.refunds_are_covered(checkout_id)


def test_no_money_leaves_without_the_approval_of_another_or_above_the_limit(
    shop: Shop, books: Books, pytestconfig: pytest.Config
) -> None:
    chance = stream(seed_of(pytestconfig), "two persons")
    for _ in range(HISTORIES):
        walk(shop, books, chance)


@pytest.mark.soak
@pytest.mark.on_each_database
def test_no_money_leaves_in_thousands_of_histories_of_two_persons(
    shop: Shop, books: Books, pytestconfig: pytest.Config
) -> None:
    chance = stream(seed_of(pytestconfig), "two persons")
    for _ in range(soak_count(2_000)):
        walk(shop, books, chance)
