"""Reconcile pays out too, and neither side waits for the other."""

from __future__ import annotations

from threading import Event

import pytest

from flask_paycheckout import PayoutReport, ReconcileReport, ToRecipient
from flask_paycheckout.service.record import failing_calls
from tests.conftest import OpenPayer
from tests.payouts.paying import CRYPTO, FIAT, WALLET, Payer
from tests.races.crowds import PATIENCE


def is_paid_for(payer: Payer, order_id: str = "o-1") -> str:
    checkout_id = payer.shop.starts(order_id)
    payer.sandbox.pay(checkout_id)
    payer.sandbox.advance(minutes=1)
    return checkout_id


@pytest.mark.on_each_database
def test_reconcile_sends_and_follows(payer: Payer) -> None:
    checkout_id = is_paid_for(payer)
    payer.owes()
    report = payer.shop.reconciles()
    assert (report.checked, report.changed, report.payouts, report.clean) == (1, 1, PayoutReport(sent=1), True)
    assert payer.shop.attempt(checkout_id).status == "paid"
    payer.sandbox.finish(payer.payout(), "completed")
    payer.sandbox.advance(minutes=1)
    assert payer.shop.reconciles(1).payouts == PayoutReport(completed=1)


def test_reconcile_on_one_connection_pays_out_after_the_deposits(open_payer: OpenPayer) -> None:
    payer = open_payer(SQLALCHEMY_DATABASE_URI="sqlite://")
    is_paid_for(payer)
    payer.owes()
    report = payer.shop.reconciles()
    assert (report.changed, report.payouts) == (1, PayoutReport(sent=1))


def test_an_error_of_our_own_about_payouts_leaves_payments_untouched(
    payer: Payer, caplog: pytest.LogCaptureFixture
) -> None:
    is_paid_for(payer)
    with payer.shop.app.app_context(), payer.shop.db.engine.begin() as connection:
        payer.shop.runtime.models.payouts.drop(connection)
    report = payer.shop.reconciles()
    assert (report.changed, report.failed, report.clean) == (1, 0, False)
    assert "the round of payouts failed" in caplog.text


def test_payouts_that_hang_delay_no_deposit_of_the_same_round_and_no_later_round(payer: Payer) -> None:
    hangs, goes_on = Event(), Event()

    def hang() -> None:
        hangs.set()
        assert goes_on.wait(PATIENCE)

    payer.meanwhile(FIAT, hang)
    payer.owes()
    checkouts = [is_paid_for(payer, "o-1")]
    with payer.shop.app.app_context():
        rounds = payer.shop.runtime.reconciler.watch()
        try:
            first = rounds.run()
            assert hangs.wait(PATIENCE)
            checkouts.append(is_paid_for(payer, "o-2"))
            second = rounds.run()
        finally:
            goes_on.set()
        assert (first.changed, first.payouts, second.changed, second.payouts) == (1, PayoutReport(), 1, PayoutReport())
        assert [payer.shop.attempt(checkout_id).status for checkout_id in checkouts] == ["paid", "paid"]
        third = rounds.run()
        while third.payouts == PayoutReport():
            third = rounds.run()
    assert third.payouts == PayoutReport(sent=1)
    assert len(payer.at_service) == 1


def test_reconcile_ends_only_when_the_payouts_have_ended(payer: Payer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A deposit's error also waits for them, so that the process does not end in the middle of a call."""
    payer.owes()

    def broken(*arguments: object) -> ReconcileReport:
        raise LookupError

    monkeypatch.setattr(type(payer.shop.runtime.reconciler), "read_deposits", broken)
    with pytest.raises(LookupError):
        payer.shop.reconciles()
    assert payer.status() in ("sent", "ready"), "not in between"


def test_the_refusal_of_one_payout_is_no_failure_of_the_service(payer: Payer) -> None:
    payer.owes("bad", to=ToRecipient("nobody"))
    payer.sends()
    shop = payer.shop.runtime
    failing = failing_calls(shop.engine(), shop.models.services, shop.clock())
    assert (payer.status("bad"), failing) == ("failed", [])


def test_an_outage_does_not_cost_a_token_in_every_round(payer: Payer) -> None:
    """Each lost answer leaves a token unknown, for a person to decide; so reconcile pauses, longer each time."""
    for number in range(30):
        payer.owes(f"t-{number}", to=WALLET)
    payer.sandbox.fault(CRYPTO, "error", 1000, statusCode=503)
    for _ in range(30):
        payer.shop.reconciles()
        payer.sandbox.advance(minutes=1 / 60)
    assert payer.statuses["unknown"] <= 5
    payer.sandbox.control("DELETE", "faults")
    payer.sandbox.advance(minutes=2)
    payer.shop.reconciles()
    assert payer.statuses["sent"] >= 25
