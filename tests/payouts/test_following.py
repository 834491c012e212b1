"""Following: sent bank transfers are read until they end, tokens never; and an audit's verdict on each try."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from flask_paycheckout import PayoutReport
from flask_paycheckout.books.audit import rechecks
from flask_paycheckout.client import FiatItem
from flask_paycheckout.clock import EPOCH
from flask_paycheckout.payouts.payout_schedule import next_read
from tests.payouts.books import Books
from tests.payouts.paying import ADA, BANK, READ, WALLET, Payer
from tests.payouts.shop import decides, payout, pays_out, sends
from tests.scripted import Shop, refusal


@pytest.mark.on_each_database
@pytest.mark.parametrize("end", ["completed", "failed"])
def test_a_bank_transfer_is_followed_to_its_end(payer: Payer, end: str) -> None:
    payer.owes(to=BANK)
    payer.sends()
    assert payer.sends(minutes=1) == PayoutReport(), "it is pending"
    payer.sandbox.finish(payer.payout(), end)  # type: ignore[arg-type]
    assert payer.sends(minutes=2) == PayoutReport(**{end: 1})
    payout = payer.payout()
    assert (payout.status, payout.due_at is None) == (end, end == "completed")
    assert (payout.to_details is None) == (end == "completed"), "a failed one may be tried again"
    assert (payout.problem is not None) == (end == "failed")


def test_pauses_grow_and_reads_never_end() -> None:
    ages = [timedelta(seconds=1), timedelta(minutes=10), timedelta(hours=20), timedelta(days=1), timedelta(days=900)]
    pauses = [(next_read(EPOCH - age, EPOCH) - EPOCH).total_seconds() for age in ages]
    assert pauses == [30, 300, 3600, 3 * 3600, 6 * 3600]


def test_a_transfer_whose_destination_cannot_be_read_any_more_is_followed_all_the_same(payer: Payer) -> None:
    payer.owes(to=BANK)
    payer.sends()
    payer.stands(to_details="sealed:gAAAA")
    payer.sandbox.finish(payer.payout(), "completed")
    assert payer.sends(minutes=1) == PayoutReport(completed=1)


def test_tokens_are_never_read(payer: Payer) -> None:
    payer.owes(to=WALLET)
    payer.sends()
    calls = payer.counts_calls()
    assert payer.sends(minutes=600) == PayoutReport()
    assert (calls, payer.payout().due_at) == ({}, None)


def test_a_read_that_fails_backs_off_and_says_so(payer: Payer) -> None:
    payer.owes()
    payer.sends()
    payer.sandbox.fault(READ, "error", times=99, statusCode=500)
    assert payer.sends(minutes=1) == PayoutReport(failed_calls=1)
    payout = payer.payout()
    assert (payout.status, payout.failures, payout.problem_since is not None) == ("sent", 1, True)
    assert "500" in payout.problem
    payer.sandbox.control("DELETE", "faults")
    payer.sandbox.finish(payout, "completed")
    assert payer.sends(minutes=1) == PayoutReport(completed=1)
    assert payer.payout().problem is None


def test_a_payout_that_a_person_saw_sent_is_found_by_its_reference_or_they_were_wrong(payer: Payer) -> None:
    for reference in ("seen", "wrong"):
        payer.owes(reference)
        payer.stands(reference, status="unknown", taken_at=payer.sandbox.now, due_at=None)
        payer.decides("resolve_payout", True, reference=reference)
    payer.carried_out_unseen("seen")
    payer.sandbox.finish(payer.payout("seen"), "completed")
    assert payer.sends(minutes=1) == PayoutReport(completed=1)
    assert payer.payout("seen").disbursement_id == payer.at_service[0].disbursement_id
    assert payer.payout("wrong").problem == "the service knows no disbursement with its reference"


@pytest.mark.parametrize("column", [{"amount": "81"}, {"amount": "8o"}, {"service_reference": "another"}])
def test_the_record_of_another_payout_moves_nothing_and_stops_no_other(payer: Payer, column: dict[str, str]) -> None:
    for reference in ("p-1", "fine"):
        payer.owes(reference, to=ADA)
    payer.sends()
    for record in payer.at_service:
        payer.sandbox.finish(record, "completed")
    payer.stands(**column)
    assert payer.sends(minutes=1) == PayoutReport(completed=1)
    assert (payer.status(), "another" in payer.payout().problem) == ("sent", True)


def test_a_service_that_is_down_is_not_asked_for_every_payout(payer: Payer) -> None:
    for number in range(40):
        payer.owes(f"p-{number}")
    payer.sends()
    calls = payer.counts_calls()
    payer.disconnect()
    assert payer.sends(minutes=1).failed_calls <= 8
    assert sum(calls.values()) <= 24, "each is tried again twice"


def test_a_failed_payout_has_failed_also_if_the_service_writes_its_amount_otherwise(payer: Payer) -> None:
    payer.owes()
    payer.sends()
    payer.stands(amount="81.00")
    payer.ends(status="failed")
    assert payer.status() == "failed"


def test_a_second_transfer_under_one_reference_is_named(
    shop: Shop, books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a faulty service makes such a transfer."""
    monkeypatch.setattr(rechecks, "_CALM", 0.0)
    books._page_size = 100
    pays_out(shop)
    sends(shop)
    item = FiatItem(amount="80.00", recipient_id="rec_1", reference=payout(shop).service_reference)
    shop.runtime.client.authorized("unit-token").fiat_disbursements.create("USD", [item])
    books.finish()
    sends(shop, minutes=2)
    ran = shop.runs("audit")
    assert ran.exit_code == 1
    assert "It may be paid twice" in ran.stdout


def test_an_earlier_try_that_was_refused_before_it_was_booked_is_known_here(shop: Shop, books: Books) -> None:
    """The service lists a refused transfer as failed."""
    books._page_size, books.instead = 100, [refusal(400, "insufficient funds")]
    pays_out(shop)
    first = payout(shop)
    sends(shop)
    books.paper.add("asked to pay", items=[{**books_item(first), "at": shop.clock().isoformat()}])
    books.finish("failed")
    assert decides(shop, "retry", "maker-1")
    sends(shop)
    books.finish()
    sends(shop, minutes=2)
    assert len(books.paid) == 2
    assert shop.runs("audit").exit_code == 0


def books_item(payout: Any) -> dict[str, Any]:
    """A transfer of a payout as a line of the service's books."""
    kind = {"id": "pay-0", "to": "rec_1", "kind": "recipientId"}
    return kind | {"reference": payout.service_reference, "amount": "80.00", "currency": "USD"}
