"""Answers to sends that say less, or something else, than was asked; and receivers that refuse what they say."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from flask_paycheckout import PayoutReport
from flask_paycheckout.client import FiatBank, FiatRecipient
from flask_paycheckout.client.hidden import AccountNumber
from flask_paycheckout.payouts.calls import Made
from tests.payouts.paying import ADA, BANK, FIAT, WALLET, Payer

Answer = Callable[[Sequence[Made]], Sequence[Made]]


def answers(payer: Payer, monkeypatch: pytest.MonkeyPatch, change: Answer) -> None:
    """The service does what it is asked, and its answer is another one."""
    calls: Any = payer.shop.runtime.payout_calls
    create = calls._create
    monkeypatch.setattr(type(calls), "_create", lambda calls, client, batch: change(create(client, batch)))


def each(**fields: Any) -> Answer:
    return lambda made: [msgspec.structs.replace(one, **fields) for one in made]


def test_an_item_that_the_answer_leaves_out_is_looked_up(payer: Payer, monkeypatch: pytest.MonkeyPatch) -> None:
    payer.owes("first")
    payer.owes("second")
    answers(payer, monkeypatch, lambda made: made[:1])
    assert payer.sends() == PayoutReport(sent=2, failed_calls=1)
    assert payer.payout("second").doubted


def test_a_token_that_the_answer_leaves_out_is_unknown(payer: Payer, monkeypatch: pytest.MonkeyPatch) -> None:
    payer.owes(to=WALLET)
    answers(payer, monkeypatch, lambda made: [])
    assert payer.sends() == PayoutReport(unknown=1, failed_calls=1)
    assert "does not name it" in payer.payout().problem


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (each(amount=Decimal("8000")), "another amount"),
        (each(currency="EUR"), "another currency"),
        (each(recipient=FiatRecipient(recipient_id="somebody")), "another destination"),
        (lambda made: [*made, *each(disbursement_id="second")(made)], "names it twice"),
    ],
    ids=["amount", "currency", "recipient", "twice"],
)
def test_a_bank_transfer_of_something_else_is_unknown(
    payer: Payer, monkeypatch: pytest.MonkeyPatch, change: Answer, problem: str
) -> None:
    payer.owes(to=ADA)
    answers(payer, monkeypatch, change)
    assert payer.sends() == PayoutReport(unknown=1)
    payout = payer.payout()
    assert problem in payout.problem
    assert (payout.disbursement_id, payout.next_attempt_at) == (payer.at_service[0].disbursement_id, None)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (each(amount=Decimal("80")), "sent"),
        (each(amount=None, token=None, receiver_address=None), "sent"),
        (each(receiver_address=WALLET.address.lower()), "sent"),
        (each(amount=Decimal("80.000001")), "unknown"),
        (each(token="usdt-polygon"), "unknown"),
        (each(receiver_address="0x" + "0" * 40), "unknown"),
        (each(status="Failed"), "unknown"),
    ],
)
def test_a_token_transfer_is_compared_as_far_as_the_answer_shows_it(
    payer: Payer, monkeypatch: pytest.MonkeyPatch, change: Answer, status: str
) -> None:
    payer.owes(to=WALLET)
    answers(payer, monkeypatch, change)
    payer.sends()
    assert payer.status() == status


@pytest.mark.parametrize(
    ("recipient", "status"),
    [
        *(
            (FiatRecipient(bank=FiatBank(account_number=AccountNumber(f"**** {end}"))), "sent")
            for end in ("777-31", "1")
        ),
        (FiatRecipient(bank=FiatBank(account_number=AccountNumber("**** 7773"))), "unknown"),
        *((nothing, "sent") for nothing in (None, FiatRecipient(), FiatRecipient(bank=FiatBank()))),
    ],
    ids=["masked", "masked more", "another", "no recipient", "no bank", "no number"],
)
def test_a_bank_account_is_compared_as_far_as_the_answer_shows_it(
    payer: Payer, monkeypatch: pytest.MonkeyPatch, recipient: FiatRecipient | None, status: str
) -> None:
    payer.owes(to=BANK)
    answers(payer, monkeypatch, each(recipient=recipient))
    payer.sends()
    assert payer.status() == status


def test_an_error_that_nobody_expects_is_a_lost_answer_and_shows_no_words(
    payer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(made: Sequence[Made]) -> Sequence[Made]:
        raise LookupError("canary")

    payer.owes("bank")
    payer.owes("token", to=WALLET)
    answers(payer, monkeypatch, breaks)
    assert payer.sends().sent == 1
    assert payer.payout("bank").doubted
    payer.sends()
    assert (payer.status("token"), payer.payout("token").problem) == ("unknown", "LookupError")


def test_a_batch_that_the_service_fails_at_is_sent_one_by_one_later(payer: Payer) -> None:
    """One of them may be the reason."""
    payer.owes("first")
    payer.owes("second")
    payer.sandbox.fault(FIAT, "error", statusCode=500)
    assert payer.sends().sent == 0
    payer.sandbox.advance(minutes=2)
    calls = payer.counts_calls()
    assert payer.sends().sent == 2
    assert calls[FIAT] == 2
