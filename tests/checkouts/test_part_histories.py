"""Random histories of orders and requests that are paid in parts: they agree with an oracle that counts in cents.

An order is shipped once, and only when its payments less their refunds reach its total, or a person decides so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from flask_paycheckout import OrderNotPayable, OrderSettled, Pay, RefundTooLarge, TransitionRefused
from tests.chance import seed_of, soak_count, stream
from tests.checkouts.test_requests import asks, withdraws
from tests.payouts.shop import decides, refunds
from tests.scripted import Shop, number

HISTORIES, STEPS = 40, 14
# Cents whose sums are often equal.
SUMS = (1, 2500, 3000, 5000, 7000, 10000, 12345)
OPEN = "open"


@dataclass
class Money:
    """The money that arrived on one page, and the refunded part."""

    total: int
    due: int
    state: str = OPEN
    arrived: int = 0
    refunds: dict[str, int] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        return self.arrived - sum(self.refunds.values())


class Oracle:
    """The rules for parts, on integers."""

    def __init__(self, total: int) -> None:
        self.total: int | None = total
        self.pages: dict[str, Money] = {}
        self.came: list[str] = []
        self.paid_by: str | None = None
        self.excess = 0

    @property
    def paid(self) -> int:
        return sum(page.kept for name, page in self.pages.items() if page.state == "part" or name == self.paid_by)

    @property
    def parts(self) -> list[str]:
        return [name for name in self.came if self.pages[name].state == "part"]

    @property
    def held(self) -> list[str]:
        return [name for name, page in self.pages.items() if page.state == "held"]

    def left(self) -> int:
        """The unpaid rest of the newest total, or of the newest page's total."""
        total = list(self.pages.values())[-1].total if self.total is None else self.total
        return 0 if self.paid_by else max(total - self.paid, 0)

    def arrives(self, name: str, cents: int) -> None:
        page, left = self.pages[name], 0 if self.total is None else self.total - self.paid
        page.arrived = cents
        self.came.append(name)
        if self.paid_by or self.total is None or cents > left:
            page.state = "held"
        elif cents < left:
            page.state = "part"
        else:
            self.pays(name, left)

    def pays(self, name: str, left: int) -> None:
        self.excess = self.pages[name].arrived - left
        self.pages[name].state, self.paid_by = "paid", name

    def looks(self) -> None:
        """The shop's function returns the order's total."""
        if self.parts and not self.paid_by and self.total is not None and self.paid >= self.total:
            over, newest = self.paid - self.total, self.parts[-1]
            self.pages[newest].state, self.paid_by, self.excess = "paid", newest, over

    def accepts(self, name: str, how: str) -> int | None:
        """The cents that are refunded at once, if it may be accepted like this; else None."""
        page = self.pages[name]
        basis = page.total if self.total is None else self.total
        over = page.arrived if self.paid_by else self.paid + page.arrived - basis
        refused = over <= 0 if how == "excess" else over > 0 and (how == "part" or not self.paid_by)
        if refused:
            return None
        if self.paid_by:
            page.state = "paid"
        elif how == "part" and over < 0:
            page.state = "part"
        else:
            self.pays(name, page.arrived - over)
        return min(over, page.arrived) if how == "excess" else 0

    def refunds(self, name: str, cents: int, reference: str) -> None:
        page = self.pages[name]
        if page.state == "held":
            page.state = "rejected"
        page.refunds[reference] = cents
        self.counts(name, -cents)

    def cancels(self, name: str, reference: str) -> None:
        self.counts(name, self.pages[name].refunds.pop(reference))

    def counts(self, name: str, cents: int) -> None:
        """The excess of a paid order changes with each payment that counts for it."""
        if self.paid_by and (name == self.paid_by or self.pages[name].state == "part"):
            self.excess += cents

    def listed(self) -> dict[str, int]:
        """The money that must be refunded or kept, by page."""
        apart = {name: page for name, page in self.pages.items() if name != self.paid_by}
        waits = {name: page.kept for name, page in apart.items() if page.state in ("paid", "rejected") and page.kept}
        return waits | ({self.paid_by: self.excess} if self.paid_by and self.excess > 0 else {})


def usd(cents: int) -> Decimal:
    return Decimal(cents) / 100


class History:
    """One order of the shop, or one payment request, with its oracle."""

    def __init__(self, shop: Shop, chance: Random) -> None:
        self.shop, self.chance = shop, chance
        self.order_id = f"h-{chance.randrange(10**12)}"
        self.oracle = Oracle(10000)
        self.request: str | None = None
        self.costs(10000)
        if chance.random() < 0.25:
            request = asks(shop, total=self.total(10000), by="Ada")
            self.request, self.order_id = request.reference, request.order_id

    def costs(self, cents: int | None) -> None:
        self.oracle.total = cents
        self.now = self.chance.choice([None, 3000, 10000])
        self.shop.totals[self.order_id] = None if cents is None else self.total(cents)

    def total(self, cents: int) -> Pay:
        return Pay(usd(cents), "USD", parts=True, now=None if self.now is None else usd(self.now))

    # Steps

    def starts(self) -> str | None:
        oracle = self.oracle
        try:
            name = self.shop.starts(self.order_id)
        except OrderNotPayable:
            assert oracle.total is None
            return None
        except OrderSettled:
            if not oracle.held:
                oracle.looks()
            assert oracle.paid_by or oracle.held
            return None
        assert oracle.total is not None
        due = min(self.now or oracle.total, oracle.total - oracle.paid)
        oracle.pages.setdefault(name, Money(oracle.total, due))
        assert self.shop.attempt(name).due == Pay(usd(due), "USD")
        return name

    def pays(self) -> None:
        waiting = [name for name, page in self.oracle.pages.items() if page.state == OPEN]
        name = self.chance.choice(waiting) if waiting and self.chance.random() < 0.3 else self.starts()
        if name is not None:
            due = self.oracle.pages[name].due
            cents = self.chance.choice([due, due, max(due - 1, 1), due + 1, *SUMS])
            # The newest part is found by time, so times must differ.
            self.shop.waits(milliseconds=1)
            self.shop.settles(name, "completed", inputAmount=number(usd(cents)))
            self.oracle.arrives(name, cents)

    def changes(self) -> None:
        if self.request is not None:
            self.withdraws(self.request)
            return
        paid = self.oracle.paid
        self.costs(self.chance.choice([None, 10000, 10000, paid or 1, max(paid - 1, 1), paid + 1, *SUMS]))

    def withdraws(self, request: str) -> None:
        try:
            withdraws(self.shop, request)
        except TransitionRefused:
            assert self.oracle.paid_by or self.oracle.total is None
        else:
            assert not self.oracle.paid_by
            self.oracle.total = None

    def looks(self) -> None:
        self.shop.waits(milliseconds=1)
        if self.chance.random() < 0.5 or not self.oracle.parts:
            self.shop.reconciles()
        else:
            self.shop.settles(self.chance.choice(self.oracle.parts))
        self.oracle.looks()

    def decides(self) -> None:
        if not self.oracle.held:
            return
        name = self.chance.choice(self.oracle.held)
        how = self.chance.choice(["accept", "part", "excess", "reject"])
        if how == "reject":
            self.shop.resolves(name, False)
            self.oracle.pages[name].state = "rejected"
            return
        keywords: dict[str, Any] = {"as_part": how == "part", "refund_excess": how == "excess"}
        before = self.references(name)
        try:
            self.shop.resolves(name, True, **keywords)
        except TransitionRefused:
            assert self.oracle.accepts(name, how) is None, how
            return
        back = self.oracle.accepts(name, how)
        assert back is not None, how
        for reference in self.references(name) - before:
            self.oracle.refunds(name, back, reference)

    def references(self, name: str) -> set[str]:
        return {refund.reference for refund in self.shop.runtime.payouts.of_checkout(name)}

    def refunds(self) -> None:
        if not self.oracle.came:
            return
        name = self.chance.choice(self.oracle.came)
        page = self.oracle.pages[name]
        cents = self.chance.choice([1, page.kept, page.kept + 1, *SUMS]) or 1
        # The paid amount counts, even if another amount or currency is sent.
        send = self.chance.choice([None, (1, "usdc-polygon"), (99999, "usdc-polygon")])
        try:
            reference = refunds(self.shop, name, usd(cents), send=send).reference
        except RefundTooLarge:
            assert cents > page.kept
            return
        assert cents <= page.kept
        self.oracle.refunds(name, cents, reference)

    def cancels(self) -> None:
        candidates = [(name, refund) for name, page in self.oracle.pages.items() for refund in page.refunds]
        if candidates:
            name, reference = self.chance.choice(sorted(candidates))
            decides(self.shop, "cancel", reference)
            self.oracle.cancels(name, reference)

    # Invariants

    def check(self) -> None:
        oracle, shop = self.oracle, self.shop
        stored = {attempt.checkout_id: attempt for attempt in shop.attempts(self.order_id)}
        for name, page in oracle.pages.items():
            assert stored[name].status == ("created" if page.state == OPEN else page.state), name
        assert {name for name, one in stored.items() if one.paid_order_id} == {oracle.paid_by} - {None}
        balance = shop.calls.balance(self.order_id)
        counted = oracle.parts or oracle.paid_by
        expected = (usd(oracle.paid), usd(oracle.left())) if counted else None
        assert (balance and (balance.paid, balance.left)) == expected
        _, waiting = shop.runtime.paybacks.listed(10_000)
        mine: dict[str, Any] = {
            one.checkout.checkout_id: one.left for one in waiting if one.checkout.order_id == self.order_id
        }
        assert {name: left.amount for name, left in mine.items()} == {
            name: usd(cents) for name, cents in oracle.listed().items()
        }

    def check_records(self) -> None:
        """Check the records that stay for good: the events, and the books, which know the other orders too."""
        oracle, shop = self.oracle, self.shop
        names = [event.name for event in shop.calls.explain(self.order_id).events]
        lines = [line for line in shop.calls.books() if line.order_id == self.order_id]
        name = "request_paid" if self.order_id.startswith("request:") else "order_paid"
        assert names.count(name) == bool(oracle.paid_by)
        booked = sum((line.gross or Decimal(0) for line in lines if line.kind == "payment"), Decimal(0))
        counting = {*oracle.parts, oracle.paid_by}
        assert booked == usd(sum(page.arrived for name, page in oracle.pages.items() if name in counting))


STEPS_OF: tuple[Callable[[History], object], ...] = (
    *(History.pays, History.pays, History.pays, History.starts),
    *(History.changes, History.looks, History.decides, History.decides),
    *(History.refunds, History.cancels),
)


def walk(shop: Shop, chance: Random) -> str:
    history = History(shop, chance)
    steps: list[str] = []
    try:
        for _ in range(chance.randint(2, STEPS)):
            step = chance.choice(STEPS_OF)
            steps.append(getattr(step, "__name__", ""))
            step(history)
            history.check()
        history.check_records()
    except Exception as error:
        error.add_note(f"{history.order_id}: {steps}")
        raise
    return ("paid" if history.oracle.paid_by else "unpaid") + (" in parts" if history.oracle.parts else "")


def walks(shop: Shop, config: pytest.Config, count: int) -> set[str]:
    """Walk `count` histories, whose books the audit must accept; returns their ends."""
    chance = stream(seed_of(config), "parts")
    ends = {walk(shop, chance) for _ in range(count)}
    output = shop.runs("audit").output
    # This service lists no disbursements.
    assert "differs 0, unreadable 1, missing at the service 0, missing here 0" in output, output
    return ends


@pytest.mark.on_each_database
def test_each_history_agrees_with_the_oracle(shop: Shop, pytestconfig: pytest.Config) -> None:
    assert {"paid", "paid in parts", "unpaid in parts"} <= walks(shop, pytestconfig, HISTORIES)


@pytest.mark.soak
@pytest.mark.on_each_database
def test_each_of_thousands_of_histories_agrees_with_the_oracle(shop: Shop, pytestconfig: pytest.Config) -> None:
    walks(shop, pytestconfig, soak_count(10_000))
