"""Random histories of the refunds of one payment, whose sum never exceeds what arrived, reckoned in whole cents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from random import Random
from typing import Any

import pytest

from flask_paycheckout import (
    RefundTooLarge,
)
from tests.chance import seed_of, soak_count, stream
from tests.payouts.shop import MAKER, TOKEN, WALLET, decides, refunds
from tests.payouts.test_refunds import fails
from tests.scripted import Shop

HISTORIES, STEPS = 15, 25


@contextmanager
def limited(*, allowed: bool) -> Iterator[None]:
    """Check that the step in this block is done, or refused."""
    try:
        yield
    except RefundTooLarge:
        assert not allowed
    else:
        assert allowed


@dataclass
class Told:
    """The refunds of one payment, as whole cents."""

    counting: dict[str, int] = field(default_factory=dict)
    failed: dict[str, int] = field(default_factory=dict)
    replaced: dict[str, str] = field(default_factory=dict)
    """The reference of the refund that replaced each failed one, by the failed one's reference."""

    order: list[str] = field(default_factory=list)
    """All references, oldest first."""

    @property
    def left(self) -> int:
        return 1250 - sum(self.counting.values())

    def refunded(self, reference: str, cents: int) -> None:
        self.order += [] if reference in self.order else [reference]
        self.counting[reference] = cents
        taken = [
            failed_reference
            for failed_reference, amount in self.failed.items()
            if amount > self.left and failed_reference not in self.replaced
        ]
        self.replaced |= dict.fromkeys(taken, reference)

    def cancelled(self, reference: str) -> None:
        del self.counting[reference]
        newest = max(self.counting, key=self.order.index, default="")
        again = [old for old, by in self.replaced.items() if by == reference]
        self.replaced |= {old: newest for old in again if self.failed[old] > self.left}
        self.replaced = {old: by for old, by in self.replaced.items() if by != reference}


def act(shop: Shop, checkout_id: str, model: Told, chance: Random) -> None:
    """One step of a history."""
    kind, left = chance.choice(["refund", "refund", "rest", "cancel", "fail", "retry"]), model.left
    if kind in ("refund", "rest"):
        cents = left if kind == "rest" else chance.choice([1, left, left + 1, chance.randint(1, 600)]) or 1
        # The limit counts the paid amount, even if another amount or currency is sent.
        sent: dict[str, Any] = chance.choice([{"to": MAKER}, {"to": WALLET, "send": (chance.randint(1, 9), TOKEN)}])
        amount = None if kind == "rest" else Decimal(cents) / 100
        with limited(allowed=0 < cents <= left):
            model.refunded(refunds(shop, checkout_id, amount, **sent).reference, cents)
        return
    of = model.failed if kind == "retry" else model.counting
    if not of:
        return
    reference = chance.choice(sorted(of))
    if kind == "cancel":
        assert decides(shop, "cancel", reference)
        model.cancelled(reference)
    elif kind == "fail":
        fails(shop, reference)
        model.failed[reference] = of.pop(reference)
    elif reference in model.replaced:
        assert not decides(shop, "retry", reference)
    else:
        with limited(allowed=of[reference] <= left):
            assert decides(shop, "retry", reference)
            model.refunded(reference, of.pop(reference))


def walk(shop: Shop, chance: Random) -> None:
    """A history of one order, compared with the rule on whole cents after each step."""
    order_id = f"h-{chance.randrange(10**12)}"
    shop.costs("12.50", order_id)
    checkout_id, model = shop.has_paid(order_id), Told()
    for _ in range(chance.randint(1, STEPS)):
        act(shop, checkout_id, model, chance)
        stored = Decimal(shop.attempt(checkout_id).refunded_amount or 0)
        assert stored == Decimal(sum(model.counting.values())) / 100
        refunded = shop.runtime.payouts.of_checkout(checkout_id)
        assert {refund.reference: refund.replaced_by for refund in refunded if refund.replaced_by} == model.replaced


def test_no_history_refunds_more_than_what_arrived(shop: Shop, pytestconfig: pytest.Config) -> None:
    chance = stream(seed_of(pytestconfig), "refunds")
    for _ in range(HISTORIES):
        walk(shop, chance)


@pytest.mark.soak
@pytest.mark.on_each_database
def test_no_history_of_thousands_refunds_more_than_what_arrived(shop: Shop, pytestconfig: pytest.Config) -> None:
    chance = stream(seed_of(pytestconfig), "refunds")
    for _ in range(soak_count(10_000)):
        walk(shop, chance)
