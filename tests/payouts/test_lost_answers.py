"""A service whose answers are lost, late, broken or refusals: nothing is paid twice, and nothing is forgotten."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from flask_paycheckout import ToBank
from tests.payouts.conftest import OpenPayer
from tests.payouts.paying import ADA, BANK, CRYPTO, FIAT, LIST, WALLET, Payer

FAULTS: dict[str, dict[str, Any]] = {
    "lose_response": {},
    "drop": {},
    "garbage": {},
    "error": {"statusCode": 500},
    "delay": {"seconds": 0.7},
}
ENDS = {"completed": 3, "sent": 1}


@pytest.fixture
def payer(open_payer: OpenPayer) -> Payer:
    """Its calls are given up before a delayed answer comes."""
    return open_payer(PAYCHECKOUT_TIMEOUT=0.5)


def owes_all(payer: Payer) -> None:
    payer.owes("p-ada", to=ADA)
    payer.owes("p-bank", to=BANK)
    payer.owes("p-other", to=ToBank("Cy", "40001234-777 32", "us_first_sandbox", "First Sandbox Bank"))
    payer.owes("p-token", to=WALLET)


def comes_to_rest(payer: Payer) -> None:
    """A person who must resolve a token payout looks into the sandbox's books."""
    for _ in range(20):
        if payer.statuses == ENDS:
            return
        for paid in payer.at_service:
            if paid.status == "pending" and paid.currency == "USD":
                payer.sandbox.finish(paid, "completed")
        for reference in ("p-ada", "p-bank", "p-other", "p-token"):
            stored = payer.payout(reference)
            if stored.status == "unknown":
                sent = stored.service_reference in {paid.reference for paid in payer.at_service}
                with payer.shop.app.app_context():
                    payer.shop.paycheckout.resolve_payout(reference, sent, by="Ada", why="seen in the dashboard")
        payer.sends()
        payer.sandbox.advance(minutes=7)
    raise AssertionError(payer.statuses)


@pytest.mark.parametrize("kind", FAULTS)
def test_nothing_is_paid_twice_and_nothing_is_forgotten(payer: Payer, kind: str) -> None:
    owes_all(payer)
    for create in (FIAT, CRYPTO):
        payer.sandbox.fault(create, kind, 2, **FAULTS[kind])
    comes_to_rest(payer)
    assert Counter(paid.to for paid in payer.at_service).most_common(1)[0][1] == 1
    assert sorted(f"{paid.amount:f}" for paid in payer.at_service) == ["80.00", "80.00", "80.00", "80.000000"]


@pytest.mark.parametrize("kind", FAULTS)
def test_a_look_up_that_fails_too_proves_nothing(payer: Payer, kind: str) -> None:
    owes_all(payer)
    for create in (FIAT, CRYPTO):
        payer.sandbox.fault(create, "lose_response")
    # Also when the client tries a read again by itself.
    payer.sandbox.fault(LIST, kind, 3, **FAULTS[kind])
    payer.sends()
    # The service is left alone after such a call; the token comes later.
    assert payer.statuses == {"sending": 3, "ready": 1}
    comes_to_rest(payer)
    assert len(payer.at_service) == 4
