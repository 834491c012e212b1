"""Further accounts: made, told, limited and removed; two of them see nothing of each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.control import accounts as accounts_module
from tests.sandbox.actors import ACCOUNTS_URL, ENDPOINT, Answer, Merchant, Receiver, Tester, call
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import WALLET, Payer
from tests.sandbox.payments import customers
from tests.sandbox.recipients.payees import adds
from tests.sandbox.world.test_databases import at_once

SECRETS = ("clientSecret", "accessToken", "password")
UNKNOWN = "5a6d0000000000000000ffff"


def payer_of(app: Flask, account: dict[str, Any]) -> Payer:
    payer = Payer(app, account["clientSecret"], account["clientId"])
    payer.access_token = account["accessToken"]
    return payer


@pytest.fixture
def first(sandbox: Flask, tester: Tester) -> Payer:
    return payer_of(sandbox, tester.does("GET", "accounts/default"))


@pytest.fixture
def anna(sandbox: Flask, tester: Tester) -> Payer:
    return payer_of(sandbox, tester.makes_account("anna", webhookUrl=ACCOUNTS_URL))


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


#: Each part of the service: how an account makes something, and what another one may try with its id.
PARTS: dict[str, tuple[Callable[[Payer], str], list[Callable[[Payer, str], Answer]]]] = {
    "deposits": (picks, [Merchant.reads_deposit, Merchant.forces_status]),
    "recipients": (
        adds,
        [
            lambda other, key: other.calls("GET", f"/v1/recipient/{key}"),
            lambda other, key: other.calls("PATCH", f"/v1/recipient/{key}", {"name": "Mine"}),
            lambda other, key: other.calls("DELETE", f"/v1/recipient/{key}"),
            lambda other, key: other.calls("DELETE", f"/v1/recipient?id={key}"),
            lambda other, key: other.pays({"recipientId": key, "amount": 5}),
            lambda other, key: other.pays_v1({"recipientId": key, "amount": 5, "currency": "USD"}),
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


@pytest.mark.each_database
@pytest.mark.parametrize("part", PARTS)
def test_what_one_account_made_is_unknown_to_another_both_ways(
    first: Payer, anna: Payer, tester: Tester, receiver: Receiver, part: str
) -> None:
    make, attempts = PARTS[part]
    for owner, other in ((first, anna), (anna, first)):
        paths = ("/v1/recipient", "/v1/disbursement/fiat", "/v2/payments")
        lists = [other.reads(path).data for path in paths]
        made = make(owner)
        for attempt in attempts:
            assert attempt(other, made).body == attempt(other, UNKNOWN).body
        assert [other.reads(path).data for path in paths] == lists
    assert {one["status"] for one in tester.does("GET", "disbursements")} <= {"pending"}
    assert receiver.received == []


@pytest.mark.each_database
def test_an_account_has_all_that_a_merchant_needs(sandbox: Flask, tester: Tester, receiver: Receiver) -> None:
    made = tester.makes_account("anna")
    assert made == tester.does("GET", "accounts/anna")
    listed = tester.does("GET", "accounts")
    assert [one["name"] for one in listed] == ["default", "anna"]
    assert made.items() - listed[1].items() == {(field, made[field]) for field in SECRETS}
    payer = payer_of(sandbox, made)
    assert payer.reads("/v1/recipient").data["totalDocs"] == 5
    assert payer.sees(pays(payer))["createdBy"] == made["userId"]
    user = Visitor(sandbox).logs_in_fully(made["email"], made["password"])["user"]
    assert (user["id"], user["name"]) == (made["userId"], "anna")
    assert Visitor(sandbox).logs_in(made["email"], "sandbox-password").http_status == 401
    assert [mail["to"] for mail in tester.does("GET", "mails?account=anna")] == [made["email"]]
    assert tester.does("GET", "mails?account=default") == []


@pytest.mark.each_database
def test_webhooks_go_to_the_account_that_they_concern_and_nowhere_without_an_address(
    sandbox: Flask, first: Payer, anna: Payer, tester: Tester, receiver: Receiver
) -> None:
    bo = payer_of(sandbox, tester.makes_account("bo"))
    for payer in (first, anna, bo):
        tester.pays(payer.makes_checkout())
        payer.forces(pays(payer))
    assert receiver.urls == [ENDPOINT] * 2 + [ACCOUNTS_URL] * 2
    assert [(one["account"], one["state"]) for one in tester.webhooks()][-2:] == [("bo", "no_endpoint")] * 2
    other = "http://127.0.0.1:9/bo"
    tester.does("PUT", "accounts/bo/webhook-endpoint", {"url": other})
    tester.does("POST", f"webhooks/{tester.webhooks()[-1]['id']}/redeliver")
    assert receiver.urls[4:] == [other]
    assert [one["webhookUrl"] for one in tester.does("GET", "accounts")] == [ENDPOINT, ACCOUNTS_URL, other]


@pytest.mark.each_database
def test_references_are_unique_within_an_account(first: Payer, anna: Payer, tester: Tester) -> None:
    for payer in (first, anna):
        pays(payer, reference="r-1")
        assert payer.sends_tokens({"amount": 5, "receiverWalletAddress": WALLET, "reference": "r-1"}).code == 400
        checkout = picks(payer, reference="order-7")
        assert payer.reads_deposit("order-7").data["depositId"] == checkout
        again = {"reference": "order-7"}
        assert tester.refuses("POST", f"checkouts/{payer.makes_checkout()}/pick", again) == (409, "checkout")


@pytest.mark.each_database
def test_switches_are_those_of_one_account(first: Payer, anna: Payer, tester: Tester) -> None:
    pair = {"inputCurrency": "USD", "outputCurrency": "EUR"}
    for off, asked in (
        ({"paymentMethods": [{"code": code, "enabled": False} for code in ("jp_qr", "jp_bank_transfer")]}, "JPY"),
        ({"conversions": [pair | {"enabled": False}]}, "EUR"),
        ({"checkoutEnabled": False}, "USD"),
    ):
        tester.does("POST", "accounts/anna/switches", off)
        body = {"inputAmount": 500, "outputCurrency": asked, "inputCurrency": "USD" if asked == "EUR" else asked}
        assert [merchant.asks_checkout(**body).code for merchant in (first, anna)] == [200, 400]


@pytest.mark.each_database
def test_a_removed_account_leaves_nothing_but_lines_in_the_log(
    sandbox: Flask, first: Payer, tester: Tester, receiver: Receiver
) -> None:
    made = tester.makes_account("anna")
    anna = payer_of(sandbox, made)
    kept = [make(first) for make, _ in PARTS.values()]
    for make, _ in PARTS.values():
        make(anna)
    paid = picks(anna)
    tester.does("PUT", "accounts/anna/webhook-endpoint", {"url": ACCOUNTS_URL})
    tester.orders_fault("webhook", "delay", seconds=60, account="anna")
    tester.pays(paid)
    Visitor(sandbox).begins(made["email"], made["password"])
    before = tester.requests()
    tester.does("DELETE", "accounts/anna")
    assert tester.requests() == before
    tester.advances(minutes=5)
    assert receiver.received == []
    assert anna.reads_deposit(paid).code == anna.sends("POST", "/v1/disbursement/crypto", {}).code == 401
    assert sandbox.test_client().get(f"/checkout/{paid}").status_code == 404
    assert tester.does("GET", "webhooks") == tester.does("GET", "mails") == tester.does("GET", "faults") == []
    assert {one["account"] for one in tester.does("GET", "disbursements")} == {"default"}
    assert first.reads_deposit(kept[0]).code == 200
    assert tester.refuses("DELETE", "accounts/anna")[0] == 404
    assert tester.refuses("DELETE", "accounts/default")[0] == 409
    assert payer_of(sandbox, tester.makes_account("anna")).reads_deposit(paid).code == 404


def test_keys_are_replaced_and_the_old_ones_refused_at_once(sandbox: Flask, anna: Payer, tester: Tester) -> None:
    checkout = picks(anna)
    old = payer_of(sandbox, tester.does("GET", "accounts/anna"))
    new = payer_of(sandbox, tester.does("POST", "accounts/anna/keys"))
    assert [payer.reads_deposit(checkout).code for payer in (old, new)] == [401, 200]
    assert [payer.sends("POST", "/v1/disbursement/crypto", {}).code for payer in (old, new)] == [401, 400]
    given = {"clientId": "anna-2", "clientSecret": "s", "accessToken": "t"}
    assert tester.does("POST", "accounts/anna/keys", given).items() >= given.items()
    assert tester.refuses("POST", "accounts/anna/keys", {"clientId": "sandbox-client"}) == (409, "clientId")


@pytest.mark.parametrize(
    ("fault", "status"),
    [({"kind": "error", "statusCode": 503}, 503), ({"kind": "garbage"}, 200)],
    ids=["error", "garbage"],
)
def test_a_fault_of_an_account_strikes_nobody_else(
    first: Payer, anna: Payer, tester: Tester, fault: dict[str, Any], status: int
) -> None:
    tester.orders_fault("GET /v1/deposit/{id}", times=9, account="anna", **fault)
    for payer in (first, anna):
        assert payer.gets("/v1/deposit/5").status_code == (status if payer is anna else 404)
    # Whoever only claims to be somebody is not.
    Merchant(anna.app, "guessed", anna.client_id).gets("/v1/deposit/5")
    log = [(one["account"], one["fault"]) for one in tester.requests()]
    assert log == [(None, None), ("anna", fault["kind"]), ("default", None)]
    assert tester.does("GET", "faults")[0]["account"] == "anna"


def test_a_fault_that_could_never_strike_an_account_is_refused(tester: Tester, anna: Payer) -> None:
    order = {"kind": "error", "account": "anna"}
    for operation in ("POST /v1/auth/login", "GET /v1/reference/banks", "GET /checkout/{checkout_id}"):
        assert tester.refuses("POST", "faults", order | {"operation": operation}) == (400, "account")
    unknown = {"operation": "POST /v1/checkout", "kind": "error", "account": "bo"}
    assert tester.refuses("POST", "faults", unknown) == (404, "account")


def test_the_log_tells_whose_credentials_were_accepted(
    sandbox: Flask, first: Payer, anna: Payer, tester: Tester
) -> None:
    first.makes_checkout()
    Payer.sends_one(anna)
    customers.quotes(anna, withLimit="true")
    call(sandbox, "GET", "/v2/payment/quote?amount=1&inputCurrency=usdc-polygon&outputCurrency=USD&withLimit=true",
         headers={"X-Client-ID": anna.client_id})  # fmt: skip
    Merchant(sandbox, "guessed", anna.client_id).reads_deposit("5")
    call(sandbox, "GET", "/v1/reference/cryptos")
    assert [one["account"] for one in tester.requests()] == [None, None, "anna", "anna", "anna", "default"]
    assert len(tester.does("GET", "requests?account=anna")) == 3


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        *(({"name": name}, 400, "name") for name in (None, "", "../clock", "-a", "é", "a" * 41, "a\n", ["a"])),
        ({"name": "default"}, 409, "name"),
        *(({"clientId": value}, 400, "clientId") for value in ("a b", "a" * 81)),
        ({"accessToken": "a\0b"}, 400, "accessToken"),
        ({"email": "nobody"}, 400, "email"),
        ({"webhookUrl": "ftp://127.0.0.1/"}, 400, "webhookUrl"),
        ({"clientId": "sandbox-client"}, 409, "clientId"),
        ({"accessToken": "sandbox-access-token"}, 409, "accessToken"),
        ({"email": "Merchant@Example.com"}, 409, "email"),
    ],
    ids=str,
)
def test_what_an_account_cannot_be_is_refused_by_name(
    tester: Tester, body: dict[str, Any], status: int, field: str
) -> None:
    before = tester.does("GET", "accounts")
    assert tester.refuses("POST", "accounts", {"name": "anna"} | body) == (status, field)
    assert tester.does("GET", "accounts") == before


def test_there_are_only_so_many_accounts(tester: Tester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accounts_module, "MAX_ACCOUNTS", 3)
    for name in "ab":
        tester.makes_account(name)
    assert tester.refuses("POST", "accounts", {"name": "c"}) == (409, "accounts")
    tester.does("DELETE", "accounts/a")
    tester.makes_account("c")


@pytest.mark.each_database
def test_a_seed_repeats_an_account_and_a_reset_takes_it_away(make_sandbox: MakeSandbox) -> None:
    tester = Tester(make_sandbox())
    made, other = (tester.makes_account(name) for name in ("anna", "bo"))
    assert not {made[field] for field in SECRETS} & {other[field] for field in SECRETS}
    tester.does("POST", "reset")
    assert [one["name"] for one in tester.does("GET", "accounts")] == ["default"]
    assert tester.makes_account("anna") == made


@pytest.mark.each_database
def test_an_account_is_made_and_removed_once_amid_calls(tester: Tester) -> None:
    def makes() -> Answer:
        return tester.asks("POST", "accounts", {"name": "anna"})

    def removes() -> Answer:
        return tester.asks("DELETE", "accounts/anna")

    assert sorted(answer.http_status for answer in at_once(*[makes] * 4)) == [200, 409, 409, 409]
    assert sorted(answer.http_status for answer in at_once(*[removes] * 4)) == [200, 404, 404, 404]
