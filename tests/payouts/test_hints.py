"""Webhooks about payouts: hints, whatever they contain, that cost little however many come."""

from __future__ import annotations

import pytest

from tests.payouts.conftest import OpenPayer
from tests.payouts.paying import Payer


def posts(payer: Payer) -> int:
    return payer.shop.browser.post("/paycheckout/webhook", json={"event": "disbursement"}).status_code


def next_read(payer: Payer, reference: str = "p-1") -> float:
    return float((payer.payout(reference).next_attempt_at - payer.sandbox.now).total_seconds())


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


def test_what_fails_or_was_not_sent_keeps_its_time(payer: Payer) -> None:
    """The time of what its receiver has not claimed is that of its end: a stranger must not bring it near."""
    for reference in ("fails", "unclaimed"):
        payer.owes(reference)
    payer.sends()
    payer.stands("fails", failures=3)
    payer.stands("unclaimed", status="claimable")
    posts(payer)
    assert min(next_read(payer, "fails"), next_read(payer, "unclaimed")) > 20
