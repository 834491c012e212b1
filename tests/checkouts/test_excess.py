"""Excess money of an order, and parts that a person accepts."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import String
from sqlalchemy.orm import mapped_column

from flask_paycheckout import (
    CheckoutMixin,
    Pay,
    RefundTooLarge,
    TransitionRefused,
    order_paid,
    payment_held,
)
from flask_paycheckout.testing import Signals
from tests.alarming import examples
from tests.checkouts.test_parts import TOTAL, balance, pays, shop as shop
from tests.conftest import OpenShop
from tests.payouts.shop import decides, refunds
from tests.scripted import Shop, number, raising


@pytest.mark.on_each_database
def test_an_excess_is_told_and_listed_until_it_is_refunded(shop: Shop, signals: Signals) -> None:
    first, second = (pays(shop, amount).checkout_id for amount in ("50", "10"))
    shop.costs("35", parts=True)
    shop.reconciles()
    assert signals.names[-2:] == ["order_paid", "payment_held"]
    assert (signals[-1].checkout_id, signals[-1].extra) == (second, {"reason": "excess"})
    assert shop.attempt(second).status == "paid"
    (listed,) = examples(shop, "excess-payments")
    assert "25.00 USD" in listed
    refunds(shop, second, "10")
    assert "15.00 USD" in examples(shop, "excess-payments")[0]
    back = refunds(shop, first, "15")
    assert not examples(shop, "excess-payments")
    decides(shop, "cancel", back.reference)
    assert "15.00 USD" in examples(shop, "excess-payments")[0]
    shop.calls.keep(second, by="Ada", why="a gift")
    assert not examples(shop, "excess-payments")
    assert balance(shop) == ("50.00", "0.00", "USD")
    refunds(shop, first, "1")
    assert not examples(shop, "excess-payments"), "it stays kept"


def test_a_person_accepts_a_part(shop: Shop, signals: Signals) -> None:
    shop.costs("100")
    held_id = pays(shop, "60").checkout_id
    assert shop.resolves(held_id, True, as_part=True).status == "part"
    assert signals.names[-2:] == ["payment_resolved", "order_part_paid"]
    assert signals[-1].extra == {"paid": Decimal(60), "left": Decimal(40)}
    # From then on the order takes parts.
    assert shop.attempt(shop.starts()).due == Pay("40", "USD")
    assert pays(shop, "10").status == "part"
    more = pays(shop, "31").checkout_id
    ways: list[dict[str, Any]] = [{"as_part": True}, {}]
    for how in ways:
        with pytest.raises(TransitionRefused, match="more arrived than is left"):
            shop.resolves(more, True, **how)
    assert shop.resolves(more, True, as_part=True, refund_excess=True).status == "paid"
    assert balance(shop) == ("100.00", "0.00", "USD")
    assert signals.names[-3:] == ["payment_resolved", "order_paid", "claim_wanted"]
    refund = shop.runtime.payouts.of_checkout(more)[0]
    assert (refund.amount, refund.status) == (Decimal("1.00"), "claimable")
    assert not examples(shop, "money-to-pay-back")


@pytest.mark.on_each_database
def test_a_receiver_of_an_excess_sees_the_rows_that_the_receivers_of_the_payment_wrote(open_shop: OpenShop) -> None:
    def own(db: SQLAlchemy) -> None:
        type("Payment", (CheckoutMixin, db.Model), {"note": mapped_column(String(20))})

    shop, seen = open_shop(prepare=own), list[str]()

    def write(app: object, *, checkout: Any, **facts: object) -> None:
        checkout.note = "packed"

    def look(app: object, *, checkout: Any, **facts: object) -> None:
        seen.append(checkout.note)

    shop.totals["o-1"] = TOTAL
    for amount in ("50", "10"):
        pays(shop, amount)
    shop.costs("35", parts=True)
    atomic, app = shop.paycheckout.atomic, shop.app
    with order_paid.connected_to(atomic(write), sender=app), payment_held.connected_to(atomic(look), sender=app):
        shop.reconciles()
    assert seen == ["packed"]


@pytest.mark.parametrize("accepted", [{}, {"refund_excess": True}], ids=["kept", "given back"])
def test_the_excess_of_an_order_without_parts(shop: Shop, accepted: dict[str, Any]) -> None:
    shop.costs("100")
    held_id = pays(shop, "112.50").checkout_id
    assert shop.resolves(held_id, True, **accepted).status == "paid"
    assert [refund.amount for refund in shop.runtime.payouts.of_checkout(held_id)] == [Decimal("12.50")] * len(accepted)
    with pytest.raises(RefundTooLarge):
        refunds(shop, held_id, "113" if not accepted else "100.01")


@pytest.mark.on_each_database
def test_an_excess_and_its_refund_are_one_commit(shop: Shop) -> None:
    held = pays(shop, "101").checkout_id
    with shop.refusing(order_paid), pytest.raises(Exception, match="RuntimeError"):
        shop.resolves(held, True, refund_excess=True)
    assert (shop.attempt(held).status, shop.runtime.payouts.of_checkout(held)) == ("held", [])


def test_an_excess_that_is_larger_than_the_payment_gives_back_all_of_it(shop: Shop) -> None:
    """The total fell below the sum that had arrived before; less than a cent cannot be refunded."""
    pays(shop, "60")
    held = pays(shop, "50.009").checkout_id
    shop.costs("30", parts=True)
    shop.resolves(held, True, refund_excess=True)
    assert [refund.amount for refund in shop.runtime.payouts.of_checkout(held)] == [Decimal("50.00")]
    assert "30.00 USD" in examples(shop, "excess-payments")[0]


def test_a_person_accepts_a_part_with_more_decimals_than_its_currency_has(shop: Shop) -> None:
    held_id = pays(shop, "60.009").checkout_id
    assert shop.resolves(held_id, accept=True, as_part=True).status == "part"
    assert shop.attempt(shop.starts()).due == Pay("39.99", "USD")
    assert pays(shop, "39.99").status == "paid", "less than a cent is left"


def test_a_payment_in_another_currency_that_a_person_accepts_ends_the_looks_at_the_parts(shop: Shop) -> None:
    part = pays(shop, "60").checkout_id
    euro = shop.has_deposit("completed", inputCurrency="EUR", inputAmount=number("40"))
    assert (shop.settles(euro).status, shop.resolves(euro, True).status) == ("held", "paid")
    assert balance(shop) == ("60.00", "0.00", "USD"), "the sums of two currencies are never added"
    shop.reconciles(minutes=1)
    assert shop.attempt(part).next_read_at is None


def test_no_amount_is_reckoned_while_the_shop_cannot_say_what_the_order_costs(shop: Shop) -> None:
    pays(shop, "60")
    late = shop.has_arrived("40")
    shop.totals["o-1"] = None
    shop.settles(late)
    shop.paycheckout.order_total(raising(LookupError("a bug")))
    with pytest.raises(TransitionRefused, match="decide again once it can"):
        shop.resolves(late, accept=True, as_part=True)
    assert shop.attempt(late).status == "held"
