"""Several merchant accounts for people: reports, lists and log records name them and filter by them."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from werkzeug.test import TestResponse

from flask_paycheckout import SETTINGS, OrderSettled
from tests.accounts.conftest import Sellers, SigningService
from tests.alarming import alarms_of, urgent
from tests.conftest import OpenShop
from tests.payouts.shop import pays_out, stands
from tests.scripted import Shop, raising, refusal
from tests.views.owner import opens, opens_view, order_page, payout_page, refund_page


@pytest.fixture
def busy(market: Sellers) -> Sellers:
    """Each seller has a held payment and a payout that waits; the platform sells as well, and pays out."""
    market.add("", "o-3")
    for order_id in ("o-1", "o-2", "o-3"):
        market.shop.has_held(order_id)
    for name in ("ada", "bo", ""):
        pays_out(market.shop, f"of-{name}", account=name, approve=True)
    return market


def test_the_report_names_each_account_and_counts_by_it(busy: Sellers) -> None:
    ran = busy.shop.runs("report")
    assert ran.exit_code == 1
    lines = ran.output.splitlines()
    [of_ada] = [line for line in lines if "order o-1" in line]
    [of_platform] = [line for line in lines if "order o-3" in line]
    assert "(account ada)" in of_ada
    assert "account" not in of_platform
    assert ["bo", "1", "1"] in [line.split() for line in lines]
    report = busy.shop.tells("report")
    assert {alarm["key"]: (alarm["account"], alarm["count"]) for alarm in report["alarms"]} == {
        "held-payments": (None, 3),
        "payouts-to-approve": (None, 3),
    }
    counted = {
        account["account"]: (account["checkouts"]["held"], account["payouts"]["waiting"])
        for account in report["accounts"]
    }
    assert counted == {"": (1, 1), "ada": (1, 1), "bo": (1, 1)}


@pytest.mark.parametrize("account", ["bo", ""])
def test_report_and_lists_are_limited_to_one_account(busy: Sellers, account: str) -> None:
    report = busy.shop.tells("report", "--account", account)
    assert report["account"] == account
    assert report["checkouts"]["held"] == report["payouts"]["waiting"] == 1
    assert [(alarm["key"], alarm["account"], alarm["count"]) for alarm in report["alarms"]] == [
        ("held-payments", account, 1),
        ("payouts-to-approve", account, 1),
    ]
    assert [row["account"] for row in report["accounts"]] == [account]
    assert [payout["reference"] for payout in busy.shop.tells("payouts", "--account", account)] == [f"of-{account}"]


def test_every_alarm_of_another_account_is_left_out(market: Sellers, service: SigningService) -> None:
    shop = market.shop
    shop.has_rejected("o-1")
    market.add("ada", "o-4")
    shop.service.says(shop.has_arrived("1", "o-4"), "completed")
    service.refused = {"id-ada"}
    for _ in range(8):
        shop.reconciles(minutes=1)
    whole, of_ada = shop.tells("report"), shop.tells("report", "--account", "ada")
    of_bo = shop.tells("report", "--account", "")
    assert {alarm["key"]: alarm["account"] for alarm in of_ada["alarms"]} == {
        "refused-keys:ada": "ada",
        "unread-payments": "ada",
        "money-to-pay-back": "ada",
    }
    assert (whole["alarms"], of_bo["alarms"]) == (of_ada["alarms"], [])


def test_undelivered_events_are_those_of_their_account(open_shop: OpenShop) -> None:
    market = Sellers(open_shop(hears=False))
    for order_id in ("o-1", "o-2"):
        market.shop.has_paid(order_id)
    of_both, of_bo = (alarms_of(market.shop, account)["unheard-events"] for account in (None, "bo"))
    assert (of_both.account, of_both.count, of_bo.account, of_bo.count) == (None, 2, "bo", 1)


@pytest.mark.parametrize("name", ["nobody", "a\nb", "x" * 300])
def test_an_unknown_account_is_a_clear_error(busy: Sellers, name: str) -> None:
    for command in ("report", "payouts"):
        ran = busy.shop.runs(command, "--account", name)
        assert (ran.exit_code, "--account" in ran.output, "a\nb" in ran.output) == (2, True, False)


def an_outage(market: Sellers, service: SigningService, order_id: str = "o-1") -> None:
    """Starts of payments to ada fail for a while, and later nobody starts one."""
    service.refused = {"id-ada"}
    for _ in range(3):
        with pytest.raises(Exception, match="Unknown client"):
            market.shop.starts(order_id)
        market.shop.waits(minutes=3)
    assert "refused-keys:ada" in urgent(market.shop)
    service.refused = set()


def test_starts_of_one_account_that_fail_are_told_while_another_one_sells(
    market: Sellers, service: SigningService
) -> None:
    service.refused = {"id-ada"}
    for place in range(8):
        with pytest.raises(Exception, match="Unknown client"):
            market.shop.starts("o-1")
        market.add("bo", f"b-{place}")
        market.shop.starts(f"b-{place}")
        market.shop.waits(minutes=1)
    assert "refused-keys:ada" in urgent(market.shop)


def test_a_read_that_is_answered_ends_the_alarm_that_nobody_can_start_a_payment(
    market: Sellers, service: SigningService
) -> None:
    market.shop.starts("o-1")
    market.add("ada", "a-1")
    market.shop.waits(hours=1)
    an_outage(market, service, "a-1")
    market.shop.reconciles(minutes=5)
    assert urgent(market.shop) == {"failed-starts"}, "its customer has not come back"
    service.refused = {"id-ada"}
    with pytest.raises(Exception, match="Unknown client"):
        market.shop.starts("a-1")
    assert urgent(market.shop) == {"refused-keys:ada"}, "a start that fails after it begins it again"
    service.refused = set()
    market.shop.reconciles(days=1)
    service.refused = {"id-ada"}
    with pytest.raises(Exception, match="Unknown client"):
        market.shop.starts("a-1")
    assert urgent(market.shop) == {"refused-keys:ada"}, "after a day of answers, too"


def test_refused_keys_are_told_at_the_first_refusal_and_as_long_as_they_are_refused(
    market: Sellers, service: SigningService
) -> None:
    service.refused, began = {"id-ada"}, market.shop.clock()
    with pytest.raises(Exception, match="Unknown client"):
        market.shop.starts("o-1")
    for _ in range(2):
        [alarm] = alarms_of(market.shop).values()
        assert (alarm.key, alarm.severity, alarm.since) == ("refused-keys:ada", "now", began)
        market.shop.reconciles(hours=2)
    service.refused = set()
    market.shop.reconciles()
    assert "refused-keys:ada" in urgent(market.shop), "a round tries them every ten minutes"
    market.shop.reconciles(minutes=10)
    assert alarms_of(market.shop).keys() == {"failed-starts"}, "though nobody has tried to pay"


def test_accounts_that_stay_refused_do_not_keep_the_alarm_of_another_account(
    market: Sellers, service: SigningService
) -> None:
    refused = [f"refused-{place}" for place in range(5)]
    for name in (*refused, "zed"):
        market.add(name, f"o-{name}")
        service.refused.add(f"id-{name}")
        with pytest.raises(Exception, match="Unknown client"):
            market.shop.starts(f"o-{name}")
    service.refused.remove("id-zed")
    for _ in range(2):
        market.shop.reconciles(minutes=11)
    assert {key.partition(":")[2] for key in urgent(market.shop) if key.startswith("refused-keys")} == {*refused}


def test_an_account_that_is_gone_is_an_alarm_until_nothing_is_left_to_read(market: Sellers) -> None:
    shop = market.shop
    checkout_id = shop.starts("o-1")
    shop.abandons(checkout_id)
    market.client_ids["ada"] = None
    shop.reconciles(hours=1)
    shop.reconciles(days=8)
    assert "refused-keys:ada" in urgent(shop)
    assert shop.attempt(checkout_id).next_read_at is None
    shop.reconciles(minutes=10)
    assert alarms_of(shop) == {}, "nothing is left to read"


@pytest.mark.parametrize("heard", [False, True])
def test_an_unheard_checkout_of_an_account_that_is_gone_is_watched_like_an_abandoned_one(
    market: Sellers, heard: bool
) -> None:
    shop = market.shop
    checkout_id = shop.starts("o-1")
    market.client_ids["ada"] = None
    if heard:
        shop.hears_of(checkout_id)
    shop.reconciles(days=6)
    assert "refused-keys:ada" in urgent(shop)
    shop.reconciles(days=2)
    shop.reconciles(minutes=11)
    assert (alarms_of(shop) == {}, shop.attempt(checkout_id).next_read_at is None) == (not heard, not heard)
    market.client_ids["ada"] = "id-ada"
    shop.service.says(checkout_id, "completed")
    shop.waits(minutes=2)
    with pytest.raises(OrderSettled):
        shop.starts("o-1")


def test_keys_that_only_failed_to_come_do_not_end_the_watch(market: Sellers) -> None:
    shop = market.shop
    checkout_id = shop.starts("o-1")
    shop.paycheckout.account(raising(RuntimeError("not now")))
    shop.reconciles(days=8)
    assert shop.attempt(checkout_id).next_read_at is not None


def test_starts_that_the_service_refuses_are_not_made_possible_by_its_answers_to_reads(market: Sellers) -> None:
    shop = market.shop
    shop.starts("o-2")
    market.add("bo", "b-1")
    for _ in range(3):
        shop.service.instead_of_created.append(refusal(400, "currency is not enabled"))
        with pytest.raises(Exception, match="not enabled"):
            shop.starts("b-1")
        shop.reconciles(minutes=10)
    assert urgent(shop) == {"refused-amounts"}, "one order is no outage"
    market.add("bo", "b-2")
    shop.service.instead_of_created.append(refusal(400, "currency is not enabled"))
    with pytest.raises(Exception, match="not enabled"):
        shop.starts("b-2")
    assert urgent(shop) == {"refused-orders:bo"}


# The doctor


def examined(shop: Shop, *arguments: str, about: str = "accounts") -> list[Any]:
    return [check for check in shop.tells("doctor", *arguments)["checks"] if check["about"] == about]


@pytest.fixture
def well(market: Sellers, service: SigningService) -> Sellers:
    """Both sellers have an open checkout, and the platform has never sold anything."""
    market.shop.has_deposit("pending", "o-1")
    market.shop.has_deposit("pending", "o-2")
    service.signed.clear()
    return market


def test_the_doctor_reads_with_the_keys_of_each_account_that_has_open_payments(
    well: Sellers, service: SigningService
) -> None:
    well.client_ids["idle"] = "id-idle"
    pays_out(well.shop, "of-idle", account="idle")
    stands(well.shop, "of-idle", status="cancelled", due_at=None)
    pays_out(well.shop, "of-cy", account="cy")
    well.client_ids["cy"] = "id-cy"
    [check] = examined(well.shop)
    assert (check["level"], check["found"].rsplit(" ", 3)[-3:]) == ("ok", ["3", "of", "3"])
    assert {client_id for client_id, _ in service.signed} == {"shop-1", "id-ada", "id-bo", "id-cy"}
    service.signed.clear()
    assert examined(well.shop, "--account", "bo")[0]["level"] == "ok"
    assert [client_id for client_id, _ in service.signed] == ["id-bo"]


def test_of_very_many_accounts_some_are_checked_and_it_is_told(
    well: Sellers, service: SigningService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flask_paycheckout.doctor.service._CHECKED", 1)
    more, accepted = examined(well.shop)
    assert (more["level"], accepted["found"].endswith("1 of 1")) == ("warning", True)
    assert len({client_id for client_id, _ in service.signed} - {"shop-1"}) == 1


def test_default_keys_that_no_payment_uses_are_a_warning_only(well: Sellers, service: SigningService) -> None:
    service.refused = {"shop-1"}
    assert examined(well.shop, about="credentials")[0]["level"] == "warning"
    well.add("", "o-3")
    service.refused = set()
    well.shop.starts("o-3")
    service.refused = {"shop-1"}
    assert examined(well.shop, about="credentials")[0]["level"] == "failure"


def test_default_keys_that_pay_for_a_seller_are_needed(well: Sellers, service: SigningService) -> None:
    well.tokens["ada"], service.refused = SETTINGS, {"shop-1"}
    well.shop.waits(minutes=2)
    assert examined(well.shop, about="credentials")[0]["level"] == "failure"


# The owner's pages

HOSTILE = "<script>alert(1)</script>&\u202eada"


def subjects(answer: TestResponse) -> list[str]:
    """The orders or payouts on a page."""
    return re.findall(r'<(?:h2|th scope="row")><a href="[^"]*[?](?:order_id|reference)=[^"]*">([^<]*)</a>', answer.text)


def test_the_owners_lists_name_and_filter_accounts(busy: Sellers) -> None:
    shop = opens_view(busy.shop)
    assert subjects(opens(shop, "")) == ["o-3", "o-2", "o-1"]
    assert subjects(opens(shop, "", account="*")) == ["o-3", "o-2", "o-1"], "the first choice"
    assert "<small>ada</small>" in opens(shop, "").text
    for query in ({}, {"status": "held"}):
        assert subjects(opens(shop, "", account="ada", **query)) == ["o-1"]
        assert subjects(opens(shop, "", account="", **query)) == ["o-3"]
    assert subjects(opens(shop, "/payouts", account="bo")) == ["Payout of-bo"]
    assert subjects(opens(shop, "/payouts", account="", status="waiting")) == ["Payout of-"]
    assert len(subjects(opens(shop, "/payouts", kind="payout"))) == 3
    page = opens(shop, "/payouts", account="bo", status="waiting").text
    # Each filter keeps the values of the others.
    assert '<option value="waiting" selected>' in page
    assert '<option value="bo" selected>' in page
    assert opens(shop, "", account="bo").text.count("Decide</a>") == 1
    for unknown in ("nobody", "a\x00b", "x" * 300):
        assert (
            opens(shop, "", account=unknown).status_code == opens(shop, "/payouts", account=unknown).status_code == 404
        )


def test_pages_of_one_order_or_payout_name_its_account_and_hostile_names_are_escaped(market: Sellers) -> None:
    shop = opens_view(market.shop)
    market.add(HOSTILE, "o-9")
    market.client_ids[HOSTILE] = "id-nine"
    checkout_id = shop.has_held("o-9")
    shop.has_held("o-1")
    pays_out(shop, "of-9", account=HOSTILE, order_id="o-9", approve=True)
    shop.resolves(checkout_id, accept=False)
    pages = [
        *(opens(shop, path) for path in ("", "/payouts", "/paybacks")),
        *(order_page(shop, "o-9"), payout_page(shop, "of-9")),
        *(refund_page(shop, checkout_id), opens(shop, "", account=HOSTILE)),
    ]
    for page in pages:
        assert page.status_code == 200
        assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;" in page.text
        assert "<script>alert" not in page.text
    assert "account ada" in order_page(shop).text


# Access tokens


def test_the_account_that_lacks_an_access_token_is_named(market: Sellers) -> None:
    shop = market.shop
    market.tokens["ada"] = None
    for name in ("ada", "bo"):
        pays_out(shop, f"of-{name}", account=name)
    ran = shop.runs("payouts", "send", "--json")
    assert (ran.exit_code, json.loads(ran.stdout)["sent"]) == (1, 1)
    assert "No access token is configured for the account 'ada'. Give each its own" in ran.stderr
    assert "--login" not in ran.stderr, "its money would come from the account of whoever logs in"
    shop.waits(hours=1)
    assert "for the account 'ada'" in shop.runs("report").output
    alarms = {alarm["key"]: alarm["account"] for alarm in shop.tells("report")["alarms"]}
    assert alarms == {"payouts-without-access-token": "ada", "payouts-not-followed": "bo"}
    remedies = [check["remedy"] for check in shop.tells("doctor")["checks"] if check["remedy"]]
    assert any("for the account 'ada'" in remedy for remedy in remedies)
    market.tokens["ada"] = "token-ada"
    shop.waits(minutes=2)
    assert "payouts-without-access-token" not in {alarm["key"] for alarm in shop.tells("report")["alarms"]}
    assert shop.runs("payouts", "send").exit_code == 0
