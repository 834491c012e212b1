"""The explanation of an order: complete, in order of time, as text and as JSON-ready values."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import update

from flask_paycheckout import Explanation
from flask_paycheckout.books.happenings import happenings_of
from tests.payouts.claiming import refunded
from tests.payouts.shop import MAKER, pays_out, refunds, stands
from tests.scripted import Shop, number


def explains(shop: Shop, order_id: str = "o-1") -> Explanation:
    return shop.calls.explain(order_id)


def entries(row: Any) -> list[str]:
    return [happening.what for happening in happenings_of(row)]


def test_the_whole_story_of_a_paid_order(shop: Shop) -> None:
    checkout_id = shop.starts()
    shop.waits(seconds=20)
    shop.service.says(checkout_id, "pending")
    shop.runtime.webhooks.receive(checkout_id)
    shop.waits(seconds=40)
    shop.service.fails(checkout_id)
    shop.reconciles()
    shop.waits(seconds=5)
    shop.service.says(checkout_id, "completed")
    shop.reconciles()

    (attempt,) = explains(shop).attempts
    assert entries(attempt) == ["created", "webhook", "moved", "no answer", "moved"]
    assert (attempt.webhooks, attempt.reads, attempt.found_by) == (1, 2, "reconcile")
    text = str(explains(shop))
    assert "2026-01-01 12:00:00Z  Checkout made for 12.50 USD" in text
    assert "2026-01-01 12:00:20Z  Webhook received" in text
    assert "No reliable answer, so nothing changed: GET /v1/deposit/{id}: 500" in text
    assert "2026-01-01 12:01:05Z  Paid. Deposit read (reconcile): completed; the deposit is completed and" in text
    assert "- inputAmount: asked 12.50, found 12.50" in text
    assert "order_paid of chk-1: delivered 2026-01-01 12:01:05Z" in text


def test_an_accepted_payment_is_never_said_to_agree(shop: Shop) -> None:
    shop.has_paid("o-2")
    shop.resolves(shop.has_held("o-1"), accept=True, by="Ada", why="close\x1b[2Jenough")
    assert "agrees" in explains(shop, "o-2").meaning
    story = explains(shop, "o-1")
    assert story.meaning == "The order is paid: a payment was held, and a person accepted it."
    assert "Ada accepted the held payment: close\\x1b[2Jenough" in str(story)
    assert "agrees with the order's total" not in str(story)


def test_the_money_that_arrived_is_explained(shop: Shop) -> None:
    checkout_id = shop.starts()
    assert explains(shop).attempts[0].payment is None
    fee = {"amount": number("0.37"), "percentage": number("2.9"), "currency": "USD"}
    bank = {"bankCode": "014", "bankName": "Bank\x1b[2J"}
    shop.settles(checkout_id, says="completed", fee=fee, paymentFiat=bank, exchangeInfo={"exchangeRate": number("1")})
    line = "Money: 12.50 USD paid, 12.13 USD received, fee 0.37 USD (2.9 %), method 014 (Bank\\x1b[2J), rate 1;"
    assert f"{line} seen as completed 2026-01-01 12:00:00Z" in str(explains(shop))
    plain = explains(shop).as_dict()["attempts"][0]["payment"]
    assert (plain["paid"], plain["fee"]["amount"]) == ({"amount": "12.50", "currency": "USD"}, "0.37")


def test_the_story_holds_no_payment_url_and_reads_nothing(shop: Shop) -> None:
    shop.starts()
    shop.service.reads.clear()
    story = explains(shop)
    assert "pay.example" not in str(story) + repr(story)
    assert shop.service.reads == []


AT = '{"at": "2026-01-01T12:00:00+00:00"'
STRANGE: dict[str, tuple[dict[str, Any], str]] = {
    "no JSON": ({"history": "no JSON\n"}, 'unreadable: {"line": "no JSON"}'),
    "a newer word": ({"history": f'{AT}, "what": "refunded", "sum": 5}}\n'}, 'refunded: {"sum": 5}'),
    "no amount": ({"total_amount": "12,5"}, "12,5 USD (no total)"),
    "a status of tomorrow": ({"status": "refunded"}, ": refunded"),
    "a reason of tomorrow": ({"status": "held", "reason": "asleep"}, "held (asleep)"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_row_of_another_program_is_explained_and_hides_nothing(shop: Shop, name: str) -> None:
    values, line = STRANGE[name]
    shop.starts("o-1")
    shop.executes(update(shop.runtime.models.checkouts).values(values))
    story = explains(shop)
    assert line in str(story)
    assert "checkout_created of chk-1: nobody has listened" in str(story)
    assert json.loads(json.dumps(story.as_dict()))["attempts"][0]["checkout_id"] == "chk-1"


def test_refunds_and_payouts_of_the_order_are_told_with_each_decision(shop: Shop) -> None:
    customer = refunded(shop, "5")
    shop.waits(seconds=5)
    customer.sends()
    shop.waits(seconds=5)
    shop.calls.approve_payout(customer.reference, by="Bo\x1b[2J", why="seen", seen=1)
    pays_out(shop, order_id="o-1", note="jars sold")
    story = explains(shop)
    refund, payout = story.payouts
    assert (refund.kind, refund.status, refund.amount, refund.currency) == ("refund", "ready", Decimal("5"), "USD")
    assert (refund.destination, refund.revision) == ("Name: Zoë Quist\nBank: First Bank\nNumber ends with: 3456", 1)
    assert (payout.kind, payout.reference, payout.refund_of) == ("payout", "maker-1", None)
    assert entries(refund) == ["created", "moved", "moved"]
    text = str(story)
    for line in ("Made for 5.00 USD by Ada: one jar broke", "Ready: Bo\\x1b[2J approved it: seen", "Note: jars sold"):
        assert line in text
    plain = story.as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["payouts"][0]["amount"] == "5.00"
    assert [event["payout_reference"] for event in plain["events"]][-1] == customer.reference


def test_money_that_waits_to_be_paid_back_can_be_refunded(shop: Shop) -> None:
    checkout_id = shop.has_rejected()
    assert f"    flask paycheckout refund {checkout_id} --by YOU --why REASON" in str(explains(shop))
    refunds(shop, checkout_id)
    story = explains(shop)
    assert story.attempts[0].payback == "refunded"
    assert "TO PAY BACK" not in str(story)


@pytest.mark.parametrize("column", ["amount", "counts", "fee"])
def test_an_amount_that_is_no_number_hides_no_order_and_no_alarm(shop: Shop, column: str) -> None:
    broken = refunds(shop, shop.has_paid("o-1"), "5.00", to=MAKER)
    refunds(shop, shop.has_paid("o-2"), "3.00", to=MAKER)
    stands(shop, broken.reference, status="failed", counts_currency="EUR", **{column: "5,0"})
    shop.app.register_blueprint(shop.paycheckout.owner_view(lambda: "Ada"), url_prefix="/owner")
    pages = ("", "/order?order_id=o-1", "/payouts", f"/payout?reference={broken.reference}")
    assert [shop.browser.get(f"/owner{page}").status_code for page in pages] == [200] * 4
    for command in ("report", "doctor", "payouts"):
        assert "5,0" in shop.runs(command).output or column == "fee"
        assert shop.tells(command)
    assert "5,0" in shop.runs("show", "o-1").output


def test_an_order_that_only_a_payout_belongs_to_is_shown(shop: Shop) -> None:
    assert shop.runs("show", "o-1").exit_code == 1
    pays_out(shop, order_id="o-1")
    result = shop.runs("show", "o-1", "--json")
    assert result.exit_code == 0
    (payout,) = json.loads(result.output)["payouts"]
    assert (payout["reference"], payout["status"], payout["amount"]) == ("maker-1", "ready", "80.00")


def test_an_explanation_is_read_the_same_in_another_process(shop: Shop) -> None:
    refunds(shop, shop.has_paid(), "5")
    explanation = explains(shop)
    again = pickle.loads(pickle.dumps(explanation))  # noqa: S301
    assert (str(again), again.as_dict()) == (str(explanation), explanation.as_dict())
