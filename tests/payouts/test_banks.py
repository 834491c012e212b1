"""The banks of the service's list: chosen for payouts, proposed to customers, and shown as missing to approvers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from flask_paycheckout import ToBank
from flask_paycheckout.testing import Sandbox
from tests.conftest import OpenShop
from tests.payouts.claiming import FORM
from tests.payouts.shop import payouts, pays_out, refunds, stands
from tests.scripted import SAME_SITE, Shop
from tests.views.owner import opens, opens_view, payout_page, text_of
from tests.views.test_owner_paying import BANK, form_of, pays

METHODS = "GET /v1/disbursement/fiat/payment-method"
_MISSES = "The payments service does not list Bank of Nowhere among the banks that it pays to."


@pytest.fixture
def shop(open_shop: OpenShop, paycheckout_sandbox: Sandbox) -> Shop:
    token = "sandbox-access-token"
    return opens_view(open_shop(sandbox=paycheckout_sandbox, PAYCHECKOUT_ACCESS_TOKEN=token))


def asked(sandbox: Sandbox) -> int:
    return sum(each["target"].endswith("payment-method") for each in sandbox.requests)


def test_a_person_who_pays_somebody_chooses_a_bank_of_the_services_list(
    shop: Shop, paycheckout_sandbox: Sandbox
) -> None:
    for _ in range(3):
        page = opens(shop, "/pay").text
    assert '<option value="us_harbor_savings"' in page
    assert 'name="bank_name"' not in page, "the code has a name"
    assert asked(paycheckout_sandbox) == 1
    chosen: dict[str, Any] = {**BANK, "bank_code": "us_harbor_savings", "bank_name": ""}
    assert pays(shop, form_of(shop), to="bank", **chosen).status_code == 303
    (payout,) = payouts(shop)
    assert "Bank: Harbor Savings Bank" in str(payout.destination)


def test_a_customer_is_proposed_the_banks_of_the_currency(shop: Shop, paycheckout_sandbox: Sandbox) -> None:
    checkout_id = shop.starts()
    paycheckout_sandbox.pay(checkout_id)
    shop.settles(checkout_id)
    refund = refunds(shop, checkout_id)
    page = shop.browser.get(shop.calls.refund_url(refund.reference)).text
    proposed = re.findall(r'<option value="([^"]*)">', page.partition("<datalist")[2].partition("</datalist>")[0])
    assert sorted(proposed) == ["First Sandbox Bank", "Harbor Savings Bank"]


@pytest.mark.parametrize(("bank", "is_shown"), [("Bank of Nowhere", True), ("first  sandbox BANK", False)])
def test_a_customer_is_told_of_a_bank_that_is_not_on_the_list_while_it_can_be_changed(
    shop: Shop, paycheckout_sandbox: Sandbox, bank: str, is_shown: bool
) -> None:
    checkout_id = shop.starts()
    paycheckout_sandbox.pay(checkout_id)
    shop.settles(checkout_id)
    refund = refunds(shop, checkout_id)
    link = shop.calls.refund_url(refund.reference)
    assert "Bank of Nowhere" not in shop.browser.get(link).text
    claimed = shop.browser.post(link, data=FORM | {"bank_name": bank}, headers=SAME_SITE)
    assert claimed.status_code == 303
    words = text_of(shop.browser.get(link))
    assert ("does not list Bank of Nowhere among the banks" in words) is is_shown
    german = text_of(shop.browser.get(link, headers={"Accept-Language": "de"}))
    assert ("Der Zahlungsdienst führt Bank of Nowhere nicht" in german) is is_shown
    stands(shop, refund.reference, status="completed")
    assert "does not list" not in text_of(shop.browser.get(link))


def test_an_approver_is_told_of_a_bank_that_is_not_on_the_list(shop: Shop, paycheckout_sandbox: Sandbox) -> None:
    for reference, bank in (("other", "harbor savings bank"), ("nowhere", "Bank of Nowhere")):
        pays_out(shop, reference, to=ToBank("Zoë Quist", "40001234", "code", bank))
        stands(shop, reference, status="waiting")
    assert "does not list" not in text_of(payout_page(shop, "other"))
    assert _MISSES in text_of(payout_page(shop, "nowhere"))
    paycheckout_sandbox.fault(METHODS, "error", times=9, statusCode=503)
    paycheckout_sandbox.advance(minutes=61)
    assert "does not list" not in text_of(payout_page(shop, "nowhere")), "nobody knows the banks"
    assert 'name="bank_name"' in opens(shop, "/pay").text
