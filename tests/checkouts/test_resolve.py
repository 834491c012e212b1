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
from tests.scripted import Shop, number

pytestmark = pytest.mark.on_each_database


def mismatched(shop: Shop) -> str:
    return shop.has_held()


def changed(shop: Shop) -> str:
    checkout_id = shop.starts()
    shop.totals["o-1"] = Pay("13.00", "USD")
    shop.service.says(checkout_id, "completed")
    return checkout_id


def unwanted(shop: Shop) -> str:
    checkout_id = shop.starts()
    shop.totals["o-1"] = None
    shop.service.says(checkout_id, "completed")
    return checkout_id


def unpriced(shop: Shop) -> str:
    checkout_id = shop.starts()

    def raises(order_id: str) -> None:
        raise RuntimeError("the price list is away")

    shop.paycheckout.order_total(raises)
    shop.service.says(checkout_id, "completed")
    return checkout_id


def unasked(shop: Shop) -> str:
    checkout_id = shop.starts()

    def raises(order_id: str) -> None:
        shop.db.session.execute(text("SELECT price FROM no_such_table"))

    shop.paycheckout.order_total(raises)
    shop.service.says(checkout_id, "completed")
    for _ in range(2):
        with pytest.raises(DBAPIError):
            shop.settles(checkout_id)
    return checkout_id


def second(shop: Shop) -> str:
    return has_second("o-1", shop)


#: How each comes about, and which of its two decisions tells what after `payment_resolved`.
DECISIONS: dict[str, tuple[Callable[[Shop], str], list[str], list[str]]] = {
    "amount_mismatch": (mismatched, ["order_paid"], ["order_abandoned"]),
    "order_changed": (changed, ["order_paid"], ["order_abandoned"]),
    "order_not_payable": (unwanted, ["order_paid"], ["order_abandoned"]),
    "order_total_failed": (unpriced, ["order_paid"], ["order_abandoned"]),
    "order_total_failed in the database": (unasked, ["order_paid"], ["order_abandoned"]),
    "duplicate": (second, [], []),
}


@pytest.mark.parametrize("accept", [True, False], ids=["accept", "reject"])
@pytest.mark.parametrize("reason", DECISIONS)
def test_each_decision_for_each_reason(shop: Shop, signals: Signals, reason: str, accept: bool) -> None:
    held, after_accepting, after_rejecting = DECISIONS[reason]
    checkout_id = held(shop)
    assert (shop.settles(checkout_id).status, shop.attempt(checkout_id).reason) == ("held", reason.split()[0])
    before = len(signals)
    shop.resolves(checkout_id, accept, by=" Ada ", why="seen on the statement")
    follows = after_accepting if accept else after_rejecting
    assert signals.names[before:] == ["payment_resolved", *follows]
    resolved = signals[before]
    assert (resolved.checkout_id, resolved.order_id) == (checkout_id, "o-1")
    assert resolved.extra == {"accepted": accept, "by": "Ada", "why": "seen on the statement"}
    assert shop.attempt(checkout_id).status == ("paid" if accept else "rejected")
    # Money that did not pay the order waits for somebody to say what became of it.
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
    assert [event.delivered_at for event in shop.events() if event.name != "payment_held"].count(None) == 0


def test_a_mismatch_of_an_order_that_another_payment_paid_meanwhile_is_a_second_payment(shop: Shop) -> None:
    first = shop.starts()
    shop.totals["o-1"] = Pay("13.00", "USD")
    later = shop.starts()
    assert shop.settles(first, says="completed", inputAmount=number("1")).reason == "amount_mismatch"
    assert shop.settles(later, says="completed", inputAmount=number("13.00")).status == "paid"
    shop.resolves(first, accept=True)
    assert [line.split()[0] for line in examples(shop, "money-to-pay-back")] == [first]
    assert len(shop.events("order_paid")) == 1


@pytest.mark.parametrize("answer", ["no", 0, None], ids=repr)
def test_an_answer_that_is_neither_yes_nor_no_decides_nothing(shop: Shop, answer: Any) -> None:
    checkout_id = shop.has_held()
    with pytest.raises(TypeError, match="accept must be True or False, not "):
        shop.resolves(checkout_id, accept=answer)
    with shop.app.app_context(), pytest.raises(ValueError, match="as_part"):
        shop.paycheckout.resolve(checkout_id, False, "Ada", "no", as_part=True)
    assert shop.attempt(checkout_id).status == "held"
    shop.resolves(checkout_id, accept=False)
    with shop.app.app_context(), pytest.raises(TypeError, match="kept must be True or False, not "):
        shop.paycheckout.mark_paid_back(checkout_id, by="Ada", why="x", kept=answer)
