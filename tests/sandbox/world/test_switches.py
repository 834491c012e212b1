"""Switches for the form of answers and webhooks."""

from __future__ import annotations

import hmac
from base64 import b64encode
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pytest

from tests.sandbox.actors import CLIENT_SECRET, Merchant, Receiver, Tester, machine_seconds, signature
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, WALLET, Payer, given

OTHER_WALLET = "0x" + "52" * 20


@pytest.mark.each_database
@pytest.mark.parametrize(("value", "codes"), [("account", (400, 200)), ("kind", (200, 200)), ("service", (400, 400))])
def test_unknown_reference_scope(make_sandbox: MakeSandbox, value: str, codes: tuple[int, int]) -> None:
    payer = Payer(app := make_sandbox(reference_scope=value))
    other = Payer(app)
    other.access_token = Tester(app).makes_account("anna")["accessToken"]
    item = {"recipient": given(), "amount": 5, "reference": "r-1"}
    token = {"receiverWalletAddress": WALLET, "amount": 7, "reference": "r-1"}
    assert (payer.pays(item).code, payer.pays(item).code) == (200, 400)
    assert (payer.sends_tokens(token).code, other.pays(item).code) == codes


@pytest.mark.each_database
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
        payer.pays({"recipient": given(), "amount": 5, "reference": "r-1"}),
        payer.pays(direct | {"recipient": given(accountNumber="99")}),
        payer.pays_v1(saved | {"currency": "USD"}),
        payer.pays(saved | {"reference": "r-3", "amount": 7}),
        payer.sends_tokens(token | {"receiverWalletAddress": OTHER_WALLET}),
        payer.sends_tokens(token, token="usdt-polygon"),
        payer.pays(saved, saved),
    ):
        assert (other.code, ".reference " in other.message) == (400, True)


@pytest.mark.parametrize(
    ("unknowns", "stamp", "sign", "old"),
    [
        (
            {"signature_formula": "request_base64"},
            machine_seconds,
            lambda *sent: b64encode(bytes.fromhex(signature(*sent))).decode(),
            "1767225600",
        ),
        (
            {"signature_formula": "timestamp_and_body"},
            machine_seconds,
            lambda method, target, stamp, body: hmac.new(
                CLIENT_SECRET.encode(), f"{stamp}.".encode() + body, sha256
            ).hexdigest(),
            "1767225600",
        ),
        ({"timestamp_unit": "milliseconds"}, lambda: machine_seconds() + "250", signature, "1767225600000"),
        (
            {"timestamp_unit": "iso8601"},
            lambda: datetime.now(UTC).isoformat().replace("+00:00", "Z"),
            *(signature, "2026-01-01T00:00:00Z"),
        ),
    ],
    ids=["base64", "body", "milliseconds", "iso8601"],
)
def test_unknown_signature_formula_and_timestamp_unit(
    make_sandbox: MakeSandbox, unknowns: dict[str, str], stamp: Any, sign: Any, old: str
) -> None:
    merchant = Merchant(make_sandbox(**unknowns))
    target, body, timestamp = "/v1/checkout", b'{"inputCurrency": "USD", "inputAmount": 5}', stamp()
    signed = sign("POST", target, timestamp, body)
    assert merchant.calls("POST", target, body, timestamp, signed).code == 200
    assert merchant.calls("POST", target, body, timestamp, signed[:-1]).code == 401
    # What the default form would send.
    assert merchant.calls("POST", target, body).code == 401
    for wrong in (old, "2026-01-01T00:00:00", "9" * 400, "-5", "é"):
        assert merchant.calls("POST", target, body, wrong, sign("POST", target, wrong, body)).code == 401


@pytest.mark.parametrize("formula", ["none", "body", "timestamp_and_body"])
def test_unknown_webhook_signature_and_headers(make_sandbox: MakeSandbox, receiver: Receiver, formula: str) -> None:
    app = make_sandbox(webhook_signature=formula, webhook_headers="event")
    tester, payer = Tester(app), Payer(app)
    receiver.answers = [500]
    tester.pays(payer.makes_checkout())
    tester.advances(minutes=2)
    payer.forces(payer.pays_one())
    sent = [attempt["request"] for webhook in tester.webhooks() for attempt in webhook["attempts"]]
    headers = [one["headers"] for one in sent]
    assert headers == receiver.headers
    events = [(one["X-Webhook-Event"], one["X-Webhook-Attempt"]) for one in headers]
    assert events == [("deposit", "1"), ("deposit", "2"), ("disbursement", "1")]
    assert len({one["X-Webhook-Id"] for one in headers}) == 2
    for one in sent:
        text = f"{one['headers']['X-Timestamp']}.{one['body']}" if formula == "timestamp_and_body" else one["body"]
        expected = hmac.new(CLIENT_SECRET.encode(), text.encode(), sha256).hexdigest()
        assert one["headers"].get("X-Signature") == (None if formula == "none" else expected)
