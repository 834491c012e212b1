"""`GET` and `PATCH /v1/deposit/...`: when a deposit exists, its fields and transitions, and that its amounts agree."""

from __future__ import annotations

import itertools
from decimal import Decimal

import pytest

from tests.sandbox.actors import Merchant, Receiver, Tester
from tests.sandbox.conftest import MakeSandbox


def test_before_a_method_is_picked_there_is_no_deposit(merchant: Merchant) -> None:
    refused = merchant.reads_deposit(merchant.makes_checkout())
    assert refused.body == {"statusCode": 404, "error": "Not Found", "message": "Deposit not found"}
    assert refused.http_status == 404
    assert merchant.reads_deposit("0" * 24).body == refused.body


@pytest.mark.on_each_database
def test_a_deposit_is_read_by_its_reference_too_after_the_ids(merchant: Merchant, tester: Tester) -> None:
    first, other = merchant.makes_checkout(), merchant.makes_checkout()
    tester.picks(other, reference=first)
    assert merchant.reads_deposit(first).data["depositId"] == other
    tester.picks(first)
    assert merchant.reads_deposit(first).data["depositId"] == first


def test_the_side_that_was_asked_for_is_exact_whichever_method_is_picked(merchant: Merchant, tester: Tester) -> None:
    for paid, received, fields in (("USD", "usdc-polygon", 77), ("JPY", "JPY", 12_345), ("KWD", "KWD", 12)):
        methods = [
            m
            for m in tester.does("GET", "accounts/default/switches")["paymentMethods"]
            if m["currency"] == paid and m["enabled"]
        ]
        for method, side in itertools.product(methods, ("inputAmount", "outputAmount")):
            answer = merchant.asks_checkout(inputCurrency=paid, outputCurrency=received, **{side: fields})
            deposit = tester.picks(answer.data["id"], method["code"])
            expected = (deposit["inputCurrency"], deposit["fee"]["currency"], deposit["outputCurrency"], deposit[side])
            assert expected == (paid, paid, received, fields)
            assert deposit["exchangeInfo"]["outputAmount"] == deposit["outputAmount"]
            assert tester.pays(answer.data["id"])[side] == fields


def test_a_payment_of_another_amount_shows_what_was_really_paid(merchant: Merchant, tester: Tester) -> None:
    checkout = merchant.makes_checkout(100)
    tester.picks(checkout, "us_bank_transfer")
    deposit = tester.pays(checkout, 90)
    assert deposit["status"] == "completed"
    amounts = (deposit["inputAmount"], deposit["fee"]["amount"], deposit["outputAmount"])
    assert amounts == (90, Decimal("1.22"), Decimal("88.78"))


def test_a_sandbox_update_before_a_method_is_picked_is_a_400(merchant: Merchant, receiver: Receiver) -> None:
    refused = merchant.forces_status(merchant.makes_checkout())
    assert refused.code == 400
    assert receiver.received == []


def test_a_method_picked_in_minute_14_stays_payable_long_after_the_page(merchant: Merchant, tester: Tester) -> None:
    checkout = merchant.makes_checkout()
    tester.advances(minutes=14)
    tester.picks(checkout)
    tester.advances(hours=30)
    assert merchant.reads_deposit(checkout).data["status"] == "pending"
    assert tester.pays(checkout)["status"] == "completed"


@pytest.mark.parametrize(("status", "late", "code"), [("expired", "completes", 200), ("failed", "refused", 409)])
def test_unknown_deposit_after_expiry(make_sandbox: MakeSandbox, status: str, late: str, code: int) -> None:
    app = make_sandbox(deposit_after_expiry=status, late_payment=late)
    merchant, tester = Merchant(app), Tester(app)
    checkout = merchant.makes_checkout()
    tester.picks(checkout)
    tester.advances(hours=23)
    assert merchant.reads_deposit(checkout).data["status"] == "pending"
    tester.advances(hours=2)
    assert merchant.reads_deposit(checkout).data["status"] == status
    assert tester.asks("POST", f"checkouts/{checkout}/pay").http_status == code


COMMON = {
    *("depositId", "depositType", "userId", "inputCurrency", "outputCurrency", "inputAmount", "outputAmount", "fee"),
    *("status", "activityHistory", "exchangeInfo", "createdAt", "updatedAt", "expiredAt"),
}


@pytest.mark.on_each_database
@pytest.mark.parametrize(("method", "where"), [("us_qr", "paymentFiat"), ("us_usdc_polygon", "paymentCrypto")])
def test_a_deposit_is_read_and_updated_with_every_field(
    merchant: Merchant, tester: Tester, receiver: Receiver, method: str, where: str
) -> None:
    checkout = merchant.makes_checkout(40)
    assert tester.picks(checkout, method) == merchant.reads_deposit(checkout).data
    deposit = merchant.reads_deposit(checkout).data
    assert (deposit["depositId"], deposit["status"]) == (checkout, "pending")
    assert set(deposit) == COMMON | {where}
    (entry,) = deposit["activityHistory"]
    assert (entry["activity"], entry["status"]) == ("Payment method picked", "pending")
    if method == "us_qr":
        assert checkout in deposit["paymentFiat"]["qrData"]
    assert deposit["userId"] == "5a6d00000000000000000001"
    assert deposit["createdAt"] == deposit["updatedAt"] < deposit["expiredAt"]
    updated = merchant.forces_status(checkout, "completed").data
    assert updated == merchant.reads_deposit(checkout).data
    assert (updated["status"], len(updated["activityHistory"])) == ("completed", 2)
    assert set(updated) == set(deposit)
    assert receiver.order_ids == [checkout]
