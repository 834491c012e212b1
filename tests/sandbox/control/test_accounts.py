"""Further accounts: made, listed, limited and removed; two accounts see nothing of each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from tests.sandbox.actors import ACCOUNTS_URL, ENDPOINT, Answer, Merchant, Receiver, Tester
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.payments import customers
from tests.sandbox.recipients.payees import adds

SECRETS = ("clientSecret", "accessToken", "password")
UNKNOWN = "5a6d0000000000000000ffff"


@pytest.fixture
def first(sandbox: Flask, tester: Tester) -> Payer:
    return Payer.of(sandbox, tester.does("GET", "accounts/default"))


@pytest.fixture
def anna(sandbox: Flask, tester: Tester) -> Payer:
    return Payer.of(sandbox, tester.makes_account("anna", webhookUrl=ACCOUNTS_URL))


def recipient_of(merchant: Merchant) -> str:
    return str(merchant.calls("GET", "/v1/recipient?currency=USD").data["docs"][0]["id"])


def pays(payer: Payer, **more: Any) -> str:
    answer = payer.pays({"recipientId": recipient_of(payer), "amount": 5} | more)
    return str(answer.data["disburseData"][0]["disbursementId"])


def picks(payer: Payer, **more: str) -> str:
    checkout = payer.makes_checkout()
    Tester(payer.app).picks(checkout, **more)
    return checkout


def pays_with_tokens(payer: Payer) -> str:
    return customers.makes(payer, receiverId=recipient_of(payer))


#: For each part of the service: how an account makes an object, and the calls that another account tries with its id.
PARTS: dict[str, tuple[Callable[[Payer], str], list[Callable[[Payer, str], Answer]]]] = {
    "deposits": (picks, [Merchant.reads_deposit, Merchant.forces_status]),
    "recipients": (
        adds,
        [
            lambda other, key: other.calls("GET", f"/v1/recipient/{key}"),
            lambda other, key: other.calls("PATCH", f"/v1/recipient/{key}", {"name": "Mine"}),
            lambda other, key: other.calls("DELETE", f"/v1/recipient/{key}"),
            lambda other, key: other.pays({"recipientId": key, "amount": 5}),
            lambda other, key: customers.sends(other, receiverId=key),
        ],
    ),
    "fiat": (
        pays,
        [
            lambda other, key: other.reads(f"/v1/disbursement/fiat/{key}"),
            lambda other, key: other.reads(f"/v1/disbursement/fiat/{key}/report"),
            lambda other, key: other.reads(f"/v1/disbursement/fiat?disbursementId={key}"),
            Payer.forces,
        ],
    ),
    "crypto": (Payer.sends_one, [Payer.forces]),
    "payments": (pays_with_tokens, [customers.details]),
}


@pytest.mark.on_each_database
@pytest.mark.parametrize("part", PARTS)
def test_the_objects_of_one_account_are_unknown_to_another_both_ways(
    first: Payer, anna: Payer, tester: Tester, receiver: Receiver, part: str
) -> None:
    make, attempts = PARTS[part]
    for owner, other in ((first, anna), (anna, first)):
        paths = ("/v1/recipient", "/v1/disbursement/fiat", "/v2/payments")
        lists = [other.reads(path).data for path in paths]
        id_ = make(owner)
        for attempt in attempts:
            assert attempt(other, id_).body == attempt(other, UNKNOWN).body
        assert [other.reads(path).data for path in paths] == lists
    assert {disbursement["status"] for disbursement in tester.does("GET", "disbursements")} <= {"pending"}
    assert receiver.received == []


@pytest.mark.on_each_database
def test_an_account_has_all_that_a_merchant_needs(sandbox: Flask, tester: Tester) -> None:
    account = tester.makes_account("anna")
    assert account == tester.does("GET", "accounts/anna")
    default, listed = tester.does("GET", "accounts")
    assert (default["name"], account.items() - listed.items()) == (
        "default",
        {(field, account[field]) for field in SECRETS},
    )
    payer = Payer.of(sandbox, account)
    assert payer.sees(pays(payer))["createdBy"] == account["userId"]
    assert Visitor(sandbox).logs_in_fully(account["email"], account["password"])["user"]["id"] == account["userId"]
    assert Visitor(sandbox).logs_in(account["email"], "sandbox-password").http_status == 401
    assert [mail["to"] for mail in tester.does("GET", "mails?account=anna")] == [account["email"]]
    assert tester.does("GET", "mails?account=default") == []


@pytest.mark.on_each_database
def test_webhooks_go_to_the_account_that_they_concern_and_nowhere_without_an_address(
    sandbox: Flask, first: Payer, anna: Payer, tester: Tester, receiver: Receiver
) -> None:
    bo = Payer.of(sandbox, tester.makes_account("bo"))
    for payer in (first, anna, bo):
        tester.pays(payer.makes_checkout())
        payer.forces(pays(payer))
    assert receiver.urls == [ENDPOINT] * 2 + [ACCOUNTS_URL] * 2
    assert [(webhook["account"], webhook["state"]) for webhook in tester.webhooks()][-2:] == [("bo", "no_endpoint")] * 2
    other = "http://127.0.0.1:9/bo"
    tester.does("PUT", "accounts/bo/webhook-endpoint", {"url": other})
    tester.does("POST", f"webhooks/{tester.webhooks()[-1]['id']}/redeliver")
    assert receiver.urls[4:] == [other]


@pytest.mark.on_each_database
def test_switches_are_those_of_one_account(first: Payer, anna: Payer, tester: Tester) -> None:
    pair = {"inputCurrency": "USD", "outputCurrency": "EUR"}
    for off, refused_call in (
        ({"paymentMethods": [{"code": code, "enabled": False} for code in ("jp_qr", "jp_bank_transfer")]}, "JPY"),
        ({"conversions": [pair | {"enabled": False}]}, "USD"),
        ({"checkoutEnabled": False}, "GBP"),
    ):
        tester.does("POST", "accounts/anna/switches", off)
        body = {"inputAmount": 500, "inputCurrency": refused_call} | (pair if refused_call == "USD" else {})
        assert [merchant.asks_checkout(**body).code for merchant in (first, anna)] == [200, 400]


@pytest.mark.on_each_database
def test_a_removed_account_leaves_nothing_but_lines_in_the_log(
    sandbox: Flask, first: Payer, tester: Tester, receiver: Receiver
) -> None:
    account = tester.makes_account("anna", webhookUrl=ACCOUNTS_URL)
    anna = Payer.of(sandbox, account)
    for make, _ in PARTS.values():
        make(anna)
    kept, paid = picks(first), picks(anna)
    pays(first)
    tester.orders_fault("webhook", "delay", seconds=60, account="anna")
    tester.pays(paid)
    before = tester.requests()
    tester.does("DELETE", "accounts/anna")
    assert tester.requests() == before
    tester.advances(minutes=5)
    assert receiver.received == []
    assert anna.reads_deposit(paid).code == anna.sends("POST", "/v1/disbursement/crypto", {}).code == 401
    assert sandbox.test_client().get(f"/checkout/{paid}").status_code == 404
    assert tester.does("GET", "webhooks") == tester.does("GET", "faults") == []
    assert {disbursement["account"] for disbursement in tester.does("GET", "disbursements")} == {"default"}
    assert first.reads_deposit(kept).code == 200
    assert [tester.refuses("DELETE", f"accounts/{name}")[0] for name in ("anna", "default")] == [404, 409]
    assert Payer.of(sandbox, tester.makes_account("anna")).reads_deposit(paid).code == 404


def test_keys_are_replaced_and_the_old_ones_refused_at_once(sandbox: Flask, anna: Payer, tester: Tester) -> None:
    new = Payer.of(sandbox, tester.does("POST", "accounts/anna/keys"))
    for payer, signed, with_token in ((anna, 401, 401), (new, 404, 400)):
        assert payer.reads_deposit("none").code == signed
        assert payer.sends("POST", "/v1/disbursement/crypto", {}).code == with_token
    assert tester.refuses("POST", "accounts/anna/keys", {"clientId": "sandbox-client"}) == (409, "clientId")


def test_a_fault_of_an_account_strikes_nobody_else(first: Payer, anna: Payer, tester: Tester) -> None:
    tester.orders_fault("GET /v1/deposit/{id}", "garbage", times=9, account="anna", statusCode=503)
    assert [payer.gets("/v1/deposit/5").status_code for payer in (first, anna)] == [404, 503]
    # Faults of an account do not apply to a caller without its secret.
    Merchant(anna.app, "guessed", anna.client_id).gets("/v1/deposit/5")
    log = [(request["account"], request["fault"]) for request in tester.requests()]
    assert log == [(None, None), ("anna", "garbage"), ("default", None)]
