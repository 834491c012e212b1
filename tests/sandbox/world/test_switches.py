"""Switches for the form of answers and webhooks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.journeys.unknowns import signer_of
from tests.sandbox.actors import Merchant, Receiver, Tester, machine_seconds
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, WALLET, Payer, given

OTHER_WALLET = "0x" + "52" * 20


@pytest.mark.on_each_database
@pytest.mark.parametrize(("value", "codes"), [("account", (400, 200)), ("kind", (200, 200)), ("service", (400, 400))])
def test_unknown_reference_scope(make_sandbox: MakeSandbox, value: str, codes: tuple[int, int]) -> None:
    payer = Payer(app := make_sandbox(reference_scope=value))
    other = Payer.of(app, Tester(app).makes_account("anna"))
    item = {"recipient": given(), "amount": 5, "reference": "r-1"}
    token = {"receiverWalletAddress": WALLET, "amount": 7, "reference": "r-1"}
    assert (payer.pays(item).code, payer.pays(item).code) == (200, 400)
    assert (payer.sends_tokens(token).code, other.pays(item).code) == codes


@pytest.mark.on_each_database
def test_unknown_known_reference_idempotent(make_sandbox: MakeSandbox) -> None:
    payer = Payer(make_sandbox(known_reference="idempotent"))
    saved = {"recipientId": RECIPIENTS["USD"], "amount": 5, "reference": "r-1"}
    direct = {"recipient": given(), "amount": 6, "reference": "r-2"}
    token = {"receiverWalletAddress": WALLET, "amount": 7, "reference": "r-3"}

    def ids(batch: Any) -> list[str]:
        return [item["disbursementId"] for item in batch.data["disburseData"]]

    first = ids(payer.pays(saved, direct))
    again = payer.pays({"recipientId": RECIPIENTS["USD"], "amount": 9}, direct, saved)
    assert ids(again)[1:] == first[::-1]
    assert again.data["sumAmount"] == 20
    assert payer.lists()["totalDocs"] == 3
    assert ids(payer.sends_tokens(token)) == ids(payer.sends_tokens(token | {"receiverWalletAddress": WALLET.lower()}))
    for other in (
        payer.pays(saved | {"amount": 6}),
        payer.pays(direct | {"recipient": given(accountNumber="99")}),
        payer.pays_v1(saved | {"currency": "USD"}),
        payer.pays(saved | {"reference": "r-3", "amount": 7}),
        payer.sends_tokens(token | {"receiverWalletAddress": OTHER_WALLET}),
        payer.pays(saved, saved),
    ):
        assert (other.code, ".reference " in other.message) == (400, True)


@pytest.mark.parametrize(
    "unknowns",
    [
        {"signature_formula": "request_base64"},
        {"signature_formula": "timestamp_and_body"},
        {"timestamp_unit": "milliseconds"},
        {"timestamp_unit": "iso8601"},
    ],
    ids=str,
)
def test_unknown_signature_formula_and_timestamp_unit(make_sandbox: MakeSandbox, unknowns: dict[str, str]) -> None:
    merchant, signer = Merchant(make_sandbox(**unknowns)), signer_of(unknowns)
    target, body = "/v1/checkout", b'{"inputCurrency": "USD", "inputAmount": 5}'

    def code(timestamp: str, signed: str) -> int:
        return merchant.calls("POST", target, body, timestamp, signed).code

    now, old = (signer.sign("POST", target, body, at) for at in (int(machine_seconds()), 1767225600))
    stamp, signed = now["X-Timestamp"], now["X-Signature"]
    assert (code(stamp, signed), code(stamp, signed[:-1])) == (200, 401)
    assert code(old["X-Timestamp"], old["X-Signature"]) == 401
    # A call with a signature in the default form is refused.
    assert merchant.calls("POST", target, body).code == 401
    for wrong in ("2026-01-01T00:00:00", "9" * 400, "-5", "é"):
        assert code(wrong, signed) == 401


def test_unknown_webhook_headers(make_sandbox: MakeSandbox, receiver: Receiver) -> None:
    """`tests/client/test_webhooks.py` tests the signatures."""
    app = make_sandbox(webhook_headers="event")
    tester, payer = Tester(app), Payer(app)
    receiver.answers = [500]
    tester.pays(payer.makes_checkout())
    tester.advances(minutes=2)
    payer.forces(payer.pays_one())
    headers = [attempt["request"]["headers"] for webhook in tester.webhooks() for attempt in webhook["attempts"]]
    assert headers == receiver.headers
    events = [(header["X-Webhook-Event"], header["X-Webhook-Attempt"]) for header in headers]
    assert events == [("deposit", "1"), ("deposit", "2"), ("disbursement", "1")]
    assert len({header["X-Webhook-Id"] for header in headers}) == 2
    assert not any("X-Signature" in header for header in headers)
