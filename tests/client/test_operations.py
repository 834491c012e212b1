"""Every method of the client: its request, its credentials, and its result for each answer."""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, get_args, get_type_hints

import httpx
import pytest

from flask_paycheckout.client import (
    BankDetails,
    CryptoReceiver,
    FiatItem,
    FiatItemV1,
    Invalid,
    NewRecipient,
    OutcomeUnknown,
    PaymentsError,
    RateLimited,
    RequestRefused,
    ServiceFault,
    TransportFailed,
)
from flask_paycheckout.client.waiting import CallOptions
from flask_paycheckout.totals import Pay
from tests.client import samples
from tests.client.access import access_of
from tests.client.samples import DEPOSIT
from tests.client.wire import Script, Shop, paged, parts_of, refusal, success

PDF = httpx.Response(200, headers={"Content-Type": "application/pdf"}, content=b"%PDF-1.7 ...")
TOKEN = b'{"status":200,"data":{"verificationToken":"v","accessToken":"a"}}'
EVERYTHING = BankDetails(
    account_name="Bo",
    currency="USD",
    country="US",
    bank_name="First",
    account_number="12",
    payment_code="p",
    ach_number="1",
    fedwire_number="2",
    iban_number="3",
    account_type="Savings",
    ifsc="I",
)
PERSON_BODY = b'"name":"Bo","email":"b@c.d","address":"1 Rue","city":"Lyon","postCode":"69001"'
ITEMS = [
    FiatItem(amount="10.50", recipient_id="r1", reference="ref-1", note="n"),
    FiatItem(amount=7, recipient=NewRecipient(bank=samples.ACCOUNT, email="b@c.d", name="Bo")),
]
PAYMENT: dict[str, Any] = {
    "wallet_address": "0xw",
    "input_amount": "10.123456",
    "sender_name": "Ann",
    "sender_email": "a@b.c",
    "receiver_id": "r1",
    "input_currency": "usdc-polygon",
    "output_currency": "USD",
}
PAYMENT_BODY = (
    b'"inputAmount":10.123456,"walletAddress":"0xw","senderName":"Ann","senderEmail":"a@b.c","receiverId":"r1",'
    b'"inputCurrency":"usdc-polygon","outputCurrency":"USD"'
)


# How a call that may move money can be looked up.
HOW = {
    "deposits.sandbox_update": ("chk_1", "look it up"),
    "fiat_disbursements.create": ("ref-1", r"fiat_disbursements.find\(references\)"),
    "fiat_disbursements.create_v1": ("ref-1", r"fiat_disbursements.find\(references\)"),
    "fiat_disbursements.sandbox_update": ("d1", "fiat_disbursements.get"),
    "crypto_disbursements.create": ("ref-1", "dashboard"),
    "payments.create": (None, r"payments.iterate\(sort='-createdAt'\)"),
}


@dataclass(frozen=True)
class Call:
    """One use of a method, which `use` calls with its arguments."""

    method: str
    use: Callable[[Callable[..., Any]], Any]
    sends: str
    answer: bytes | httpx.Response
    body: bytes = b""
    access: str = "signed"
    warns: str = ""

    @property
    def moves_money(self) -> bool:
        return self.method in HOW

    @property
    def repeated(self) -> bool:
        return self.sends.startswith("GET ") or self.method == "checkouts.create"

    def on(self, shop: Shop) -> Any:
        """Use the method, and expect its warning."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = self.use(attrgetter(self.method)(shop))
            result = next(result, None) if isinstance(result, Iterator) else result
        assert [warning.category for warning in caught] == ([DeprecationWarning] if self.warns else [])
        assert all(self.warns in str(warning.message) and warning.filename == __file__ for warning in caught)
        return result


def given(*arguments: Any, **named: Any) -> Callable[[Callable[..., Any]], Any]:
    return lambda method: method(*arguments, **named)


CALLS = [
    Call(
        "auth.register",
        given("a@b.c", "p", "Ann", national_id="N1", country="France", country_code="FR"),
        "POST /v1/auth/register",
        success({"verificationToken": "v"}),
        b'{"email":"a@b.c","fullName":"Ann","password":"p","country":"France","countryCode":"FR","nationalID":"N1"}',
        access="open",
    ),
    Call(
        "auth.login",
        given("a@b.c", "p"),
        "POST /v1/auth/login",
        TOKEN,
        b'{"email":"a@b.c","password":"p"}',
        access="open",
    ),
    Call(
        "auth.verify_login",
        given("v", "123456"),
        "POST /v1/auth/verify-login",
        TOKEN,
        b'{"verificationToken":"v","otp":"123456","isDisableExpire":false}',
        access="open",
    ),
    Call(
        "checkouts.create",
        given(Pay(1, "USD")),
        "POST /v1/checkout",
        success(samples.LINK),
        b'{"inputCurrency":"USD","inputAmount":1.00}',
    ),
    Call("deposits.get", given("chk_1"), "GET /v1/deposit/chk_1", success(DEPOSIT)),
    Call(
        "deposits.sandbox_update",
        given("chk_1", "completed"),
        "PATCH /v1/deposit/chk_1",
        success(DEPOSIT),
        b'{"status":"completed"}',
    ),
    Call(
        "fiat_disbursements.list",
        given(limit=5, page=2, sort="-updatedAt", disbursement_id="d/1", status="failed", currency="U S+D&é"),
        "GET /v1/disbursement/fiat?limit=5&page=2&sort=-updatedAt&disbursementId=d%2F1&status=failed"
        "&currency=U%20S%2BD%26%C3%A9",
        success([samples.FIAT]),
    ),
    Call(
        "fiat_disbursements.iterate",
        given(limit=5, sort="createdAt", status="pending", currency="USD"),
        "GET /v1/disbursement/fiat?limit=5&page=1&sort=createdAt&status=pending&currency=USD",
        success(paged(samples.FIAT)),
    ),
    Call(
        "fiat_disbursements.find",
        given(["ref-1"]),
        "GET /v1/disbursement/fiat?limit=100&page=1&sort=-createdAt",
        success(paged(samples.FIAT)),
    ),
    Call(
        "fiat_disbursements.get",
        given("d/1"),
        "GET /v1/disbursement/fiat/d%2F1",
        success(samples.FIAT),
    ),
    Call(
        "fiat_disbursements.create",
        given("USD", ITEMS),
        "POST /v2/disbursement/fiat",
        success(samples.BATCH),
        b'{"currency":"USD","disburseData":[{"recipientId":"r1","amount":10.50,"reference":"ref-1","note":"n"},'
        b'{"recipient":{"email":"b@c.d","name":"Bo","bank":{"bankName":"First","accountName":"Bo",'
        b'"bankCode":"first_bank","accountNumber":"canary-12"}},"amount":7}]}',
        access="bearer",
    ),
    Call(
        "fiat_disbursements.create_v1",
        given([FiatItemV1(amount="1.500", currency="KWD", recipient_id="r1", reference="ref-1", note="n")]),
        "POST /v1/disbursement/fiat",
        success(samples.record("POST /v1/disbursement/fiat")),
        b'{"disburseData":[{"currency":"KWD","recipientId":"r1","amount":1.500,"reference":"ref-1","note":"n"}]}',
        warns="use client.fiat_disbursements.create",
        access="bearer",
    ),
    Call(
        "fiat_disbursements.payment_methods",
        given("USD"),
        "GET /v1/disbursement/fiat/payment-method?currency=USD",
        success([samples.FIAT_METHOD]),
        access="bearer",
    ),
    Call(
        "fiat_disbursements.report",
        given("d1"),
        "GET /v1/disbursement/fiat/d1/report",
        PDF,
    ),
    Call(
        "fiat_disbursements.sandbox_update",
        given("d1", "completed"),
        "PATCH /v1/disbursement/d1",
        b'{"statusCode":200,"message":"ok"}',
        b'{"status":"completed"}',
        access="bearer",
    ),
    Call(
        "crypto_disbursements.create",
        given(
            "usdc-polygon",
            [CryptoReceiver(amount="0.000000000000000001", receiver_wallet_address="0xr", reference="ref-1", note="n")],
        ),
        "POST /v1/disbursement/crypto",
        success(samples.record("POST /v1/disbursement/crypto")),
        b'{"token":"usdc-polygon","receivers":[{"amount":0.000000000000000001,"receiverWalletAddress":"0xr",'
        b'"reference":"ref-1","note":"n"}]}',
        access="bearer",
    ),
    Call(
        "crypto_disbursements.estimate",
        given("usdc-polygon", 100),
        "GET /v1/disbursement/crypto/estimate?token=usdc-polygon&amount=100",
        success({"token": "usdc-polygon", "amount": 100, "fee": 1.01}),
    ),
    Call(
        "recipients.list",
        given(limit=10, page=2, sort="-createdAt", search="Bo B", country="FR", currency="EUR"),
        "GET /v1/recipient?limit=10&page=2&sort=-createdAt&search=Bo%20B&country=FR&currency=EUR",
        success(paged(samples.RECIPIENT)),
    ),
    Call(
        "recipients.iterate",
        given(search="Bo"),
        "GET /v1/recipient?page=1&search=Bo",
        success(paged(samples.RECIPIENT)),
    ),
    Call("recipients.get", given("r1"), "GET /v1/recipient/r1", success(samples.RECIPIENT)),
    Call(
        "recipients.create",
        given(**samples.PERSON, bank=EVERYTHING, recipient_type="Business", organization_id="o1", reference="vip"),
        "POST /v1/recipient",
        success(samples.RECIPIENT, 201),
        b"{" + PERSON_BODY + b',"bank":{"accountName":"Bo","currency":"USD","country":"US","bankName":"First",'
        b'"paymentCode":"p","achNumber":"1","fedwireNumber":"2","accountType":"Savings","ifsc":"I",'
        b'"accountNumber":"12","ibanNumber":"3"},"recipientType":"Business","organizationId":"o1","reference":"vip"}',
    ),
    Call(
        "recipients.update",
        given("r1", **samples.PERSON, bank=BankDetails(account_name="Bo"), reference="vip"),
        "PATCH /v1/recipient/r1",
        success(samples.RECIPIENT),
        b"{" + PERSON_BODY + b',"bank":{"accountName":"Bo"},"reference":"vip"}',
    ),
    Call("recipients.delete", given("r1"), "DELETE /v1/recipient/r1", success(samples.RECIPIENT)),
    Call(
        "payments.quote",
        given(amount="1E+2", input_currency="a-b", output_currency="USD", with_limit=False),
        "GET /v2/payment/quote?amount=100&inputCurrency=a-b&outputCurrency=USD&withLimit=false",
        success(samples.QUOTE),
        warns="use client.fiat_disbursements.payment_methods",
    ),
    Call(
        "payments.list",
        given(
            limit=3,
            page=2,
            sort="createdAt",
            search="Bo",
            status="processed",
            reason="salary",
            min_input_amount=0,
            max_input_amount="10.5",
            min_output_amount="1E+1",
            max_output_amount=20,
            organization_id="o1",
            organization_name="Jars",
            blockchain="polygon",
            receiver_name="Bo",
        ),
        "GET /v2/payments?limit=3&page=2&sort=createdAt&search=Bo&status=processed&reason=salary&organizationId=o1"
        "&organizationName=Jars&blockchain=polygon&receiverName=Bo&minInputAmount=0&maxInputAmount=10.5"
        "&minOutputAmount=10&maxOutputAmount=20",
        success(paged(samples.PAYMENT)),
        warns="use client.fiat_disbursements.list",
    ),
    Call(
        "payments.iterate",
        given(status="pending", min_input_amount="1"),
        "GET /v2/payments?page=1&status=pending&minInputAmount=1",
        success(paged(samples.PAYMENT)),
        warns="use client.fiat_disbursements.iterate",
    ),
    Call(
        "payments.get",
        given("p1"),
        "GET /v2/payment/detail/p1",
        success(samples.PAYMENT),
        warns="use client.fiat_disbursements.get",
    ),
    Call(
        "payments.create",
        given(**PAYMENT, reason="salary", description="may", us_network="ach"),
        "POST /v2/payment",
        success(samples.PAYMENT, 201),
        b"{" + PAYMENT_BODY + b',"reason":"salary","description":"may","usNetwork":"ach"}',
        warns="use client.fiat_disbursements.create",
    ),
    Call(
        "references.currencies",
        given(),
        "GET /v1/reference/currencies",
        success([samples.CURRENCY]),
        warns="use client.fiat_disbursements.payment_methods",
        access="open",
    ),
    Call(
        "references.cryptos",
        given(use_smart_contract=True, blockchain_type="EVM"),
        "GET /v1/reference/cryptos?blockchainType=EVM&useSmartContract=true",
        success([samples.CRYPTO]),
        warns="use client.crypto_disbursements.estimate",
        access="open",
    ),
    Call(
        "references.banks",
        given(limit=50, sort="createdAt", country="FR", currency="EUR", disbursment_available=True),
        "GET /v1/reference/banks?limit=50&sort=createdAt&country=FR&currency=EUR&disbursmentAvailable=true",
        success(paged(samples.BANK)),
        warns="use client.fiat_disbursements.payment_methods",
        access="open",
    ),
    Call(
        "references.payment_methods",
        given(for_deposit=True),
        "GET /v1/reference/payment-methods?isForDeposit=true",
        success([samples.PAYMENT_METHOD]),
        warns="use client.fiat_disbursements.payment_methods",
        access="open",
    ),
]


def every(calls: list[Call]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("call", calls, ids=lambda call: call.method)


MONEY = [call for call in CALLS if call.moves_money]


def test_no_method_is_missing_here() -> None:
    parts = parts_of(Shop(Script(b"")))
    methods = {
        f"{name}.{method}": getattr(part, method)
        for name, part in parts.items()
        for method in dir(part)
        if not method.startswith("_")
    }
    assert {call.method for call in CALLS} == set(methods)
    assert len({call.sends.split("?")[0] for call in CALLS}) == 28
    for name, method in methods.items():
        keywords = inspect.signature(method).parameters
        keyword_parameters = [each for each in keywords.values() if each.kind is each.VAR_KEYWORD]
        declared = get_args(eval(keyword_parameters[0].annotation, vars(sys.modules[method.__module__])))[0]  # noqa: S307
        assert CallOptions.__annotations__.keys() <= get_type_hints(declared).keys(), name


@every(CALLS)
def test_the_request_of_each_operation(call: Call) -> None:
    script = Script(call.answer)
    call.on(Shop(script))
    (request,) = script.requests
    assert _parts(f"{request.method} {request.url.raw_path.decode()}") == _parts(call.sends)
    assert _exactly(request.content) == _exactly(call.body)
    assert access_of(request) == call.access
    assert request.headers.get("content-type") == ("application/json" if call.body else None)
    assert request.headers["accept"] == (
        "application/pdf, application/json" if call.method.endswith("report") else "application/json"
    )


def _parts(sent: str) -> list[str]:
    """Method and path, and the query's parameters in any order."""
    start, _, query = sent.partition("?")
    return [start, *sorted(query.split("&"))]


def _exactly(body: bytes) -> object:
    """The content of a body, with all digits of numbers."""
    return json.loads(body, parse_float=str, parse_int=str) if body else None


REFUSALS: list[tuple[int, type[RequestRefused]]] = [(400, Invalid), (429, RateLimited), (500, ServiceFault)]


@every(CALLS)
def test_the_body_decides_that_it_is_a_refusal(call: Call) -> None:
    for status, kind in REFUSALS:
        script = Script(httpx.Response(200, content=refusal(status, "Bad Request", "No such thing")))
        with pytest.raises(RequestRefused, match=f"{status} Bad Request: No such thing") as caught:
            call.on(Shop(script))
        assert type(caught.value) is kind
        assert caught.value.status_code == status
        # A lookup repeats its call for pages of the service's default size.
        once = 2 if call.method == "fiat_disbursements.find" and kind is Invalid else 1
        assert len(script.requests) == (3 if call.repeated and status in (429, 500) else once)


LOST: dict[str, bytes | httpx.Response | Exception] = {
    "timeout": httpx.ReadTimeout("late"),
    "no code": b'{"message":"ok"}',
    "proxy": httpx.Response(502, content=b"Bad Gateway"),
}


@every(CALLS)
def test_a_lost_answer(call: Call) -> None:
    for name, answer in LOST.items():
        script = Script(answer)
        with pytest.raises(TransportFailed) as caught:
            call.on(Shop(script))
        assert type(caught.value) is (OutcomeUnknown if call.moves_money else TransportFailed), name
        assert len(script.requests) == (3 if call.repeated else 1), name


@every(MONEY)
@pytest.mark.parametrize(
    ("answer", "kind", "hint"),
    [(httpx.ReadTimeout(""), OutcomeUnknown, ""), (refusal(503), ServiceFault, "503 Bad: No; ")],
    ids=["lost", "failed"],
)
def test_money_that_may_have_moved_says_how_to_look_it_up(
    call: Call, answer: bytes | Exception, kind: type[PaymentsError], hint: str
) -> None:
    reference, how = HOW[call.method]
    with pytest.raises(kind, match=f"{hint}.*it may have been carried out.*{how}") as caught:
        call.on(Shop(Script(answer)))
    assert isinstance(caught.value, OutcomeUnknown | ServiceFault)
    assert caught.value.references == (() if reference is None else (reference,))
    assert (reference or "it carried no reference") in str(caught.value)
