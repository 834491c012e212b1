"""Switches for the form of answers and webhooks."""

from __future__ import annotations

import hmac
import re
from base64 import b64encode
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any

import pytest

from tests.sandbox.actors import CLIENT_SECRET, Merchant, Receiver, Tester, machine_seconds, signature
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, WALLET, Payer, given

OTHER_WALLET = "0x" + "52" * 20


def test_unknown_deposit_type(make_sandbox: MakeSandbox) -> None:
    for value, kinds in (("checkout", {"checkout"}), ("method", {"qr", "crypto"})):
        merchant = Merchant(app := make_sandbox(deposit_type=value))
        picked = [Tester(app).picks(merchant.makes_checkout(), code) for code in ("us_qr", "us_usdc_polygon")]
        assert {deposit["depositType"] for deposit in picked} == kinds


@pytest.mark.parametrize(
    ("value", "fields"),
    [
        ("transfer", {"token", "network", "address", "amount"}),
        ("wallet", {"walletAddress", "blockchain"}),
        ("empty", set()),
    ],
)
def test_unknown_payment_crypto(make_sandbox: MakeSandbox, value: str, fields: set[str]) -> None:
    merchant = Merchant(app := make_sandbox(payment_crypto=value))
    assert set(Tester(app).picks(merchant.makes_checkout(), "us_usdc_polygon")["paymentCrypto"]) == fields


def test_unknown_activity_updated_at_object(make_sandbox: MakeSandbox) -> None:
    payer = Payer(make_sandbox(activity_updated_at="object"))
    record = payer.sees(payer.pays_one())
    assert [entry["updatedAt"] for entry in record["activityHistory"]] == [{"$date": record["createdAt"]}] * 2
    crypto = payer.sends_tokens({"amount": 5, "receiverWalletAddress": WALLET}).data["disburseData"][0]
    assert set(crypto["activityHistory"][0]["updatedAt"]) == {"$date"}


def test_unknown_fiat_list_record(make_sandbox: MakeSandbox) -> None:
    payer = Payer(make_sandbox(fiat_list="record"))
    assert payer.lists() == {}
    made = [payer.pays_one() for _ in range(2)]
    shown = [payer.lists(query)["disbursementId"] for query in ("", "limit=1&page=2", "sort=-createdAt")]
    assert shown == [made[0], made[1], made[1]]
    assert payer.lists("limit=1&page=3") == {}


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
@pytest.mark.parametrize(
    ("value", "form"), [("uuid", "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), ("hex64", "[0-9a-f]{64}")]
)
def test_unknown_id_format(make_sandbox: MakeSandbox, value: str, form: str) -> None:
    payer = Payer(app := make_sandbox(id_format=value))
    tester, checkout = Tester(app), payer.makes_checkout()
    tester.pays(checkout)
    account = tester.makes_account("anna")
    user = {"email": "new@example.com", "password": "secret", "fullName": "New"}
    assert payer.sends("POST", "/v1/auth/register", user).code == 200
    made = (checkout, payer.pays_one(), account["userId"], tester.webhooks()[0]["id"])
    assert [one for one in made if not re.fullmatch(form, one)] == []


def test_unknown_deposit_fee(make_sandbox: MakeSandbox) -> None:
    for value, received in (("included", Decimal("98.70")), ("billed", Decimal(100))):
        merchant = Merchant(app := make_sandbox(deposit_fee=value))
        deposit = Tester(app).picks(merchant.makes_checkout(100), "us_qr")
        assert (deposit["inputAmount"], deposit["fee"]["amount"]) == (100, Decimal("1.30"))
        assert deposit["outputAmount"] == received


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
    others = (
        payer.pays(saved | {"amount": 6}),
        payer.pays({"recipient": given(), "amount": 5, "reference": "r-1"}),
        payer.pays(direct | {"recipient": given(accountNumber="99")}),
        payer.pays_v1(saved | {"currency": "USD"}),
        payer.pays(saved | {"reference": "r-3", "amount": 7}),
        payer.sends_tokens(token | {"receiverWalletAddress": OTHER_WALLET}),
        payer.sends_tokens(token, token="usdt-polygon"),
        payer.pays(saved, saved),
    )
    assert [(one.code, one.message.partition(".reference ")[2][:3]) for one in others] == [(400, "was")] * 7 + [
        (400, "is ")
    ]


@pytest.mark.parametrize(
    ("unknowns", "stamp", "sign"),
    [
        (
            {"signature_formula": "request_base64"},
            machine_seconds,
            lambda *sent: b64encode(bytes.fromhex(signature(*sent))).decode(),
        ),
        (
            {"signature_formula": "timestamp_and_body"},
            machine_seconds,
            lambda method, target, stamp, body: hmac.new(
                CLIENT_SECRET.encode(), f"{stamp}.".encode() + body, sha256
            ).hexdigest(),
        ),
        ({"timestamp_unit": "milliseconds"}, lambda: machine_seconds() + "250", signature),
        ({"timestamp_unit": "iso8601"}, lambda: datetime.now(UTC).isoformat().replace("+00:00", "Z"), signature),
    ],
    ids=["base64", "body", "milliseconds", "iso8601"],
)
def test_unknown_signature_formula_and_timestamp_unit(
    make_sandbox: MakeSandbox, unknowns: dict[str, str], stamp: Any, sign: Any
) -> None:
    merchant = Merchant(make_sandbox(**unknowns))
    target, body, timestamp = "/v1/checkout", b'{"inputCurrency": "USD", "inputAmount": 5}', stamp()
    signed = sign("POST", target, timestamp, body)
    assert merchant.calls("POST", target, body, timestamp, signed).code == 200
    assert merchant.calls("POST", target, body, timestamp, signed[:-1]).code == 401
    # What the default form would send.
    assert merchant.calls("POST", target, body).code == 401
    old = {"milliseconds": "1767225600000", "iso8601": "2026-01-01T00:00:00Z"}.get(
        unknowns.get("timestamp_unit", ""), "1767225600"
    )
    for wrong in (old, "2026-01-01T00:00:00", "9" * 400, "-5", "é"):
        assert merchant.calls("POST", target, body, wrong, sign("POST", target, wrong, body)).code == 401


class Listener(Receiver):
    """Keeps the headers too."""

    def __init__(self) -> None:
        super().__init__()
        self.headers: list[dict[str, str]] = []
        self.bodies: list[bytes] = []

    def __call__(self, url: str, headers: dict[str, str], body: bytes) -> int:
        self.headers.append(headers)
        self.bodies.append(body)
        return super().__call__(url, headers, body)


@pytest.fixture
def receiver() -> Receiver:
    return Listener()


@pytest.mark.parametrize("formula", ["none", "body", "timestamp_and_body"])
def test_unknown_webhook_signature_and_headers(make_sandbox: MakeSandbox, receiver: Listener, formula: str) -> None:
    app = make_sandbox(webhook_signature=formula, webhook_headers="event")
    merchant, tester, payer = Merchant(app), Tester(app), Payer(app)
    receiver.answers = [500]
    tester.pays(merchant.makes_checkout())
    tester.advances(minutes=2)
    payer.forces(payer.pays_one())
    events = [(one["X-Webhook-Event"], one["X-Webhook-Attempt"]) for one in receiver.headers]
    assert events == [("deposit", "1"), ("deposit", "2"), ("disbursement", "1")]
    assert len({one["X-Webhook-Id"] for one in receiver.headers}) == 2
    for headers, body in zip(receiver.headers, receiver.bodies, strict=True):
        text = headers["X-Timestamp"].encode() + b"." + body if formula == "timestamp_and_body" else body
        expected = hmac.new(CLIENT_SECRET.encode(), text, sha256).hexdigest()
        assert headers.get("X-Signature") == (None if formula == "none" else expected)
    recorded = [attempt["request"]["headers"] for webhook in tester.webhooks() for attempt in webhook["attempts"]]
    assert recorded == receiver.headers
