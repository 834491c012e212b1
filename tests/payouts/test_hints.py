"""Webhooks about payouts are hints with any content, and cost little in any number."""

from __future__ import annotations

from typing import Any

import pytest

from flask_paycheckout import PayoutReport, payout_failed
from tests.alarming import alarms_of
from tests.conftest import OpenPayer
from tests.payouts.paying import ADA, READ, Payer
from tests.payouts.shop import refunds


def posts(payer: Payer) -> int:
    return payer.shop.browser.post("/paycheckout/webhook", json={"event": "disbursement"}).status_code


def comes_back(payer: Payer, reference: str = "p-1") -> None:
    """The bank returns a transfer that it had completed."""
    payer.shop.runtime.client.fiat_disbursements.sandbox_update(payer.payout(reference).disbursement_id, "failed")


def next_read(payer: Payer, reference: str = "p-1") -> float:
    return float((payer.payout(reference).due_at - payer.sandbox.now).total_seconds())


@pytest.mark.on_each_database
def test_webhooks_hurry_a_bounded_number_of_reads_a_minute_and_call_nobody(open_payer: OpenPayer) -> None:
    payer = open_payer(PAYCHECKOUT_PAYOUT_BATCH=200)
    for number in range(13):
        payer.owes(f"p-{number}")
    assert posts(payer) == 200
    assert payer.statuses == {"ready": 13}
    payer.sends(minutes=1)
    calls = payer.counts_calls()

    def due() -> int:
        assert [posts(payer) for _ in range(3)] == [200] * 3
        return sum(next_read(payer, f"p-{number}") <= 0 for number in range(13))

    assert due() == 10
    payer.sandbox.advance(seconds=20, minutes=0)
    assert (due(), calls) == (10, {})


@pytest.mark.on_each_database
def test_a_webhook_about_no_known_payment_finds_what_came_back_and_its_limit_is_free_again(payer: Payer) -> None:
    checkout_id = payer.is_paid()
    refund = refunds(payer.shop, checkout_id, to=ADA)
    payer.sends()
    payer.ends(refund.reference)
    comes_back(payer, refund.reference)
    assert payer.sends(minutes=60) == PayoutReport(), "nobody reads it without cause"
    heard: list[str] = []

    @payout_failed.connect_via(payer.shop.app)
    def hear(app: Any, *, payout: Any, **extra: Any) -> None:
        heard.append(payout.reference)

    posts(payer)
    assert payer.sends() == PayoutReport(failed=1)
    assert payer.payout(refund.reference).problem == "the service says that it failed, which it had completed"
    assert heard == [refund.reference]
    assert payer.booked == [("payment", "12.50"), ("refund", "-12.50"), ("refund_returned", "12.50")]
    assert refunds(payer.shop, checkout_id, to=ADA).replaces == refund.reference


def test_a_completed_payout_is_seldom_read_again_whoever_posts(payer: Payer) -> None:
    payer.owes()
    payer.sends()
    payer.ends()
    calls = payer.counts_calls()
    for _ in range(11):
        posts(payer)
        payer.sends(minutes=1)
    assert (payer.payout().status, sum(calls.values())) == ("completed", 3)
    payer.sandbox.fault(READ, "error", times=1, statusCode=503)
    posts(payer)
    payer.sends(minutes=6)
    comes_back(payer)
    assert payer.sends(minutes=11).failed == 1


def test_the_comparison_of_a_month_finds_what_came_back_without_a_webhook(open_payer: OpenPayer) -> None:
    payer = open_payer(PAYCHECKOUT_AUDIT_MONTHS=True)
    payer.owes()
    payer.sends()
    payer.ends()
    comes_back(payer)
    payer.sandbox.advance(minutes=45 * 24 * 60)
    for _ in range(5):
        payer.shop.reconciles()
        payer.sandbox.advance(minutes=2)
    assert payer.status() == "failed"
    assert payer.booked == [("payout", "-80.00"), ("payout_returned", "80.00")]
    assert "differing-months" not in " ".join(alarms_of(payer.shop))


def test_a_failing_or_unsent_payout_keeps_its_next_time(payer: Payer) -> None:
    """The due time of an unclaimed payout is its expiry, which a stranger must not bring forward."""
    for reference in ("fails", "unclaimed"):
        payer.owes(reference)
    payer.sends()
    payer.stands("fails", failures=3)
    payer.stands("unclaimed", status="claimable")
    posts(payer)
    assert min(next_read(payer, "fails"), next_read(payer, "unclaimed")) > 20
