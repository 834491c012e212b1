"""Sending: every row of the table of states that begins with `ready` or `sending`."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from flask_paycheckout import Account, PayoutReport, ToBank, ToRecipient
from flask_paycheckout.payouts.destinations import Destination
from tests.alarming import urgent
from tests.conftest import OpenPayer, OpenShop
from tests.database.test_round_trips import cost
from tests.payouts.books import Books
from tests.payouts.paying import ADA, BANK, CRYPTO, FIAT, LIST, WALLET, Payer
from tests.payouts.shop import TOKEN, payout, pays_out, sends, stands

NOBODY = ToRecipient("5a6d0000000000000000ffff")


@pytest.mark.parametrize("to", [ADA, BANK, WALLET], ids=["recipient", "bank", "wallet"])
def test_a_ready_payout_is_sent(payer: Payer, to: Destination) -> None:
    payer.owes(to=to)
    assert payer.sends() == PayoutReport(sent=1)
    payout, (record,) = payer.payout(), payer.at_service
    assert (payout.status, payout.disbursement_id) == ("sent", record.disbursement_id)
    assert (record.reference, record.amount) == (payout.service_reference, Decimal("80.00"))
    assert (payout.problem, payout.failures) == (None, 0)
    assert payer.sends() == PayoutReport(), "nothing is sent twice"
    assert len(payer.at_service) == 1


def test_batches_are_of_one_currency_and_tokens_go_alone(open_payer: OpenPayer) -> None:
    payer = open_payer(PAYCHECKOUT_PAYOUT_BATCH=2)
    for number in range(3):
        payer.owes(f"usd-{number}", note="jars sold")
        payer.owes(f"token-{number}", to=WALLET)
    payer.owes("eur", to=ToBank("Zoé", "123456789", "fr_banque_du_sable", "Banque du Sable"), currency="EUR")
    calls = payer.counts_calls()
    assert payer.sends() == PayoutReport(sent=7)
    assert (calls[FIAT], calls[CRYPTO]) == (3, 3)
    transfers = payer.shop.runtime.client.fiat_disbursements
    assert transfers.get(payer.payout("usd-0").disbursement_id).note == "jars sold"


# Certainly not carried out


@pytest.mark.parametrize(("operation", "status_code"), [(FIAT, 401), (CRYPTO, 429)])
def test_a_call_that_was_certainly_not_carried_out_is_sent_later_under_its_reference(
    payer: Payer, operation: str, status_code: int
) -> None:
    payer.owes(to=ADA if operation == FIAT else WALLET)
    before = payer.payout()
    payer.sandbox.fault(operation, "error", statusCode=status_code)
    report = payer.sends()
    assert (report.sent, report.left, report.clean) == (0, 1, False)
    payout = payer.payout()
    assert (payout.status, payout.service_reference) == ("ready", before.service_reference)
    assert str(status_code) in payout.problem
    assert (payout.doubt, payout.taken_at) == (None, None)
    assert payer.sends() == PayoutReport(left=1), "not before its time"
    payer.sandbox.advance(seconds=11, minutes=0)
    assert payer.sends() == PayoutReport(sent=1)
    assert payer.payout().problem is None


def test_the_pause_doubles_and_the_service_may_ask_for_more(payer: Payer) -> None:
    payer.owes()
    pauses = []
    for retry_after in (None, None, None, 600):
        payer.sandbox.fault(FIAT, "error", statusCode=429, retryAfter=retry_after)
        now = payer.sandbox.now
        payer.sends()
        pauses.append(round((payer.payout().due_at - now).total_seconds()))
        payer.sandbox.advance(minutes=10)
    assert pauses == [10, 20, 40, 600]


def test_no_connection_is_certainly_not_carried_out(payer: Payer) -> None:
    payer.owes()
    payer.owes("token", to=WALLET)
    payer.disconnect()
    report = payer.sends()
    assert (report.sent, report.unknown, report.left) == (0, 0, 2)
    assert payer.statuses == {"ready": 2}
    assert payer.payout().failures + payer.payout("token").failures == 1, "the first failure ends the round's sending"


# Refused


def test_a_payout_requested_on_a_host_with_a_fast_clock_is_sent_at_once(open_shop: OpenShop, books: Books) -> None:
    pays_out(open_shop(ahead=7200))
    assert sends(open_shop(), "unit-token").sent == 1
    assert len(books.paid) == 1


def test_one_bad_item_keeps_none_of_its_batch_from_its_money(payer: Payer) -> None:
    for number in range(249):
        payer.owes(f"p-{number}")
    payer.owes("bad", to=NOBODY)
    assert payer.sends() == PayoutReport(sent=249, failed_calls=2)
    assert len({payout.reference for payout in payer.at_service}) == len(payer.at_service) == 249
    assert payer.status("bad") == "sending", "the service may have taken it with its batch, and not show it yet"
    assert payer.sends(minutes=2) == PayoutReport(failed=1)
    bad = payer.payout("bad")
    assert "recipient" in bad.problem
    assert len(bad.problem) <= 600


def test_all_that_a_round_is_refused_is_looked_up_together(payer: Payer) -> None:
    """Such a lookup may list the transfers of three months."""
    for number in range(3):
        payer.owes(f"p-{number}", to=NOBODY)
    calls = payer.counts_calls()
    assert payer.sends().failed_calls == 4
    assert (calls[FIAT], calls[LIST]) == (4, 2), "together, and alone"


@pytest.mark.parametrize(("operation", "status_code"), [(FIAT, 422), (CRYPTO, 400)])
def test_one_refused_item_is_looked_up_and_else_failed(payer: Payer, operation: str, status_code: int) -> None:
    payer.owes(to=ADA if operation == FIAT else WALLET)
    payer.sandbox.fault(operation, "error", statusCode=status_code, message="no such bank")
    assert payer.sends() == PayoutReport(failed=1, failed_calls=1)
    payout = payer.payout()
    assert (payout.status, payout.due_at) == ("failed", None)
    assert "no such bank" in payout.problem
    assert payer.at_service == []


# Nothing was sent


@pytest.mark.parametrize(
    ("setting", "token"), [(None, "sandbox-access-token"), ("wrong-token", lambda: "sandbox-access-token")]
)
def test_a_given_token_is_used_in_place_of_the_setting(open_payer: OpenPayer, setting: str | None, token: Any) -> None:
    payer = open_payer(PAYCHECKOUT_ACCESS_TOKEN=setting)
    for reference, to in (("p-1", ADA), ("token", WALLET)):
        payer.owes(reference, to=to)
    report = payer.sends()
    assert (report.left, report.failed_calls, payer.at_service) == (2, 0 if setting is None else 1, [])
    with pytest.raises(ValueError, match="access_token may hold"):
        payer.sends("a token\n", minutes=1)
    with pytest.raises(TypeError, match="access_token must be a string, not int"):
        payer.sends(5, minutes=1)
    assert payer.sends(token, minutes=1) == PayoutReport(sent=2)


def test_a_service_that_wants_the_token_alone_gets_it_alone(open_payer: OpenPayer) -> None:
    tokens = {"PAYCHECKOUT_ACCESS_TOKEN": lambda: "sandbox-access-token"}
    payer = open_payer(PAYCHECKOUT_AUTHORIZATION_FORMAT="{token}", **tokens)
    payer.sandbox.change_unknowns(authorization_format="raw")
    payer.owes()
    assert payer.sends().sent == 1
    with payer.shop.app.app_context():
        assert payer.shop.paycheckout.client.fiat_disbursements.payment_methods("USD")


def test_a_function_that_has_no_token_now_sends_nothing(
    open_payer: OpenPayer, caplog: pytest.LogCaptureFixture
) -> None:
    def token() -> str:
        raise LookupError("canary-secret-77aa")

    payer = open_payer(PAYCHECKOUT_ACCESS_TOKEN=token)
    payer.owes()
    assert payer.sends() == PayoutReport(left=1, failed_calls=1)
    assert (payer.status(), payer.payout().failures) == ("ready", 0)
    assert "LookupError" in caplog.text


@pytest.mark.parametrize(
    ("to", "columns", "problem"),
    [
        (BANK, {"to_details": "sealed:gAAAA"}, "PAYCHECKOUT_SEAL_KEY"),
        (BANK, {"to_details": '{"canary'}, "cannot be read (DecodeError)"),
        (ADA, {"currency": TOKEN}, "TypeError: usdc-polygon is a token, which only a wallet takes"),
    ],
    ids=["sealed", "cut off", "token"],
)
def test_a_payout_that_cannot_be_sent_stops_no_other(
    payer: Payer, to: Any, columns: dict[str, str], problem: str
) -> None:
    """Another program has changed the row."""
    payer.owes("bad", to=to)
    payer.owes("fine")
    payer.stands("bad", **columns)
    report = payer.sends()
    assert (report.sent, report.left, report.clean) == (1, 1, False)
    assert (payer.status("bad"), payer.status("fine")) == ("ready", "sent")
    assert problem in payer.payout("bad").problem
    assert "canary" not in payer.payout("bad").problem


def test_one_in_a_currency_that_is_none_any_more_stops_no_other(payer: Payer) -> None:
    payer.owes("old")
    payer.owes("fine")
    payer.stands("old", currency="QQQ")
    payer.sends()
    assert (payer.status("old"), payer.status("fine")) == ("failed", "sent")


def test_a_payout_that_another_account_must_pay_stops_no_other_of_its_own(open_shop: OpenShop, books: Books) -> None:
    shop = open_shop()
    shop.paycheckout.account(lambda name: Account("client", "secret", access_token="secret-token"))
    for reference in ("p-1", "p-2"):
        pays_out(shop, reference, account="seller")
    stands(shop, "p-1", paid_by="", doubt="lost")
    sends(shop)
    assert (payout(shop, "p-1").status, payout(shop, "p-2").status) == ("ready", "sent")
    shop.waits(minutes=6)
    assert "payouts-without-access-token" in urgent(shop)


def test_a_round_does_not_ask_about_each_payout_of_an_account_that_pays_nothing_now(open_payer: OpenPayer) -> None:
    payer = open_payer(PAYCHECKOUT_PAYOUT_BATCH=1)
    for number in range(60):
        payer.owes(f"p-{number}")
        payer.stands(f"p-{number}", paid_by="")
    payer.sandbox.fault(FIAT, "error", statusCode=429)
    statements, _ = cost(payer.shop, payer.sends)
    assert payer.statuses == {"ready": 60}
    assert int(statements) < 30


def test_a_history_does_not_grow_without_end_while_the_service_refuses_the_token(payer: Payer) -> None:
    payer.owes()
    full = payer.payout().history + "x" * 40_000 + "\n"
    payer.stands(history=full)
    payer.sends("not-the-token")
    assert (payer.status(), payer.payout().history) == ("ready", full)


# One that fails stops no other


def test_one_whose_answer_cannot_be_stored_stops_no_other_in_any_step(
    payer: Payer, monkeypatch: pytest.MonkeyPatch
) -> None:
    moves = payer.shop.runtime.payout_moves
    move: Any = moves.move
    broken = [True]

    def moving(moves: Any, payout: Any, *rest: Any) -> Any:
        if payout.reference == "bad" and broken[0]:
            raise OperationalError("UPDATE", None, Exception("lock timeout"))
        return move(payout, *rest)

    monkeypatch.setattr(type(moves), "move", moving)
    for reference in ("bad", "fine", "token"):
        payer.owes(reference, to=WALLET if reference == "token" else ADA)
    assert payer.sends() == PayoutReport(sent=2, failed_calls=1)
    assert "lock timeout" in payer.payout("bad").problem
    for record in payer.at_service[:2]:
        payer.sandbox.finish(record, "completed")
    assert payer.sends(minutes=2) == PayoutReport(completed=1, failed_calls=1)
    broken[0] = False
    assert payer.sends(minutes=2).sent == 1
    assert len(payer.at_service) == 3


@pytest.mark.parametrize("broken", ["sending", "ready", "sent"])
def test_a_database_error_in_one_step_of_a_round_stops_no_other_step(
    payer: Payer, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    payouts: Any = payer.shop.runtime.due_payouts
    oldest = payouts._oldest

    def breaks(payouts: Any, states: Any, *rest: Any) -> Any:
        if broken in states:
            raise OperationalError("SELECT", None, Exception("the index is damaged"))
        return oldest(states, *rest)

    ends = {"sending": ("doubted", "sent"), "ready": ("new", "sent"), "sent": ("known", "completed")}
    payer.owes("known")
    payer.sends()
    payer.sandbox.finish(payer.payout("known"), "completed")
    payer.owes("doubted")
    payer.carried_out_unseen("doubted", doubtful=True)
    payer.owes("new")
    payer.sandbox.advance(minutes=2)
    monkeypatch.setattr(type(payouts), "_oldest", breaks)
    # Lookups are a separate step after sending.
    assert payer.sends().failed_calls == (2 if broken == "sending" else 1)
    done = {step for step, (reference, status) in ends.items() if payer.status(reference) == status}
    assert done == ends.keys() - {broken}
