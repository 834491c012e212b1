"""Alarms about payouts: report and doctor name each trouble within five minutes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flask_paycheckout import ByHand, PayoutReport, ReconcileReport, payout_completed, payout_failed, payout_sent
from tests.alarming import alarms_of, urgent
from tests.books.test_alarms import hears, named_by_both, orders, runs
from tests.conftest import OpenPayer
from tests.payouts.paying import BANK, CRYPTO, FIAT, LIST, READ, WALLET, Payer
from tests.payouts.shop import decides, refunds

Trouble = Callable[[Payer], object]


@pytest.fixture
def well(payer: Payer) -> Payer:
    """A shop with receivers of payouts, and one successful payout."""
    for signal in (payout_sent, payout_failed, payout_completed):
        signal.connect(hears, sender=payer.shop.app)
    completes(payer, "well")
    return payer


def completes(payer: Payer, reference: str) -> None:
    payer.owes(reference, to=BANK)
    payer.sends()
    payer.sandbox.finish(payer.payout(reference), "completed")
    minutes_pass(payer, 2)
    assert payer.status(reference) == "completed"


def is_paid(payer: Payer) -> str:
    checkout_id = payer.is_paid()
    payer.shop.changes(checkout_id, webhooks=1)
    return checkout_id


def minutes_pass(payer: Payer, count: int) -> None:
    """Run reconcile once a minute."""
    for _ in range(count):
        payer.sandbox.advance(minutes=1)
        payer.shop.reconciles()
        payer.sends()


def stops_reconcile(payer: Payer) -> None:
    payer.shop.reconciles = lambda *limit, **passed: ReconcileReport()  # type: ignore[method-assign]
    payer.sends = lambda *given, **more: PayoutReport()  # type: ignore[method-assign]


# Troubles


def nobody_approves(payer: Payer) -> None:
    payer.owes(approve=True)


def reconcile_does_not_run(payer: Payer) -> None:
    payer.owes()
    stops_reconcile(payer)


def token_is_refused(payer: Payer) -> None:
    payer.sandbox.fault(FIAT, "error", times=1000, statusCode=401, message="token expired")
    payer.owes(to=BANK)


def look_ups_fail(payer: Payer) -> None:
    payer.sandbox.fault(FIAT, "lose_response", times=1)
    payer.sandbox.fault(LIST, "error", times=1000, statusCode=503, message="no lists today")
    payer.owes(to=BANK)


def a_token_is_in_doubt(payer: Payer) -> None:
    payer.sandbox.fault(CRYPTO, "lose_response")
    payer.owes(to=WALLET)


def the_bank_refuses(payer: Payer) -> None:
    payer.owes(to=BANK)
    payer.sends()
    payer.sandbox.finish(payer.payout(), "failed")


def a_sender_died(payer: Payer) -> None:
    payer.owes(to=BANK)
    payer.stands(status="sending", due_at=payer.sandbox.now)
    stops_reconcile(payer)


TROUBLES: dict[str, tuple[Trouble, str, str]] = {
    "nobody approves": (nobody_approves, "approval", "today"),
    "reconcile does not run": (reconcile_does_not_run, "not sent", "now"),
    "token is refused": (token_is_refused, "token expired", "now"),
    "look-ups fail": (look_ups_fail, "no lists today", "now"),
    "a token is in doubt": (a_token_is_in_doubt, "unknown", "today"),
    "the bank refuses": (the_bank_refuses, "failed", "today"),
    "a sender died": (a_sender_died, "without news", "now"),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_each_trouble_is_named_within_five_minutes(well: Payer, name: str) -> None:
    begin, words, severity = TROUBLES[name]
    assert runs(well.shop, "report")[0] == 0
    begin(well)
    # Six minutes: a try that fails at the first minute has then failed for five.
    minutes_pass(well, 6)
    named_by_both(well.shop, words, severity, "p-1")


def test_without_an_access_token_the_remedy_is_a_login(open_payer: OpenPayer) -> None:
    payer = open_payer(PAYCHECKOUT_ACCESS_TOKEN=None)
    payer.owes()
    named_by_both(payer.shop, "not sent", reference="p-1")
    output = payer.shop.runs("report").output
    assert "No access token is configured. Send them now with: flask paycheckout payouts send --login" in output


def test_a_refund_that_nobody_claims_is_listed_and_needs_a_person_after_a_week(well: Payer) -> None:
    shop = well.shop
    checkout_id = is_paid(well)
    reference = refunds(shop, checkout_id).reference
    report = shop.runs("report")
    assert (report.exit_code, reference in report.output) == (0, True)
    assert "  1 payout or refund waits for its receiver to say where\n" in report.output
    well.sandbox.advance(minutes=7 * 24 * 60)
    named_by_both(shop, "waits for its receiver", reference=reference)


def test_a_slow_transfer_is_reported_after_a_week_and_since_when_it_is_slow_and_without_news(well: Payer) -> None:
    well.owes(to=BANK)
    minutes_pass(well, 10)
    assert runs(well.shop, "report")[0] == 0
    well.sandbox.advance(minutes=7 * 24 * 60)
    minutes_pass(well, 1)
    named_by_both(well.shop, "without news", reference="p-1")
    sent = well.payout()
    assert alarms_of(well.shop)["slow-transfers"].since == sent.moved_at
    well.sandbox.advance(minutes=7 * 60)
    assert alarms_of(well.shop)["payouts-not-followed"].since == sent.due_at
    well.sandbox.fault(READ, "error", times=10, statusCode=503)
    well.sends()
    assert alarms_of(well.shop)["slow-transfers"].since == sent.moved_at


def test_a_failed_payout_leaves_the_alarm_when_tried_again_or_given_up(well: Payer) -> None:
    the_bank_refuses(well)
    minutes_pass(well, 3)
    assert runs(well.shop, "report")[0] == 1
    well.shop.calls.retry_payout("p-1", by="Ada", why="the account is open again")
    minutes_pass(well, 1)
    assert runs(well.shop, "report")[0] == 0
    well.sandbox.finish(well.payout(), "failed")
    minutes_pass(well, 3)
    code, report = runs(well.shop, "report")
    assert (code, report["alarms"][0]["key"], report["payouts"]["failed"]) == (1, "failed-payouts", 1)
    well.sandbox.advance(minutes=7 * 24 * 60)
    assert runs(well.shop, "report")[0] == 1, "no alarm ends by age"
    assert decides(well.shop, "cancel", "p-1")
    code, report = runs(well.shop, "report")
    assert (code, report["alarms"], report["payouts"]["cancelled"]) == (0, [], 1)


def fails(well: Payer, checkout_id: str, amount: str = "1", **keywords: Any) -> str:
    """Refund this by a transfer that fails; returns its reference."""
    reference = str(refunds(well.shop, checkout_id, amount, to=BANK, **keywords).reference)
    well.sends()
    well.sandbox.finish(well.payout(reference), "failed")
    minutes_pass(well, 3)
    return reference


def test_a_failed_refund_is_an_alarm_until_another_one_replaces_it_which_may_fail_too(well: Payer) -> None:
    shop, checkout_id = well.shop, is_paid(well)
    failed = [fails(well, checkout_id) for _ in range(2)]
    other = refunds(shop, checkout_id, "1", to=ByHand())
    assert (other.replaces, alarms_of(shop)["failed-payouts"].count) == (None, 2), "it is another refund of this amount"
    second = fails(well, checkout_id, replaces=failed[0])
    assert (well.payout(failed[0]).shown_status, alarms_of(shop)["failed-payouts"].count) == ("replaced", 2)
    for replaced in (second, failed[1]):
        last = refunds(shop, checkout_id, "1", replaces=replaced)
    assert urgent(shop) == set()
    assert decides(shop, "cancel", last.reference)
    assert urgent(shop) == {"failed-payouts"}


def test_a_failed_refund_is_an_alarm_until_one_of_its_amount_is_made_or_all_is_given_back(well: Payer) -> None:
    shop = well.shop
    checkout_id = is_paid(well)
    fails(well, checkout_id, "10")
    refunds(shop, checkout_id, "1", to=ByHand())
    assert urgent(shop) == {"failed-payouts"}
    refunds(shop, checkout_id, to=ByHand())
    assert urgent(shop) == set()


def test_a_refused_token_is_no_alarm_once_another_process_has_sent_also_after_money_was_given_by_hand(
    well: Payer, open_payer: OpenPayer
) -> None:
    """The process whose calls were refused no longer runs."""
    gone = open_payer()
    checkout_id = is_paid(well)
    well.sandbox.fault(FIAT, "error", statusCode=401, times=2)
    for number in range(2):
        gone.owes(f"r-{number}")
        gone.sends(minutes=6)
    assert "refused-tokens" in urgent(well.shop)
    well.owes()
    well.sends(minutes=1)
    assert "refused-tokens" not in urgent(well.shop)
    refunds(well.shop, checkout_id, "1", to=ByHand())
    assert "refused-tokens" not in urgent(well.shop)


def test_a_trouble_that_goes_on_has_one_beginning(well: Payer) -> None:
    well.owes(to=BANK)
    well.stands(to_details="sealed:with a key that is gone")
    since = set()
    for _ in range(3):
        minutes_pass(well, 10)
        since |= {
            alarm["since"] for alarm in runs(well.shop, "report")[1]["alarms"] if alarm["kind"] == "unsent-payouts"
        }
    assert len(since) == 1


def test_a_refused_token_is_one_alarm_until_it_is_renewed_and_none_afterwards(well: Payer) -> None:
    well.sandbox.fault(FIAT, "error", times=1000, statusCode=401, message="token expired")
    well.owes(to=BANK)
    minutes_pass(well, 6)
    seen = set()
    for _ in range(20):
        minutes_pass(well, 1)
        seen |= urgent(well.shop)
    assert seen == {"refused-tokens"}
    well.sandbox.control("DELETE", "faults")
    well.owes("new", to=BANK)
    for _ in range(12):
        minutes_pass(well, 1)
        assert urgent(well.shop) == set()
    assert well.status() == "sent"


def test_sends_that_fail_are_one_alarm_though_customers_pay_meanwhile(well: Payer) -> None:
    well.sandbox.fault(FIAT, "error", times=1000, statusCode=503, message="no sends today")
    well.owes(to=BANK)
    seen = set()
    for minute in range(14):
        well.shop.starts(*orders(well.shop))
        well.sandbox.advance(minutes=1)
        well.shop.reconciles()
        seen |= urgent(well.shop) if minute > 8 else set()
    assert seen == {"failing-service"}


def test_payouts_whose_calls_fail_and_heal_by_themselves_are_no_alarm(well: Payer) -> None:
    for number, operation in enumerate([FIAT, LIST, READ]):
        well.sandbox.fault(operation, "error", statusCode=503)
        well.sandbox.fault(FIAT, "lose_response")
        well.owes(f"h-{number}", to=BANK)
        for _ in range(4):
            minutes_pass(well, 1)
            assert urgent(well.shop) == set()
        completes(well, f"fine-{number}")
    assert well.statuses == {"completed": 4, "sent": 3}


def test_a_refused_token_is_no_alarm_once_another_process_has_sent_an_older_one(
    well: Payer, open_payer: OpenPayer
) -> None:
    gone = open_payer()
    well.owes("older", approve=True)
    completes(well, "newer")
    well.sandbox.fault(FIAT, "error", statusCode=401, times=2)
    decides(well.shop, "approve", "older")
    gone.sends()
    gone.sends(minutes=6)
    assert "refused-tokens" in urgent(well.shop)
    well.sends(minutes=6)
    assert "refused-tokens" not in urgent(well.shop)
