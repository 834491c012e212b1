"""The explanation of an order: complete, in order of time, as text and as JSON-ready values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import update

from flask_paycheckout import Explanation, Pay
from tests.reports.test_report import has_second
from tests.scripted import Shop, number


def explains(shop: Shop, order_id: str = "o-1") -> Explanation:
    with shop.app.app_context():
        return shop.paycheckout.explain(order_id)


def test_an_order_that_nobody_started_to_pay(shop: Shop) -> None:
    story = explains(shop)
    assert (story.status, story.attempts, story.events) == ("unpaid", (), ())
    assert str(story) == "Order o-1: unpaid. Nobody has started to pay this order."


def test_the_whole_story_of_a_paid_order(shop: Shop) -> None:
    checkout_id = shop.starts()
    shop.clock.advance(seconds=20)
    shop.service.says(checkout_id, "pending")
    shop.runtime.webhooks.receive(checkout_id)
    shop.clock.advance(seconds=40)
    shop.service.fails(checkout_id)
    shop.reconciles()
    shop.clock.advance(seconds=5)
    shop.service.says(checkout_id, "completed")
    shop.reconciles()

    (attempt,) = explains(shop).attempts
    assert [happening.what for happening in attempt.happenings] == ["created", "webhook", "moved", "no answer", "moved"]
    assert (attempt.webhooks, attempt.reads, attempt.found_by) == (1, 2, "reconcile")
    text = str(explains(shop))
    assert "2026-01-01 12:00:00Z  Checkout made for 12.50 USD" in text
    assert "2026-01-01 12:00:20Z  Webhook received" in text
    assert "No reliable answer, so nothing changed: GET /v1/deposit/{id}: 500" in text
    assert "2026-01-01 12:01:05Z  Paid. Deposit read (reconcile): completed; the deposit is completed and" in text
    assert "- inputAmount: asked 12.50, found 12.50" in text
    assert "order_paid of chk-1: delivered 2026-01-01 12:01:05Z" in text


def test_a_decision_says_who_and_why(shop: Shop) -> None:
    shop.resolves(shop.has_held("o-1"), accept=True, by="Ada", why="close enough")
    shop.resolves(shop.has_held("o-2"), accept=False, by="Bob", why="too little")
    assert "Ada accepted the held payment: close enough" in str(explains(shop, "o-1"))
    assert "Bob rejected the held payment: too little" in str(explains(shop, "o-2"))


def test_an_accepted_payment_is_never_said_to_agree(shop: Shop) -> None:
    shop.has_paid("o-2")
    shop.resolves(shop.has_held("o-1"), accept=True, by="Ada", why="close\x1b[2Jenough")
    assert "agrees" in explains(shop, "o-2").meaning
    story = explains(shop, "o-1")
    assert story.meaning == "The order is paid: a payment was held, and Ada accepted it: close\x1b[2Jenough."
    first_line = str(story).splitlines()[0]
    assert first_line.endswith("Ada accepted it: close\\x1b[2Jenough.")
    assert "agrees with the order's total" not in str(story)


def test_what_arrived_is_told(shop: Shop) -> None:
    checkout_id = shop.starts()
    assert explains(shop).attempts[0].payment is None
    fee = {"amount": number("0.37"), "percentage": number("2.9"), "currency": "USD"}
    bank = {"bankCode": "014", "bankName": "Bank\x1b[2J"}
    shop.settles(checkout_id, says="completed", fee=fee, paymentFiat=bank, exchangeInfo={"exchangeRate": number("1")})
    told = "Money: 12.50 USD paid, 12.13 USD received, fee 0.37 USD (2.9 %), method 014 (Bank\\x1b[2J), rate 1;"
    assert f"{told} seen as completed 2026-01-01 12:00:00Z" in str(explains(shop))
    plain = explains(shop).as_dict()["attempts"][0]["payment"]
    assert json.loads(json.dumps(plain)) == plain
    assert (plain["paid"], plain["fee"]["amount"]) == ({"amount": "12.50", "currency": "USD"}, "0.37")


def test_what_each_decision_does_is_said_before_it_is_taken(shop: Shop) -> None:
    shop.has_held("o-1")
    text = str(explains(shop, "o-1"))
    assert "--accept: the order is paid with what arrived" in text
    assert "--reject: this payment does not pay the order; the money stays listed" in text
    shop.totals["o-2"] = Pay("12.50", "USD")
    shop.resolves(has_second("o-2", shop), accept=True)
    story = explains(shop, "o-2")
    assert (story.attempts[0].payback, story.attempts[1].payback) == (None, "waiting")
    assert "agrees" in story.meaning, "the other payment paid the order"
    assert "TO PAY BACK OR KEEP. When it is done: flask paycheckout payback chk-3 --done" in str(story)


def test_every_attempt_is_told_with_what_it_replaced(shop: Shop) -> None:
    shop.starts()
    shop.totals["o-1"] = Pay("13.00", "USD")
    shop.starts()
    story = explains(shop)
    assert [attempt.checkout_id for attempt in story.attempts] == ["chk-1", "chk-2"]
    assert "Checkout made for 13.00 USD, which replaces chk-1" in str(story)


def test_reads_that_changed_nothing_and_the_next_one_are_told(shop: Shop) -> None:
    shop.settles(shop.starts())
    text = str(explains(shop))
    assert "Deposit read (settle): not found; nothing to change" in text
    assert "Read next by reconcile after 2026-01-01 12:00:10Z" in text


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
    "a newer state": ({"history": f'{AT}, "what": "moved", "to": "refunded"}}\n'}, 'moved: {"to": "refunded"}'),
    "no word": ({"history": f"{AT}}}\n"}, "unreadable: {}"),
    "facts left out": ({"history": f'{AT}, "what": "read"}}\n'}, "read: {}"),
    "one comparison": ({"history": f'{AT}, "what": "webhook", "compared": 5}}\n'}, "- 5"),
    "a list as the word": ({"history": f'{AT}, "what": []}}\n'}, "[]: {}"),
    "no amount": ({"total_amount": "12,5"}, "12,5 USD (no total)"),
    "NaN": ({"total_amount": "NaN"}, "NaN USD (no total)"),
    "no currency": ({"total_currency": "?"}, "12.50 ? (no total)"),
    "no kind": ({"total_kind": "gift"}, "12.50 USD (no total)"),
    "a status of tomorrow": ({"status": "refunded"}, ": refunded"),
    "a reason of tomorrow": ({"status": "held", "reason": "asleep"}, "held (asleep)"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_what_another_program_wrote_is_told_and_hides_nothing(shop: Shop, name: str) -> None:
    values, told = STRANGE[name]
    shop.starts("o-1")
    with shop.app.app_context(), shop.db.engine.begin() as connection:
        connection.execute(update(shop.runtime.models.checkouts).values(values))
    story = explains(shop)
    assert told in str(story)
    assert "checkout_created of chk-1: delivered" in str(story)
    assert json.loads(json.dumps(story.as_dict()))["attempts"][0]["checkout_id"] == "chk-1"
