"""A code that does not exist has one answer everywhere, and an amount with too many decimals another."""

from __future__ import annotations

from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest
from flask import Flask
from pypdf import PdfReader

from tests.sandbox.actors import Merchant, call
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, STELLAR_WALLET, WALLET, Payer
from tests.sandbox.payments.customers import order, quotes, sends
from tests.sandbox.recipients.payees import bank, changes, creates

SENTENCE = "is no currency or token code that is known here."


@pytest.mark.rule("Codes of currencies and tokens are valid ones.")
@pytest.mark.parametrize("code", ["XYZ", "usd", "XAU", "doge-moon"])
def test_an_unknown_code_has_one_answer_everywhere(sandbox: Flask, payer: Payer, code: str) -> None:
    item = {"recipientId": RECIPIENTS["USD"], "amount": 5}
    answers: dict[str, Any] = {
        "inputCurrency of a checkout": payer.asks_checkout(inputCurrency=code, inputAmount=5),
        "outputCurrency of a checkout": payer.asks_checkout(inputCurrency="USD", outputCurrency=code, inputAmount=5),
        "currency of fiat": payer.pays(item, currency=code),
        "disburseData[0].currency of fiat v1": payer.pays_v1(item | {"currency": code}),
        "currency of methods": payer.sends("GET", f"/v1/disbursement/fiat/payment-method?currency={code}"),
        "currency of disbursements": payer.reads(f"/v1/disbursement/fiat?currency={code}"),
        "bank.currency of a recipient": creates(payer, bank=bank(currency=code)),
        "bank.currency of a change": changes(payer, RECIPIENTS["USD"], bank=bank(currency=code)),
        "currency of recipients": payer.reads(f"/v1/recipient?currency={code}"),
        "currency of banks": call(sandbox, "GET", f"/v1/reference/banks?currency={code}"),
        "inputCurrency of a quote": quotes(payer, inputCurrency=code),
        "outputCurrency of a quote": quotes(payer, outputCurrency=code),
        "inputCurrency of a payment": sends(payer, inputCurrency=code),
        "outputCurrency of a payment": sends(payer, outputCurrency=code),
        "token of an estimate": payer.reads(f"/v1/disbursement/crypto/estimate?token={code}&amount=5"),
    }
    for where, answer in answers.items():
        field = where.split()[0]
        assert (answer.code, answer.body["error"], answer.message) == (400, "Bad Request", f"{field} {SENTENCE}"), where


def test_unknown_surplus_decimals(make_sandbox: MakeSandbox) -> None:
    asks = {"inputCurrency": "USD", "inputAmount": Decimal("12.345")}
    item = {"recipientId": RECIPIENTS["USD"], "amount": Decimal("5.005")}
    tokens = {"receiverWalletAddress": WALLET, "amount": Decimal("5.0000005")}
    for value, code in (("refused", 400), ("rounded", 200)):
        payer = Payer(make_sandbox(surplus_decimals=value))
        fiat, crypto = payer.pays(item), payer.sends_tokens(tokens)
        payment = sends(payer, inputAmount=Decimal("5.0000005"))
        assert [payer.asks_checkout(**asks).code, fiat.code, crypto.code, payment.code - (code == 200)] == [code] * 4
        assert payer.asks_checkout(**asks | {"inputAmount": Decimal("0.001")}).code == 400
    assert fiat.data["sumAmount"] == Decimal("5.01")
    assert crypto.data["sumAmount"] == payment.data["inputAmount"] == Decimal("5.000001")


def test_unknown_address_checksum(make_sandbox: MakeSandbox) -> None:
    wrong = {"usdc-polygon": WALLET.replace("A", "a", 1), "usdc-stellar": STELLAR_WALLET[:-1] + "A"}
    for value, code in (("checked", 400), ("ignored", 200)):
        payer = Payer(make_sandbox(address_checksum=value))
        for token, wallet in wrong.items():
            assert payer.sends_tokens({"receiverWalletAddress": wallet, "amount": 5}, token=token).code == code
            assert payer.sends_tokens({"receiverWalletAddress": wallet[:-1], "amount": 5}, token=token).code == 400
        assert sends(payer, walletAddress=wrong["usdc-polygon"]).code == code + (code == 200)


def test_unknown_empty_strings(make_sandbox: MakeSandbox) -> None:
    for value, code in (("refused", 400), ("absent", 200)):
        merchant = Merchant(make_sandbox(empty_strings=value))
        answer = creates(merchant, reference="", bank=bank(bankName=""))
        assert answer.code == code
        assert creates(merchant, city="").code == 400
        # Nor may these be empty when they are sent again.
        assert changes(merchant, RECIPIENTS["USD"], address="").code == 400
    assert "reference" not in answer.data
    assert "bankName" not in answer.data["bank"][0]


NOTE = "For the bridge:\n\t1 Arch\r\n\t2 Piers"


@pytest.mark.rule("Free text may have several lines.")
def test_free_text_takes_line_breaks(merchant: Merchant, payer: Payer) -> None:
    made = payer.pays_one(note=NOTE)
    assert payer.sees(made)["note"] == NOTE
    assert payer.pays_v1({"recipientId": RECIPIENTS["USD"], "amount": 5, "currency": "USD", "note": NOTE}).code == 200
    assert payer.sends_one(note=NOTE)
    assert creates(merchant, reference=NOTE).data["reference"] == NOTE
    payment = sends(merchant, reason=NOTE, description=NOTE).data
    assert (payment["reason"], payment["description"]) == (NOTE, NOTE)
    # Not so what is no free text, or nothing but breaks.
    assert merchant.calls("POST", "/v2/payment", order(senderName="Sam\nSender")).code == 400
    assert creates(merchant, reference="\n \n").code == 400
    payer.forces(made)
    proof = PdfReader(BytesIO(payer.downloads(made).data)).pages[0].extract_text()
    assert "bridge:\n1 Arch\n2 Piers\n" in "\n".join(line.strip() for line in proof.splitlines())
    assert "U+" not in proof
