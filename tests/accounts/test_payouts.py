"""Payouts of several merchant accounts: each is sent, read and stopped by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from flask import current_app

from flask_paycheckout import SETTINGS
from flask_paycheckout.payouts.sending import Pauses
from tests.accounts.conftest import Sellers, SigningService
from tests.alarming import alarms_of, examples, urgent
from tests.conftest import OpenShop
from tests.payouts.claiming import Customer
from tests.payouts.shop import MAKER, WALLET, decides, payout, payouts, pays_out, refunds, sends, stands
from tests.scripted import Clock, refusal
from tests.views.owner import opens, opens_view


@pytest.fixture
def owing(market: Sellers) -> Sellers:
    """Both sellers and the platform have a payout to send."""
    for name in ("ada", "bo", ""):
        pays_out(market.shop, f"of-{name}", account=name)
    return market


def statuses(market: Sellers) -> dict[str, str]:
    return {name: str(payout(market.shop, f"of-{name}").status) for name in ("ada", "bo", "")}


def test_each_is_sent_with_the_token_of_its_account_and_read_with_its_keys(
    owing: Sellers, service: SigningService
) -> None:
    assert sends(owing.shop, "token-of-the-platform").sent == 3
    assert {token for token, path in service.signed if path == "fiat"} == {
        "token-ada",
        "token-bo",
        "token-of-the-platform",
    }
    service.signed.clear()
    assert sends(owing.shop, hours=1).completed == 3
    assert sorted(client_id for client_id, _ in service.signed) == ["id-ada", "id-bo", "shop-1"]


def test_one_is_read_with_the_accounts_new_keys_when_the_old_ones_are_refused(
    open_shop: OpenShop, service: SigningService
) -> None:
    market = Sellers(open_shop(PAYCHECKOUT_ACCOUNT_CACHE=86_400))
    pays_out(market.shop, "of-ada", account="ada")
    assert sends(market.shop).sent == 1
    market.client_ids["ada"], service.refused = "id-ada-2", {"id-ada"}
    service.signed.clear()
    for _ in range(2):
        sends(market.shop, hours=1)
    assert [client_id for client_id, _ in service.signed] == ["id-ada", "id-ada-2"]


def test_an_account_without_a_token_has_none_unless_it_says_that_the_settings_pay(
    owing: Sellers, service: SigningService
) -> None:
    del owing.tokens["bo"]
    sends(owing.shop, "token-of-the-platform")
    assert sorted(service.signed) == [("token-ada", "fiat"), ("token-of-the-platform", "fiat")]
    assert statuses(owing)["bo"] == "ready"
    with owing.shop.app.app_context():
        assert owing.shop.paycheckout.client_of("bo") is not None
    owing.tokens["bo"] = SETTINGS
    sends(owing.shop, "token-of-the-platform", minutes=2)
    paid = payout(owing.shop, "of-bo")
    assert (paid.status, paid.account, paid.paid_by, paid.client_id) == ("sent", "bo", "", "shop-1")


def test_the_token_of_the_settings_is_one_trouble_whoever_it_pays_for(
    open_shop: OpenShop, service: SigningService
) -> None:
    market = Sellers(open_shop(PAYCHECKOUT_ACCESS_TOKEN="token-of-the-platform"))
    market.tokens = dict.fromkeys(market.tokens, SETTINGS)
    for name in market.tokens:
        pays_out(market.shop, f"of-{name}", account=name)
    service.down = httpx.Response(401, json={"statusCode": 401, "error": "Unauthorized", "message": "expired"})
    for _ in range(12):
        market.shop.reconciles(minutes=1)
    assert urgent(market.shop) == {"refused-tokens"}
    of_ada = alarms_of(market.shop, "ada")
    assert (of_ada["refused-tokens"].severity, of_ada["unsent-payouts"].severity) == ("now", "note")


def test_the_remedy_for_a_seller_whom_the_settings_pay_is_a_token_of_the_settings(open_shop: OpenShop) -> None:
    market = Sellers(open_shop(PAYCHECKOUT_ACCESS_TOKEN=None))
    market.tokens["ada"] = SETTINGS
    pays_out(market.shop, "of-ada", account="ada")
    assert "or set PAYCHECKOUT_ACCESS_TOKEN" in market.shop.runs("payouts", "send").output


def test_the_function_of_a_sellers_token_reads_the_shop_in_reconcile_too(owing: Sellers) -> None:
    owing.shop.app.config["TOKENS"] = dict(owing.tokens)
    owing.tokens["ada"] = lambda: current_app.config["TOKENS"]["ada"]
    owing.shop.reconciles()
    assert statuses(owing) == {"ada": "sent", "bo": "sent", "": "ready"}


def test_the_function_of_a_seller_that_fails_is_not_taken_for_the_setting(owing: Sellers) -> None:
    owing.tokens["ada"] = lambda: str(1 // 0)
    for _ in range(3):
        sends(owing.shop)
        owing.shop.waits(minutes=4)
    [example] = examples(owing.shop, "refused-tokens:ada")
    assert example.endswith("no access token: the function that gives it raised ZeroDivisionError")


def test_a_payout_of_a_gone_account_or_without_a_token_waits_and_stops_no_other(owing: Sellers) -> None:
    del owing.client_ids["ada"]
    assert sends(owing.shop).sent == 1
    assert statuses(owing) == {"ada": "ready", "bo": "sent", "": "ready"}


def test_a_payout_sent_with_the_token_of_the_settings_is_found_and_read_with_their_keys(
    owing: Sellers, service: SigningService
) -> None:
    """This also holds once the account has its own token: a payout with a lost answer may have been sent."""
    owing.tokens["bo"] = SETTINGS
    service.keeps_answers = True
    sends(owing.shop, "token-of-the-platform")
    owing.tokens["bo"] = "token-bo"
    sends(owing.shop, "token-of-the-platform", minutes=10)
    assert set(statuses(owing).values()) <= {"sent", "completed"}
    sends(owing.shop, hours=1)
    assert statuses(owing) == {"ada": "completed", "bo": "completed", "": "completed"}
    assert len(service.paid_out) == 3


def test_a_payout_that_may_have_been_sent_is_sent_again_with_the_same_keys_only(
    owing: Sellers, service: SigningService
) -> None:
    """Other keys cannot find the payout, so it is unknown until the first keys are back."""
    sends(owing.shop)
    doubted = {"status": "ready", "doubt": "lost", "due_at": owing.shop.clock(), "disbursement_id": None}
    stands(owing.shop, "of-ada", **doubted)
    own = owing.client_ids["ada"]
    owing.client_ids["ada"], owing.tokens["ada"] = "id-other", "token-other"
    sends(owing.shop, minutes=2)
    assert (payout(owing.shop, "of-ada").status, len(service.paid_out)) == ("unknown", 2)
    owing.client_ids["ada"] = own
    sends(owing.shop, hours=2)
    assert (payout(owing.shop, "of-ada").status, len(service.paid_out)) == ("sent", 2)


def test_a_transfer_proof_is_read_with_the_keys_that_can_read_it(
    owing: Sellers, service: SigningService, tmp_path: Path
) -> None:
    owing.tokens["bo"] = SETTINGS
    sends(owing.shop, "token-of-the-platform")
    assert sends(owing.shop, hours=1).completed == 3
    service.signed.clear()
    for name in ("ada", "bo"):
        file = tmp_path / f"{name}.pdf"
        assert owing.shop.runs("payouts", "proof", f"of-{name}", str(file)).exit_code == 0
        assert file.read_bytes() == b"%PDF-1.4 proof"
    assert [client_id for client_id, _ in service.signed] == ["id-ada", "shop-1"]


@pytest.mark.parametrize(("token", "client_id"), [("token-bo", "id-bo"), (SETTINGS, "shop-1")])
def test_a_customers_bank_account_becomes_a_recipient_of_the_account_that_pays(
    market: Sellers, service: SigningService, token: Any, client_id: str
) -> None:
    market.tokens["bo"] = token
    refund = refunds(market.shop, market.shop.has_paid("o-2"))
    service.signed.clear()
    assert Customer(market.shop, refund.reference).sends().status_code == 303
    assert service.signed == [(client_id, "recipient")]


def test_look_ups_that_fail_for_one_account_hold_up_no_other(
    market: Sellers, service: SigningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flask_paycheckout.payouts.following._LOOK_UPS", 4)
    shop, service.keeps_answers = market.shop, True
    service.refused = {"id-ada", "id-bo"}
    for number in range(6):
        pays_out(shop, f"ada-{number}", account="ada")
    pays_out(shop, "of-bo", account="bo")
    sends(shop)
    shop.waits(minutes=10)
    service.refused = {"id-ada"}
    service.signed.clear()
    assert shop.reconciles().payouts.sent == 1
    # Refused keys are also tried again by the read of a deposit.
    assert service.signed.count(("id-ada", "fiat")) <= 2, "each once"
    for _ in range(2):
        service.signed.clear()
        shop.reconciles()
    assert service.signed == [], "the rest was asked about in a round of its own"


def test_a_call_that_hangs_is_followed_by_a_pause_ten_times_as_long(clock: Clock) -> None:
    pauses = Pauses(clock)
    pauses.failed("ada", 15.0)
    clock.advance(seconds=149)
    assert pauses.accounts() == {"ada"}
    clock.advance(seconds=2)
    assert pauses.accounts() == set()


def test_a_payout_that_another_account_may_have_paid_names_it_once_it_lacks_a_token(owing: Sellers) -> None:
    owing.tokens["ada"] = SETTINGS
    stands(owing.shop, "of-ada", doubt="lost", paid_by="ada", client_id="id-ada")
    sends(owing.shop, "token-of-the-platform")
    assert payout(owing.shop, "of-ada").status == "ready"
    assert "has no access token of its own now" in payout(owing.shop, "of-ada").problem


def test_an_account_without_a_token_stops_none_that_the_platform_must_pay(owing: Sellers) -> None:
    owing.tokens["ada"] = None
    pays_out(owing.shop, "doubted", account="ada")
    owing.shop.waits(minutes=1)
    stands(owing.shop, "doubted", doubt="lost", paid_by="", client_id="shop-1", due_at=owing.shop.clock())
    sends(owing.shop, "token-of-the-platform")
    assert payout(owing.shop, "doubted").status == "sent"


def test_an_outage_costs_few_tokens_though_the_platform_pays_for_many(
    open_shop: OpenShop, service: SigningService
) -> None:
    market = Sellers(open_shop(PAYCHECKOUT_ACCESS_TOKEN="token-of-the-platform"))
    for name in (f"s{number}" for number in range(10)):
        market.client_ids[name], market.tokens[name] = f"id-{name}", SETTINGS
        pays_out(market.shop, name, "5", account=name, to=WALLET)
    service.keeps_answers = True
    market.shop.reconciles()
    market.shop.reconciles()
    assert len([payout for payout in payouts(market.shop) if payout.status == "unknown"]) <= 2


@pytest.mark.parametrize("name", ["ada", "bo"])
def test_an_outage_of_reads_is_one_alarm_whoever_pays(open_shop: OpenShop, service: SigningService, name: str) -> None:
    market = Sellers(open_shop(PAYCHECKOUT_ACCESS_TOKEN="token-of-the-platform"))
    market.tokens["bo"] = SETTINGS
    pays_out(market.shop, account=name)
    sends(market.shop)
    service.down = refusal(503)
    for _ in range(30):
        market.shop.reconciles(minutes=1)
    assert urgent(market.shop) == {"failing-service"}


@pytest.mark.parametrize("reported", [None, "79.00"])
def test_reported_money_counts_when_a_seller_has_left(owing: Sellers, reported: str | None) -> None:
    sends(owing.shop)
    stands(owing.shop, "of-bo", reported_amount=reported)
    del owing.client_ids["bo"]
    sends(owing.shop, days=8)
    page = opens(opens_view(owing.shop), "/payout", reference="of-bo")
    assert ("The service reports" in page.text) is bool(reported)
    assert "slow-transfers" in urgent(owing.shop)
    assert decides(owing.shop, "resolve", "of-bo", True)
    paid = payout(owing.shop, "of-bo")
    assert (paid.status, paid.exact_amount) == ("completed", reported or "80.00")
    assert "slow-transfers" not in urgent(owing.shop)


def test_a_person_says_what_became_of_the_payout_whose_seller_left_before_its_answer_was_found(owing: Sellers) -> None:
    """For a day, an unknown seller may be an error of the shop's function."""
    stands(owing.shop, "of-bo", status="sending", taken_at=owing.shop.clock(), due_at=owing.shop.clock())
    del owing.client_ids["bo"]
    for hours, status in ((0, "sending"), (23, "sending"), (2, "unknown")):
        sends(owing.shop, hours=hours)
        assert statuses(owing)["bo"] == status
    assert "unknown-payouts" in urgent(owing.shop)
    assert decides(owing.shop, "resolve", "of-bo", False)
    assert decides(owing.shop, "cancel", "of-bo")


def test_a_payout_that_is_unknown_for_want_of_keys_is_looked_up_once_they_are_back(owing: Sellers) -> None:
    """A payout that the service has is marked as sent then; a person decides about the other one."""
    keys, references = dict(owing.client_ids), ("of-ada", "of-bo")
    stands(owing.shop, "of-bo", status="waiting")
    sends(owing.shop)
    owing.shop.waits(hours=1)
    now = owing.shop.clock()
    lost = {"status": "sending", "disbursement_id": None, "due_at": now, "moved_at": now}
    for reference, name in zip(references, keys, strict=True):
        stands(owing.shop, reference, client_id=keys[name], paid_by=name, **lost)
    owing.client_ids.clear()
    for hours in (0, 25, 26):
        sends(owing.shop, hours=hours)
        assert {payout(owing.shop, each).status for each in references} == {"unknown" if hours > 20 else "sending"}
    owing.client_ids.update(keys)
    sends(owing.shop, hours=2)
    assert [payout(owing.shop, each).status for each in references] == ["sent", "unknown"]
    assert "a look-up with them did not find it" in payout(owing.shop, "of-bo").problem
    assert payout(owing.shop, "of-bo").due_at is None


def test_an_account_that_the_shop_no_longer_gives_keys_for_is_no_refused_token(market: Sellers) -> None:
    shop = market.shop
    shop.changes(checkout_id := shop.has_paid("o-1"), webhooks=1)
    refunds(shop, checkout_id, "1.00", to=MAKER)
    market.client_ids["ada"] = None
    shop.waits(minutes=2)
    for _ in range(12):
        shop.reconciles(minutes=1)
    assert urgent(shop) == {"refused-keys:ada"}
    assert alarms_of(shop)["unsent-payouts"].severity == "note"
