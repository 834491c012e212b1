"""The lists and pages of deposits, recipients and accounts."""

from __future__ import annotations

import re

import pytest
from flask import Flask

from flask_paycheckout.sandbox.inspector import accounts, newest
from tests.sandbox.actors import ACCOUNTS_URL, ENDPOINT, Merchant, Tester
from tests.sandbox.disbursements.payers import RECIPIENTS
from tests.sandbox.inspector.developer import Developer

pytestmark = pytest.mark.each_database


def ids(page: str, kind: str) -> list[str]:
    return re.findall(rf'href="/inspector/{kind}/([^"]+)">', page.partition('<div id="live">')[2])


def walk(developer: Developer, kind: str, query: str = "") -> list[str]:
    found, link = [], f"/inspector/{kind}{query}"
    while link:
        page = developer.opens(link)
        found += ids(page, kind)
        following = re.findall(r'href="([^"]+)">(?:Older|Further) ', page)
        link = following[0].replace("&amp;", "&") if following else ""
    return found


def test_deposits_are_filtered_and_paged_newest_first(
    merchant: Merchant, tester: Tester, developer: Developer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [merchant.makes_checkout(amount) for amount in (1, 2, 3, 4, 5)]
    for one, method in zip(made, ("us_qr", "us_bank_transfer") * 3, strict=False):
        tester.picks(one, method)
        tester.advances(seconds=1)
    tester.pays(made[1])
    monkeypatch.setattr(newest, "MAX_ROWS", 2)
    for through in (10_000, 2, 1):
        monkeypatch.setattr(newest, "LOOKED_THROUGH", through)
        assert walk(developer, "deposits") == made[::-1]
        assert walk(developer, "deposits", "?account=default&method=us_qr") == made[::-2]
        assert walk(developer, "deposits", "?status=completed") == [made[1]]
        assert walk(developer, "deposits", "?status=completed&method=us_qr") == []
        assert walk(developer, "deposits", "?account=nobody") == []
    for place in ("x", "%00", "9" * 30 + "-1", "99999999999999999-" + "f" * 24, "1-" + "z" * 24):
        developer.opens(f"/inspector/deposits?before={place}")
        developer.opens(f"/inspector/recipients?before={place}")


def test_a_deposit_tells_all_of_its_fields(merchant: Merchant, tester: Tester, developer: Developer) -> None:
    checkout = merchant.makes_checkout(20)
    tester.picks(checkout, "us_usdc_polygon", reference="order-7")
    seen = developer.reads(f"/inspector/deposits/{checkout}")
    told = (
        "State pending",
        "Account default",
        "Method us_usdc_polygon",
        "Customer pays 20.00 USD",
        "Reference order-7",
    )
    assert [words for words in told if words not in seen] == []
    assert "usdc-polygon to" in seen
    developer.opens("/inspector/deposits/nothing", 404)


def test_recipients_are_filtered_and_tell_no_whole_number(
    merchant: Merchant, developer: Developer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(newest, "MAX_ROWS", 2)
    assert sorted(walk(developer, "recipients")) == sorted(RECIPIENTS.values())
    assert walk(developer, "recipients", "?currency=EUR") == [RECIPIENTS["EUR"]]
    assert walk(developer, "recipients", "?country=France&currency=USD") == []
    bank = merchant.calls("GET", f"/v1/recipient/{RECIPIENTS['USD']}").data["bank"]
    seen = developer.reads(f"/inspector/recipients/{RECIPIENTS['USD']}")
    assert "Ada Example" in seen
    number = str(bank[0]["accountNumber"])
    assert number not in seen
    assert f"…{number[-4:]}" in seen
    developer.opens("/inspector/recipients/nothing", 404)


def test_accounts_tell_address_and_users_and_none_of_their_secrets(
    sandbox: Flask, tester: Tester, developer: Developer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tester.makes_account("anna", webhookUrl=ACCOUNTS_URL)
    shown = tester.does("GET", "accounts/default")
    monkeypatch.setattr(accounts, "MAX_ROWS", 1)
    assert walk(developer, "accounts") == ["anna", "default"]
    assert walk(developer, "accounts", "?account=default") == ["default"]
    for name, url in (("anna", ACCOUNTS_URL), ("default", ENDPOINT)):
        seen = developer.opens(f"/inspector/accounts/{name}")
        assert url in seen
        secrets = [one[field] for one in (made, shown) for field in ("clientSecret", "accessToken", "password")]
        assert not [secret for secret in secrets if secret in seen]
    assert made["email"] in developer.reads("/inspector/accounts/anna")
    for nothing in ("nobody", "%00", "a%2Fb", "a" * 500):
        developer.opens(f"/inspector/accounts/{nothing}", 404)
