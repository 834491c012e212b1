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
LISTS = ("/v1/recipient", "/v1/disbursement/fiat", "/v2/payments")


@pytest.mark.each_database
@pytest.mark.parametrize("part", PARTS)
def test_what_one_account_made_is_unknown_to_another_both_ways(
    first: Payer, anna: Payer, tester: Tester, receiver: Receiver, part: str
) -> None:
    make, attempts = PARTS[part]
    for owner, other in ((first, anna), (anna, first)):
        lists = [other.reads(path).data for path in LISTS]
        made = make(owner)
        for attempt in attempts:
            foreign, unknown = attempt(other, made), attempt(other, UNKNOWN)
            assert foreign.body == unknown.body
        assert [other.reads(path).data for path in LISTS] == lists
        # It is there all the same, and was not touched.
        name = "default" if owner is first else "anna"
        assert tester.does("GET", f"requests?account={name}")[0]["account"] == name
        states = [one["status"] for one in tester.does("GET", f"disbursements?account={name}")]
        assert states == (["pending"] if part in {"fiat", "crypto"} else [])
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


def test_an_account_takes_the_values_that_are_given(sandbox: Flask, tester: Tester) -> None:
    given = {
        **{"clientId": "anna-1", "clientSecret": "s3cret", "accessToken": "t0ken", "password": "pass word"},
        **{"email": "Anna@jam.example", "webhookUrl": ACCOUNTS_URL},
    }
    made = tester.makes_account("anna", **given)
    assert {field: made[field] for field in given} == given
    assert payer_of(sandbox, made).sends_one()
    assert Visitor(sandbox).gets_token("anna@jam.example", "pass word")


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
    assert {one["account"] for one in tester.does("GET", "webhooks?account=anna")} == {"anna"}
    other = "http://127.0.0.1:9/bo"
    assert tester.does("PUT", "accounts/bo/webhook-endpoint", {"url": other}) == {"url": other}
    tester.does("POST", f"webhooks/{tester.webhooks()[-1]['id']}/redeliver")
    tester.does("PUT", "webhook-endpoint", {"url": None})
    tester.pays(first.makes_checkout())
    assert receiver.urls[4:] == [other]
    urls = [one["webhookUrl"] for one in tester.does("GET", "accounts")]
    assert urls == [None, ACCOUNTS_URL, other]


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
    off = {"paymentMethods": [{"code": "jp_qr", "enabled": False}, {"code": "jp_bank_transfer", "enabled": False}]}
    start = tester.does("GET", "account")
    for _ in range(2):
        shown = tester.does("POST", "accounts/anna/switches", off)
    assert [one["code"] for one in shown["paymentMethods"] if not one["enabled"]] == [
        *("us_wire", "jp_bank_transfer", "jp_qr")
    ]
    yen, dollars = ({"inputCurrency": code, "inputAmount": 500} for code in ("JPY", "USD"))
    assert [merchant.asks_checkout(**yen).code for merchant in (first, anna)] == [200, 400]
    pair = {"inputCurrency": "USD", "outputCurrency": "EUR", "enabled": False}
    tester.does("POST", "accounts/anna/switches", {"conversions": [pair]})
    codes = [merchant.asks_checkout(**dollars, outputCurrency="EUR").code for merchant in (first, anna)]
    assert codes == [200, 400]
    tester.does("POST", "accounts/anna/switches", {"checkoutEnabled": False})
    assert [merchant.asks_checkout(**dollars).code for merchant in (first, anna)] == [200, 400]
    assert tester.does("GET", "account") == start
    tester.does("POST", "account", {"checkoutEnabled": False})
    assert not tester.does("GET", "accounts/default/switches")["checkoutEnabled"]


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
    tester.does("POST", "accounts/anna/switches", {"paymentMethods": [{"code": "us_qr", "enabled": False}]})
    before = tester.requests()
    assert tester.does("DELETE", "accounts/anna")["clientId"] == made["clientId"]
    assert tester.requests() == before
    tester.advances(minutes=5)
    assert receiver.received == []
    assert anna.reads_deposit(paid).code == 401
    assert anna.sends_tokens({"amount": 5, "receiverWalletAddress": WALLET}).code == 401
    assert sandbox.test_client().get(f"/checkout/{paid}").status_code == 404
    assert tester.does("GET", "webhooks") == tester.does("GET", "mails") == tester.does("GET", "faults") == []
    assert {one["account"] for one in tester.does("GET", "disbursements")} == {"default"}
    assert first.reads_deposit(kept[0]).code == 200
    for gone in (("GET", "accounts/anna"), ("DELETE", "accounts/anna"), ("GET", "webhooks?account=anna")):
        assert tester.refuses(*gone) == (404, "account")
    again = tester.makes_account("anna")
    assert again["clientSecret"] != made["clientSecret"]
    assert payer_of(sandbox, again).reads_deposit(paid).code == 404


def test_keys_are_replaced_and_the_old_ones_refused_at_once(sandbox: Flask, anna: Payer, tester: Tester) -> None:
    checkout = picks(anna)
    old = payer_of(sandbox, tester.does("GET", "accounts/anna"))
    new = payer_of(sandbox, tester.does("POST", "accounts/anna/keys"))
    assert new.client_id == old.client_id
    assert [payer.reads_deposit(checkout).code for payer in (old, new)] == [401, 200]
    codes = [payer.sends_tokens({"amount": 5, "receiverWalletAddress": WALLET}).code for payer in (old, new)]
    assert codes == [401, 200]
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
        *(({"name": name}, 400, "name") for name in (None, "", " ", "a b", "../clock", ".", "-a", "a/b", "é", "a\0")),
        *(({"name": name}, 400, "name") for name in ("a" * 41, "a\n", ["a"], 5, "<script>", "a%2Fb", "a\u202eb")),
        *(({"name": name}, 409, "name") for name in ("default", "taken")),
        *(({"clientId": value}, 400, "clientId") for value in ("", "a b", "a" * 81, "é", 5)),
        ({"clientSecret": "a\nb"}, 400, "clientSecret"),
        ({"accessToken": "a\0b"}, 400, "accessToken"),
        ({"email": "nobody"}, 400, "email"),
        ({"password": 5}, 400, "password"),
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
    tester.makes_account("taken")
    before = tester.does("GET", "accounts")
    refused = tester.asks("POST", "accounts", {"name": "anna"} | body)
    assert (refused.http_status, refused.body["error"]["field"]) == (status, field)
    assert all(refused.body["error"][part] for part in ("fault", "remedy"))
    assert tester.does("GET", "accounts") == before


@pytest.mark.parametrize("name", ["default", "nobody", "%00", "..%2Fclock", "a" * 3000, "%F0%9F%8D%93"])
def test_only_a_further_account_can_be_removed(tester: Tester, name: str) -> None:
    assert tester.asks("DELETE", f"accounts/{name}").http_status == (409 if name == "default" else 404)


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
    secrets = [
        each[field] for each in (made, other) for field in ("clientId", "clientSecret", "accessToken", "password")
    ]
    assert len(set(secrets)) == len(secrets)
    tester.does("POST", "reset")
    assert [one["name"] for one in tester.does("GET", "accounts")] == ["default"]
    assert tester.makes_account("anna", email="a@b.example") == made | {"email": "a@b.example"}
    assert tester.makes_account("bo") == other


@pytest.mark.each_database
def test_accounts_are_made_and_removed_amid_calls_each_once(sandbox: Flask, tester: Tester) -> None:
    made = [lambda: tester.asks("POST", "accounts", {"name": "anna"})] * 4
    assert sorted(answer.http_status for answer in at_once(*made)) == [200, 409, 409, 409]
    anna = payer_of(sandbox, tester.does("GET", "accounts/anna"))

    def removes() -> Answer:
        return tester.asks("DELETE", "accounts/anna")

    def buys() -> Answer:
        return anna.asks_checkout(inputCurrency="USD", inputAmount=5)

    answers = at_once(removes, buys, removes, buys, buys)
    assert sorted(answer.http_status for answer in answers[::2][:2]) == [200, 404]
    assert {answer.http_status for answer in (answers[1], *answers[3:])} <= {200, 401}
    assert tester.does("GET", "accounts")[1:] == []
