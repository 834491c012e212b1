"""The audit of payouts: each try is compared, considering people's decisions about it."""

from __future__ import annotations

import json
from datetime import timedelta
from decimal import Decimal
from unittest.mock import ANY

import pytest
import sqlalchemy as sa

from flask_paycheckout import ByHand
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.world.database import transaction
from tests.accounts.conftest import service as service
from tests.books.auditing import audits, named, paid, quick as quick, stands_there, strangers
from tests.payouts.paying import ADA, BANK, LIST, WALLET, Payer
from tests.payouts.shop import TOKEN, refunds
from tests.scripted import Shop


@pytest.mark.parametrize("status_code", ["404", "400"])
def test_a_transfer_that_the_service_never_had_is_missing_there(payer: Payer, status_code: str) -> None:
    """The interface does not show the status code of this answer."""
    payer.sandbox.change_unknowns(disbursement_not_found=status_code)
    payer.owes()
    payer.sends()
    payer.stands(service_reference="never-sent", disbursement_id="5a6d0000000000000000ffff")
    assert "missing at the service: disbursement" in payer.shop.runs("audit").stdout


def test_a_correction_hours_later_is_confirmed_by_the_service(payer: Payer) -> None:
    for reference in ("p-1", "p-2"):
        payer.owes(reference)
    payer.sends()
    stands_there(payer, amount=Decimal("80.01"))
    for reference in ("p-2", "p-1"):
        payer.ends(reference, minutes=120)
    assert "payouts resolve p-1 --sent" in payer.shop.runs("audit").stdout
    payer.decides("resolve_payout", True)
    payer.decides("resolve_payout", False, reference="p-2")
    assert payer.shop.runs("audit").stdout.startswith("compared 2: agreed 2,")
    payer.decides("retry_payout", reference="p-2")
    for _ in range(2):
        payer.sends()
        payer.sandbox.advance(minutes=2)
    assert (payer.status("p-2"), len(payer.at_service)) == ("completed", 2)
    assert payer.shop.runs("audit").stdout.startswith("compared 2: agreed 2,")


def test_a_refund_in_another_currency_has_both_sums_also_after_a_correction(payer: Payer) -> None:
    payer.shop.costs("12.5", currency=TOKEN)
    checkout_id = payer.is_paid()
    reference = refunds(payer.shop, checkout_id, "5", to=ADA, send=("4.90", "USD")).reference
    payer.sends()
    stands_there(payer, reference, amount=Decimal("4.80"))
    payer.ends(reference, minutes=120)
    payer.decides("resolve_payout", True, reference=reference)
    lines = [line for line in payer.shop.calls.books() if line.reference]
    assert [
        (line.kind, f"{line.gross} {line.currency}", f"{line.received} {line.received_currency}") for line in lines
    ] == [
        ("refund", "-4.90 USD", "-5 usdc-polygon"),
        ("refund_returned", "4.90 USD", "5 usdc-polygon"),
        ("refund", "-4.80 USD", "-5 usdc-polygon"),
    ]
    assert audits(payer.shop) == (0, ANY)


def test_payouts_about_which_both_agree(payer: Payer) -> None:
    payer.owes("sent")
    payer.owes("completed", to=BANK)
    payer.owes("failed")
    payer.sends()
    payer.sandbox.finish(payer.payout("completed"), "completed")
    payer.ends("failed", "failed")
    payer.owes("waits", approve=True)
    payer.owes("ready")
    code, findings = audits(payer.shop)
    assert (code, {finding["reference"]: finding["verdict"] for finding in findings}) == (
        0,
        dict.fromkeys(["sent", "completed", "failed"], "agreed"),
    )
    assert BANK.account_number not in json.dumps(findings)


def test_payouts_in_tokens_are_left_out_and_counted_but_one_that_was_sent_twice_cannot_be_proved(payer: Payer) -> None:
    payer.owes("p-1", "5", to=WALLET)
    payer.sends()
    ran = payer.shop.runs("audit", "--json")
    assert (ran.exit_code, ran.stdout) == (0, "[]\n")
    assert ran.stderr.startswith("Left out of payouts in tokens, which the service does not show again: 1.")
    payer.decides("resolve_payout", False)
    assert audits(payer.shop)[0] == 0
    payer.decides("retry_payout")
    payer.sends()
    code, (finding,) = audits(payer.shop)
    assert (code, finding["verdict"], finding["reference"]) == (1, "unreadable", "p-1")
    assert "Compare it with the chain" in finding["remedy"]


def test_the_first_try_of_a_payout_that_was_tried_again_must_have_failed(payer: Payer) -> None:
    payer.owes("p-1")
    payer.sends()
    first = payer.payout()
    payer.ends(status="failed")
    payer.decides("retry_payout")
    payer.sends()
    code, findings = audits(payer.shop)
    assert (code, len(findings), {finding["reference"] for finding in findings}) == (0, 2, {"p-1"})
    with payer.sandbox.app.app_context(), transaction() as session:
        session.execute(
            sa.update(Disbursement).where(Disbursement.id == first.disbursement_id).values(status="completed")
        )
    ran = payer.shop.runs("audit")
    assert ran.exit_code == 1
    assert f"differs: disbursement {first.disbursement_id} with the reference p-1" in ran.stdout
    assert "It may be paid twice" in ran.stdout


def test_a_failed_payout_that_was_given_up_agrees_until_the_service_pays_it(payer: Payer) -> None:
    payer.owes("p-1")
    payer.sends()
    payer.ends(status="failed")
    payer.decides("cancel_payout")
    assert (payer.status(), audits(payer.shop)[0]) == ("cancelled", 0)
    stands_there(payer, status="completed")
    assert "The service pays it, or has paid it." in payer.shop.runs("audit").stdout


@pytest.mark.parametrize("then", ["nothing", "cancelled", "replaced", "erased", "retried", "retried, cancelled"])
def test_a_payout_that_a_person_found_returned_agrees_whatever_becomes_of_it(payer: Payer, then: str) -> None:
    refund = refunds(payer.shop, payer.is_paid(), to=ADA).reference
    payer.sends()
    payer.ends(refund)
    payer.decides("resolve_payout", False, reference=refund)
    with payer.shop.app.app_context():
        if "retried" in then:
            payer.shop.paycheckout.retry_payout(refund, by="Ada", why="asked for it again")
        if "cancelled" in then:
            payer.shop.paycheckout.cancel_payout(refund, by="Ada", why="given in cash")
        if then == "replaced":
            refunds(payer.shop, payer.payout(refund).refund_of, to=ByHand())
        if then == "erased":
            payer.shop.paycheckout.erase(reference=refund, by="Ada", why="asked for it")
    assert audits(payer.shop) == (0, ANY)


def test_a_persons_word_is_about_one_try_that_the_service_has_not_ended_since(payer: Payer) -> None:
    payer.owes("p-1")
    payer.stands("p-1", status="unknown")
    payer.decides("resolve_payout", False)
    payer.sends()
    payer.ends(status="failed")
    assert (payer.status(), audits(payer.shop)[0]) == ("failed", 0)
    stands_there(payer, status="completed")
    assert "The service pays it, or has paid it." in payer.shop.runs("audit").stdout


def test_a_disbursement_of_another_program_is_missing_here(payer: Payer) -> None:
    strangers(payer, 3)
    ran = payer.shop.runs("audit")
    assert ran.stdout.count("missing here: disbursement ") == 3
    assert "    amount: here nothing, there 1" in ran.stdout


def test_a_payout_that_is_being_sent_meanwhile_is_no_difference(payer: Payer) -> None:
    payer.owes()
    payer.sends()
    payer.stands(status="sending", disbursement_id=None, due_at=payer.sandbox.now + timedelta(seconds=30))
    assert named(audits(payer.shop)[1]) == {}
    payer.sandbox.advance(minutes=1)
    assert named(audits(payer.shop)[1]) != {}, "whoever sent it has died"


def test_a_list_that_cannot_be_read_says_that_nobody_knows_what_is_missing(payer: Payer) -> None:
    payer.owes()
    payer.sends()
    payer.sandbox.fault(LIST, "error", times=50, statusCode=500)
    code, findings = audits(payer.shop)
    assert code == 1
    assert [(finding["verdict"], finding["reference"]) for finding in findings] == [
        ("unreadable", None),
        ("agreed", "p-1"),
    ]
    assert "nobody knows what is missing here" in findings[0]["remedy"]
    ran = payer.shop.runs("audit")
    assert "unreadable: the list of disbursements" in ran.stdout


def test_payouts_belong_to_the_period_in_which_they_were_sent(payer: Payer) -> None:
    payer.owes("p-1")
    payer.sends()
    before = payer.sandbox.now + timedelta(hours=12)
    payer.sandbox.advance(minutes=24 * 60)
    payer.owes("p-2")
    payer.sends()
    strangers(payer, 1)

    def found(*period: str) -> list[str]:
        return sorted(str(finding["reference"]) for finding in audits(payer.shop, *period)[1])

    assert found() == ["None", "p-1", "p-2"]
    assert found("--to", before.isoformat()) == ["p-1"]
    assert found("--from", before.isoformat()) == ["None", "p-2"]


def test_a_refund_by_hand_is_not_looked_for_at_the_service(shop: Shop) -> None:
    (checkout_id,) = paid(shop, 1)
    refunds(shop, checkout_id, "2.50", to=ByHand())
    code, findings = audits(shop)
    assert (code, [finding["kind"] for finding in findings if finding["verdict"] != "agreed"]) == (0, [])
