"""The commands about payouts: lists, refunds, decisions, sending and proofs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import Result

from flask_paycheckout import ToBank, ToRecipient
from tests.conftest import OpenPayer, OpenShop
from tests.journeys.test_login import EMAIL, PASSWORD, logs_in
from tests.payouts.paying import Payer
from tests.payouts.shop import payout, payouts, pays_out, refunds, stands
from tests.scripted import Shop
from tests.test_cli import runs

SAID = ["--by", "Ada", "--why", "one jar broke"]
ACCOUNT = "GB29NWBK60161331926819"


# Refunds


def test_refund_commits_a_refund_and_prints_its_reference_and_link(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    ran = runs(shop, "refund", checkout_id, "--amount", "2.50", *SAID)
    [refund] = payouts(shop)
    assert ran.exit_code == 0
    assert ran.output.startswith(f"refund {refund.reference} of 2.50 USD waits for its receiver\n")
    link = re.search(r"http\S+", ran.output)
    assert link is not None
    assert shop.browser.get(link[0]).status_code == 200
    facts = shop.tells("refund", checkout_id, *SAID)
    assert (facts["amount"], facts["currency"], facts["refund_of"]) == ("10.00", "USD", checkout_id)
    assert (facts["kind"], facts["status"], facts["destination"]) == ("refund", "claimable", None)
    assert facts["refund_url"].startswith("http")
    assert facts["reference"] == payouts(shop)[1].reference


def test_refund_sends_another_currency(shop: Shop) -> None:
    facts = shop.tells("refund", shop.has_paid(), "--amount", "2.50", "--send", "2.4", "usdc-polygon", *SAID)
    assert (facts["amount"], facts["currency"]) == ("2.4", "usdc-polygon")
    assert (facts["counts"], facts["counts_currency"]) == ("2.50", "USD")
    [listed] = shop.tells("payouts")
    assert listed["counts"] == "2.50"
    assert "2.4 usdc-polygon for 2.50 USD" in runs(shop, "payouts").stdout


# The list


def test_payouts_are_listed_for_people_and_programs(shop: Shop) -> None:
    assert runs(shop, "payouts").output == "There are no payouts.\n"
    assert shop.tells("payouts") == []
    pays_out(shop, "maker-1", to=ToBank("Bo", ACCOUNT, "nwb", "NatWest"), approve=True, order_id="o-1")
    pays_out(shop, "maker-2")
    ran = runs(shop, "payouts")
    assert ran.exit_code == 0
    at = "2026-01-01 12:00:00Z  80.00 USD"
    facts = ["Name: Bo", "Bank: NatWest", "IBAN: United Kingdom, NWBK", "Number ends with: 6819"]
    assert [re.sub("  +", "  ", line) for line in ran.output.splitlines()] == [
        "REFERENCE  KIND  ORDER  STATUS  SINCE  AMOUNT",
        f"maker-2  payout  is ready to be sent  {at}",
        "  Recipient: rec_1",
        f"maker-1  payout  o-1  waits for approval (--seen 0)  {at}",
        *(f"  {fact}" for fact in facts),
    ]
    [listed] = shop.tells("payouts", "--status", "waiting")
    fields = {name: listed[name] for name in ("reference", "status", "amount", "destination", "revision", "order_id")}
    assert fields == {
        "reference": "maker-1",
        "status": "waiting",
        "amount": "80.00",
        "destination": "\n".join(facts),
        "revision": 0,
        "order_id": "o-1",
    }
    assert runs(shop, "payouts", "--status", "sent").output == "There are no payouts of the state sent.\n"
    assert runs(shop, "payouts", "--status", "gone").exit_code == 2
    ran = runs(shop, "payouts", "--limit", "1")
    assert "maker-1" not in ran.output
    assert "There are more than 1" in ran.stderr
    assert ACCOUNT not in runs(shop, "payouts").output + runs(shop, "payouts", "--json").output


# Decisions


@pytest.mark.parametrize(
    ("command", "status", "becomes"),
    [
        (["approve", "--seen", "0", "--by", "Ada"], "waiting", "ready"),
        (["approve", "--seen", "0", *SAID], "waiting", "ready"),
        (["cancel", *SAID], "ready", "cancelled"),
        (["retry", *SAID], "failed", "ready"),
        (["resolve", "--sent", *SAID], "unknown", "sent"),
        (["resolve", "--not-sent", *SAID], "unknown", "ready"),
    ],
    ids=" ".join,
)
def test_a_decision_is_recorded(shop: Shop, command: list[str], status: str, becomes: str) -> None:
    pays_out(shop)
    stands(shop, "maker-1", status=status)
    name, *options = command
    ran = runs(shop, "payouts", name, "maker-1", *options)
    assert (ran.exit_code, ran.output) == (0, f"payout maker-1 is {becomes}\n")
    assert '"by":"Ada"' in payout(shop, "maker-1").history


# Sending, and the proof


@pytest.fixture
def poor(open_payer: OpenPayer) -> Payer:
    """A shop without an access token."""
    return open_payer(PAYCHECKOUT_ACCESS_TOKEN=None)


def logs_in_and_sends(payer: Payer, *options: str) -> Result:
    return logs_in(payer.shop, payer.sandbox, "payouts", "send", "--login", *options, first=[EMAIL])


def test_without_an_access_token_nothing_is_sent_and_the_remedy_is_told(poor: Payer) -> None:
    ran = runs(poor.shop, "payouts", "send")
    assert (ran.exit_code, ran.stderr) == (0, "")
    poor.owes()
    ran = runs(poor.shop, "payouts", "send", "--json")
    assert (ran.exit_code, json.loads(ran.stdout)["left"], poor.at_service) == (1, 1, [])
    assert "set PAYCHECKOUT_ACCESS_TOKEN" in ran.stderr
    assert "flask paycheckout payouts send --login" in ran.stderr


def test_a_person_who_logs_in_sends_and_the_token_is_not_stored(poor: Payer) -> None:
    poor.owes()
    ran = logs_in_and_sends(poor)
    assert (ran.exit_code, ran.stdout) == (0, "sent 1, completed 0, failed 0, unknown 0, left 0, failed calls 0\n")
    assert (poor.status(), len(poor.at_service)) == ("sent", 1)
    assert PASSWORD not in ran.output
    poor.owes("p-2")
    assert runs(poor.shop, "payouts", "send").exit_code == 1, "the next one needs a login of its own"
    facts = json.loads(logs_in_and_sends(poor, "--json").stdout)
    assert facts == {"sent": 1, "completed": 0, "failed": 0, "unknown": 0, "left": 0, "failed_calls": 0}


def test_a_failed_payout_is_told_by_the_exit_code(payer: Payer) -> None:
    payer.owes(to=ToRecipient("rec-404"))
    ran = runs(payer.shop, "payouts", "send")
    assert (ran.exit_code, payer.status()) == (1, "failed")
    assert "failed 1" in ran.stdout
    assert "flask paycheckout report" in ran.stderr


def test_payouts_that_wait_for_their_next_try_after_a_refused_token_are_named_with_their_reason(
    open_payer: OpenPayer,
) -> None:
    payer = open_payer(PAYCHECKOUT_ACCESS_TOKEN="expired")
    payer.owes()
    assert runs(payer.shop, "payouts", "send").exit_code == 1
    ran = runs(payer.shop, "payouts", "send")
    assert "left 1" in ran.stdout
    assert "flask paycheckout payouts --status ready" in ran.stderr
    assert "401" in runs(payer.shop, "payouts", "--status", "ready").stdout


def test_the_proof_of_a_completed_transfer_is_saved(payer: Payer, tmp_path: Path) -> None:
    payer.owes()
    payer.sends()
    file = tmp_path / "proof.pdf"
    assert runs(payer.shop, "payouts", "proof", "p-1", str(file)).exit_code == 1, "not completed yet"
    assert not file.exists()
    payer.ends()
    ran = runs(payer.shop, "payouts", "proof", "p-1", str(file))
    assert (ran.exit_code, file.read_bytes()[:4]) == (0, b"%PDF")
    assert ran.output == f"the transfer proof of p-1 is in {file}\n"
    ran = runs(payer.shop, "payouts", "proof", "p-1", str(tmp_path / "missing" / "proof.pdf"))
    assert (ran.exit_code, "No such file or directory" in ran.stderr) == (1, True)


def test_the_systems_user_stands_in_the_deed_beside_the_name_that_was_given(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "alice")
    checkout_id = shop.has_paid()
    runs(shop, "refund", checkout_id, "--amount", "2", "--by", "Ada", "--why", "broke")
    refunds(shop, checkout_id, "1", by="Bo")
    deeds = [each for each in shop.tells("deeds") if each["deed"] == "refunded"]
    assert [(each["by"], each["system_user"]) for each in deeds] == [("Ada", "alice"), ("Bo", "")]
    assert f"Ada refunded {checkout_id} (command of alice): broke" in runs(shop, "deeds").output


@pytest.mark.parametrize("currency", ["USD", "KWD", "JPY", "usdc-polygon"])
def test_a_mark_before_three_digits_is_refused_whatever_the_currency(shop: Shop, currency: str) -> None:
    checkout_id = shop.has_paid()
    for command in (
        ("request", "1,250", currency, "--title", "A jar"),
        ("refund", checkout_id, "--amount", "1.250", *SAID),
        ("refund", checkout_id, "--send", "1,250", currency, *SAID),
    ):
        ran = runs(shop, *command)
        assert (ran.exit_code, "write 1250, or 1.2500" in ran.stderr) == (2, True), command
    assert payouts(shop) == []


def test_a_payout_that_needs_a_link_is_not_stored_where_no_link_can_be_made(open_shop: OpenShop) -> None:
    """Who sees an error tries again."""
    shop = open_shop(TESTING=False, TRUSTED_HOSTS=["shop.example"], PAYCHECKOUT_PUBLIC_URL=None)
    checkout_id = shop.has_paid()
    for command in (("refund", checkout_id, "--amount", "5", *SAID), ("request", "5", "USD", "--title", "A jar")):
        ran = runs(shop, *command)
        assert ran.exit_code == 1
        assert "PAYCHECKOUT_PUBLIC_URL is not set" in ran.output
    with shop.engine.connect() as connection:
        requests = connection.execute(shop.runtime.models.requests.select()).all()
    assert (payouts(shop), requests) == ([], [])
    assert runs(shop, "refund", checkout_id, "--by-hand", *SAID).exit_code == 0, "nobody needs a link of it"
