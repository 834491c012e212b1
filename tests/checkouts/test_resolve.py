"""A person's decision on a held payment: its effect for each reason, and its events in their order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from flask_paycheckout import Pay, order_paid, payment_resolved
from flask_paycheckout.testing import Signals
from tests.alarming import examples
from tests.books.test_report import has_second
from tests.scripted import Shop, raising

pytestmark = pytest.mark.on_each_database


def costs(total: Pay | None) -> Callable[[Shop], str]:
    """A function that makes a payment while the order has this total."""

    def reach(shop: Shop) -> str:
        checkout_id = shop.has_deposit("completed")
        shop.totals["o-1"] = total
        return checkout_id

    return reach


def unpriced(shop: Shop) -> str:
    checkout_id = shop.has_deposit("completed")
    shop.paycheckout.order_total(raising(RuntimeError("the price list is away")))
    return checkout_id


def unasked(shop: Shop) -> str:
    checkout_id = shop.has_deposit("completed")

    def raises(order_id: str) -> None:
        shop.db.session.execute(text("SELECT price FROM no_such_table"))

    shop.paycheckout.order_total(raises)
    for _ in range(2):
        with pytest.raises(DBAPIError):
            shop.settles(checkout_id)
        attempt = shop.attempt(checkout_id)
        assert (attempt.status, "no_such_table" in attempt.problem) == ("created", True), "the database may recover"
    shop.waits(hours=1)
    return checkout_id


#: For each reason of a hold, the function that causes it.
HELD: dict[str, Callable[[Shop], str]] = {
    "amount_mismatch": Shop.has_held,
    "order_changed": costs(Pay("13.00", "USD")),
    "order_not_payable": costs(None),
    "order_total_failed": unpriced,
    "order_total_failed in the database": unasked,
    "duplicate": lambda shop: has_second("o-1", shop),
}


@pytest.mark.parametrize("accept", [True, False], ids=["accept", "reject"])
@pytest.mark.parametrize("reason", HELD)
def test_each_decision_for_each_reason(shop: Shop, signals: Signals, reason: str, accept: bool) -> None:
    checkout_id = HELD[reason](shop)
    assert (shop.settles(checkout_id).status, shop.attempt(checkout_id).reason) == ("held", reason.split()[0])
    before = len(signals)
    shop.resolves(checkout_id, accept, by=" Ada ", why="seen on the statement")
    follows = [] if reason == "duplicate" else ["order_paid" if accept else "order_abandoned"]
    assert signals.names[before:] == ["payment_resolved", *follows]
    resolved = signals[before]
    assert (resolved.checkout_id, resolved.order_id) == (checkout_id, "o-1")
    assert resolved.extra == {"accepted": accept, "by": "Ada", "why": "seen on the statement"}
    assert shop.attempt(checkout_id).status == ("paid" if accept else "rejected")
    # Money that did not pay the order waits for a person's decision.
    waiting = [line.split()[0] for line in examples(shop, "money-to-pay-back")]
    assert waiting == ([] if follows == ["order_paid"] else [checkout_id])


def test_both_events_reach_atomic_receivers_in_the_transaction_of_the_decision(shop: Shop) -> None:
    heard: list[tuple[str, str]] = []

    @shop.paycheckout.atomic
    def decided(app: object, *, checkout: Any, accepted: bool, **rest: Any) -> None:
        heard.append(("payment_resolved", checkout.status))
        checkout.found_by = "Ada"

    @shop.paycheckout.atomic
    def close(app: object, *, checkout: Any, **rest: Any) -> None:
        heard.append(("order_paid", checkout.found_by))

    with (
        payment_resolved.connected_to(decided, sender=shop.app),
        order_paid.connected_to(close, sender=shop.app),
    ):
        checkout_id = shop.has_held()
        shop.resolves(checkout_id, accept=True)
    assert heard == [("payment_resolved", "paid"), ("order_paid", "Ada")], "the second sees what the first one wrote"
    assert shop.attempt(checkout_id).found_by == "Ada"
    assert all(event.delivered_at for event in shop.events() if event.name in ("payment_resolved", "order_paid"))


@pytest.mark.parametrize("answer", ["no", 0, None], ids=repr)
def test_an_answer_that_is_neither_yes_nor_no_decides_nothing(shop: Shop, answer: Any) -> None:
    checkout_id = shop.has_held()
    with pytest.raises(TypeError, match="accept must be True or False, not "):
        shop.resolves(checkout_id, accept=answer)
    with pytest.raises(ValueError, match="as_part"):
        shop.resolves(checkout_id, False, as_part=True)
    assert shop.attempt(checkout_id).status == "held"
