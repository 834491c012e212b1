"""Answers to sends with missing or different facts, and receivers that refuse them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from flask_paycheckout import PayoutReport, ToWallet, payout_sent
from flask_paycheckout.client import FiatBank, FiatRecipient
from flask_paycheckout.client.hidden import AccountNumber
from flask_paycheckout.client.records import GIVEN
from flask_paycheckout.payouts.calls import Disbursement
from tests.payouts.paying import ADA, BANK, FIAT, WALLET, Payer
from tests.payouts.shop import TOKEN

STELLAR = ToWallet("GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN")
Answer = Callable[[Sequence[Disbursement]], Sequence[Disbursement]]


def answers(payer: Payer, monkeypatch: pytest.MonkeyPatch, change: Answer) -> None:
    """Let the service carry out each call, and change its answer."""
    calls: Any = payer.shop.runtime.payout_calls
    send = calls.send
    monkeypatch.setattr(type(calls), "send", lambda calls, client, batch: change(send(client, batch)))


def each(**fields: Any) -> Answer:
    return lambda made: [msgspec.structs.replace(one, **fields) for one in made]


def test_an_item_that_the_answer_leaves_out_is_looked_up(payer: Payer, monkeypatch: pytest.MonkeyPatch) -> None:
    payer.owes("first")
    payer.owes("second")
    answers(payer, monkeypatch, lambda made: made[:1])
    assert payer.sends() == PayoutReport(sent=2, failed_calls=1)
    assert "the answer to the call was lost" in payer.payout("second").history


def shows(**bank: Any) -> Answer:
    """An answer with these fields of the recipient's bank account."""
    return each(recipient=FiatRecipient(bank=FiatBank(**bank)))


@pytest.mark.parametrize(
    ("to", "change", "problem"),
    [
        (ADA, each(amount=Decimal("8000")), "another amount"),
        (ADA, each(currency="EUR"), "another currency"),
        (ADA, each(recipient=FiatRecipient(recipient_id="somebody")), "another destination"),
        (ADA, lambda made: [*made, *each(disbursement_id="second")(made)], "names it twice"),
        (BANK, shows(account_number=AccountNumber("**** 7773")), "another destination"),
        (WALLET, each(token="usdt-polygon"), "another currency"),
        (WALLET, each(receiver_address="0x" + "0" * 40), "another destination"),
        (WALLET, each(status="Failed"), "it failed"),
        (BANK, shows(account_number=AccountNumber("**** 777-31")), None),
        (BANK, shows(), None),
        # Reads give the same status.
        (BANK, each(status="failed"), None),
        (BANK, each(recipient=GIVEN), None),
        (WALLET, each(amount=GIVEN, token=GIVEN, receiver_address=GIVEN), None),
        (WALLET, each(receiver_address=WALLET.address.lower()), None),
        (STELLAR, each(status="pending"), None),
        (STELLAR, each(receiver_address=STELLAR.address.lower()), "another destination"),
    ],
)
def test_an_answer_is_compared_as_far_as_it_shows_the_payout_and_another_one_is_unknown(
    payer: Payer, monkeypatch: pytest.MonkeyPatch, to: Any, change: Answer, problem: str | None
) -> None:
    payer.owes(to=to, currency="usdc-stellar" if to is STELLAR else TOKEN if to is WALLET else "USD")
    answers(payer, monkeypatch, change)
    assert payer.sends() == (PayoutReport(sent=1) if problem is None else PayoutReport(unknown=1))
    payout = payer.payout()
    assert payout.disbursement_id == payer.at_service[0].disbursement_id
    if problem is not None:
        assert problem in payout.problem
        assert payout.due_at is None


def test_a_payout_resolved_as_not_sent_is_not_taken_for_sent_when_its_next_sender_dies(
    payer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer.owes(to=WALLET)
    answers(payer, monkeypatch, each(amount=Decimal("80.01")))
    payer.sends()
    payer.decides("resolve_payout", False)
    payer.stands(status="sending", due_at=payer.sandbox.now)
    payer.sends()
    assert (payer.status(), payer.booked) == ("unknown", [])
    assert "look on the chain" in payer.payout().problem


def test_an_error_that_nobody_expects_is_a_lost_answer_and_shows_no_words(
    payer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(made: Sequence[Disbursement]) -> Sequence[Disbursement]:
        raise LookupError("canary")

    payer.owes("bank")
    payer.owes("token", to=WALLET)
    answers(payer, monkeypatch, breaks)
    assert payer.sends().sent == 1
    assert "the answer to the call was lost" in payer.payout("bank").history
    payer.sends()
    assert (payer.status("token"), payer.payout("token").problem) == ("unknown", "LookupError")


def test_a_batch_that_the_service_fails_at_is_sent_one_by_one_later(payer: Payer) -> None:
    """One payout of the batch may be the reason."""
    payer.owes("first")
    payer.owes("second")
    payer.sandbox.fault(FIAT, "error", statusCode=500)
    assert payer.sends().sent == 0
    payer.sandbox.advance(minutes=2)
    calls = payer.counts_calls()
    assert payer.sends().sent == 2
    assert calls[FIAT] == 2


def test_an_atomic_receiver_that_raises_takes_the_booking_back(payer: Payer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The service gives the fee of tokens only once, so it is kept until the answer is stored."""
    answers(payer, monkeypatch, each(fee_amount=Decimal("0.25")))
    payer.owes(to=WALLET)
    with payer.shop.refusing(payout_sent):
        payer.sends()
    payout = payer.payout()
    assert (payout.status, payout.disbursement_id) == ("sending", payer.at_service[0].disbursement_id)
    assert payer.booked == []
    assert "refuse of payout_sent failed: RuntimeError: not now" in payout.problem
    payer.sends(minutes=10)
    assert (payer.status(), payer.booked) == ("sent", [("payout", "-80.00")])
    assert payer.payout().fee == Decimal("0.25")


@pytest.mark.on_each_database
def test_a_fee_that_cannot_be_stored_keeps_no_payout_from_being_sent(
    payer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer.owes()
    answers(payer, monkeypatch, each(fee_amount=Decimal("0." + "3" * 70)))
    payer.sends()
    assert (payer.status(), payer.payout().fee) == ("sent", None)
