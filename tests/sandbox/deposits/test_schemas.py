"""The record of a deposit, read or updated, and the consistency of its amounts."""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.auth.rules import add_account
from flask_paycheckout.sandbox.world.database import transaction
from tests.sandbox.actors import Merchant, Receiver, Tester
from tests.sandbox.conftest import MakeSandbox

COMMON = {
    *("depositId", "depositType", "userId", "inputCurrency", "outputCurrency", "inputAmount", "outputAmount", "fee"),
    *("status", "activityHistory", "exchangeInfo", "createdAt", "updatedAt", "expiredAt"),
}
BY_BANK = {"paymentFiat": {"bankCode", "bankName", "qrData"}}
BY_CHAIN = {"paymentCrypto": {"token", "network", "address", "amount"}}


@pytest.mark.rule(
    "A deposit is read with these fields; paid through a bank it has one of two, paid over a chain the other."
)
@pytest.mark.rule("The checkout's id is the id of its deposit and the orderId of its webhook.")
@pytest.mark.rule("The update answers the whole deposit as it then is.")
@pytest.mark.rule("The sandbox's update of a deposit sends the webhook too.")
@pytest.mark.rule("A pending deposit takes the status sent.")
@pytest.mark.parametrize(
    ("method", "where"), [("us_bank_transfer", BY_BANK), ("us_qr", BY_BANK), ("us_usdc_polygon", BY_CHAIN)]
)
def test_a_deposit_is_read_and_updated_with_every_field(
    merchant: Merchant, tester: Tester, receiver: Receiver, method: str, where: dict[str, set[str]]
) -> None:
    checkout = merchant.makes_checkout(40)
    assert tester.picks(checkout, method) == merchant.reads_deposit(checkout).data
    deposit = merchant.reads_deposit(checkout).data
    assert (deposit["depositId"], deposit["status"]) == (checkout, "pending")
    assert set(deposit) == COMMON | where.keys()
    for name, fields in where.items():
        assert set(deposit[name]) == fields
    assert set(deposit["fee"]) == {"amount", "percentage", "currency"}
    assert set(deposit["exchangeInfo"]) == {"exchangeRate", "outputCurrency", "outputAmount"}
    (entry,) = deposit["activityHistory"]
    assert set(entry) == {"activity", "description", "status", "updatedAt"}
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


def test_unknown_absent_fields_null(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(absent_fields="null")
    deposit = Tester(app).picks(Merchant(app).makes_checkout(), "us_bank_transfer")
    assert set(deposit) == COMMON | BY_BANK.keys() | BY_CHAIN.keys()
    assert deposit["paymentCrypto"] is None


@pytest.mark.rule("The output currency is that of the input unless another is named, which may be a token.")
@pytest.mark.rule("Fee and exchange are told in the record, and agree with its amounts.")
@pytest.mark.parametrize(
    ("pair", "unit"),
    [
        pytest.param({"inputCurrency": "USD", "inputAmount": 40}, "0.01", id="one-currency"),
        pytest.param(
            {"inputCurrency": "EUR", "outputCurrency": "USD", "inputAmount": 40}, "0.01", id="between-currencies"
        ),
        pytest.param(
            {"inputCurrency": "USD", "outputCurrency": "usdc-polygon", "inputAmount": 40}, "0.000001", id="into-a-token"
        ),
    ],
)
def test_fee_and_exchange_agree_with_the_amounts(
    merchant: Merchant, tester: Tester, pair: dict[str, Any], unit: str
) -> None:
    checkout = merchant.asks_checkout(**pair).data["id"]
    tester.picks(checkout)
    deposit = merchant.reads_deposit(checkout).data
    fee, exchange = deposit["fee"], deposit["exchangeInfo"]
    assert fee["currency"] == deposit["inputCurrency"] == pair["inputCurrency"]
    assert 0 < fee["amount"] < deposit["inputAmount"] == 40
    assert exchange["outputCurrency"] == deposit["outputCurrency"] == pair.get("outputCurrency", pair["inputCurrency"])
    received = (deposit["inputAmount"] - fee["amount"]) * exchange["exchangeRate"]
    assert deposit["outputAmount"] == exchange["outputAmount"] == received.quantize(Decimal(unit), ROUND_DOWN)


def test_another_accounts_deposits_are_not_there(sandbox: Flask, merchant: Merchant, tester: Tester) -> None:
    with sandbox.app_context(), transaction() as session:
        account = add_account(session)
        stranger = Merchant(sandbox, account.client_secret, account.client_id)
    checkout = merchant.makes_checkout()
    tester.picks(checkout, reference="invoice-7")
    assert stranger.reads_deposit(checkout).body == stranger.reads_deposit("none").body
    assert stranger.reads_deposit("invoice-7").code == 404
    assert stranger.forces_status(checkout).code == 400
    assert merchant.reads_deposit("invoice-7").data["status"] == "pending"
