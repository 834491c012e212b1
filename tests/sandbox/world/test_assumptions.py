"""The table of switches, those that change every answer, and those whose value is the number that is answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.world.assumptions import AssumptionError
from tests.sandbox.actors import Answer, Merchant, Tester, call
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import RECIPIENTS, WALLET, Payer
from tests.sandbox.payments.customers import details, quotes, sends as sends_payment
from tests.sandbox.recipients.payees import creates, reads


@pytest.mark.parametrize(
    ("unknowns", "told"),
    [
        ({"signatur": "off"}, "no unknown named 'signatur'.*signature"),
        ({"signature": "maybe"}, "no value 'maybe'.*on, off"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(unknowns: dict[str, str], told: str) -> None:
    with pytest.raises(AssumptionError, match=told):
        create_sandbox(unknowns=unknowns)


def test_http_status_always_200_leaves_the_code_to_the_body(make_sandbox: MakeSandbox) -> None:
    merchant = Merchant(make_sandbox(http_status="always_200"))
    refused = merchant.reads_deposit("none")
    assert (refused.http_status, refused.code) == (200, 404)
    assert merchant.calls("GET", "/v1/nothing").http_status == 200


def test_unspecified_messages_empty_keeps_those_that_are_given(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(unspecified_messages="empty")
    merchant = Merchant(app)
    assert merchant.asks_checkout(inputCurrency="USD").message == ""
    assert merchant.forces_status("none").message == ""
    assert merchant.reads_deposit("none").message == "Deposit not found"
    Tester(app).does("POST", "account", {"checkoutEnabled": False})
    assert merchant.asks_checkout(inputCurrency="USD").message == "Checkout is not enabled"


def test_unknown_text_maximum(make_sandbox: MakeSandbox) -> None:
    for value, most in (("100", 100), ("200", 200), ("1000", 1000)):
        merchant = Merchant(make_sandbox(text_maximum=value))
        assert [creates(merchant, name="x" * length).code for length in (most, most + 1)] == [200, 400]


ADA = {"recipientId": RECIPIENTS["USD"], "amount": 5, "currency": "USD"}
TOKENS = {"receiverWalletAddress": WALLET, "amount": 5}
TO_POUNDS = {"inputCurrency": "USD", "outputCurrency": "GBP", "inputAmount": 5}


def confirms_wrongly(app: Flask) -> Answer:
    return Visitor(app).confirms(Visitor(app).begins(), Visitor(app).wrong_otp())


def registers_twice(app: Flask) -> Answer:
    Visitor(app).registers()
    return Visitor(app).registers()


def report_of(app: Flask, status: str) -> Answer:
    payer = Payer(app)
    made = payer.pays_one()
    payer.forces(made, status)
    return payer.reads(f"/v1/disbursement/fiat/{made}/report")


@pytest.mark.parametrize(
    ("switch", "numbers", "calls"),
    [
        ("access_token_error", [403], lambda app: call(app, "PATCH", "/v1/disbursement/x", {})),
        ("checkout_status_code", [201], lambda app: Merchant(app).asks_checkout(inputCurrency="USD", inputAmount=5)),
        ("conversion_refused", [422], lambda app: Merchant(app).asks_checkout(**TO_POUNDS)),
        ("conversion_refused", [422], lambda app: quotes(Merchant(app), outputCurrency="CHF")),
        ("conversion_refused", [422], lambda app: sends_payment(Merchant(app), outputCurrency="JPY")),
        ("disbursement_status_code", [201], lambda app: Payer(app).pays(ADA)),
        ("disbursement_status_code", [201], lambda app: Payer(app).pays_v1(ADA)),
        ("disbursement_status_code", [201], lambda app: Payer(app).sends_tokens(TOKENS)),
        ("email_taken_error", [400, 422], registers_twice),
        ("field_error", [422], lambda app: creates(Merchant(app), name=None)),
        ("disbursement_not_found", [400], lambda app: Payer(app).reads("/v1/disbursement/fiat/none")),
        ("payment_not_found", [400], lambda app: details(Merchant(app), "none")),
        ("recipient_not_found", [400], lambda app: reads(Merchant(app), "nothing")),
        ("recipient_status_code", [201], lambda app: creates(Merchant(app))),
        ("register_status_code", [201], lambda app: Visitor(app).registers()),
        ("report_of_unfinished", [400, 404, 409], lambda app: report_of(app, "pending")),
        ("report_of_unfinished", [400, 404, 409], lambda app: report_of(app, "failed")),
        ("signature_error", [403], lambda app: Merchant(app, secret="guessed").reads_deposit("x")),
        ("verification_token_error", [400, 410], lambda app: Visitor(app).confirms("made up", "123456")),
        ("wrong_otp_error", [400, 403], confirms_wrongly),
        ("wrong_password_error", [400, 403], lambda app: Visitor(app).logs_in(password="guessed")),
    ],
)
def test_an_answer_has_the_number_that_was_chosen(
    make_sandbox: MakeSandbox, switch: str, numbers: list[int], calls: Callable[[Flask], Answer]
) -> None:
    for number in numbers:
        answer = calls(make_sandbox(**{switch: str(number)}))
        assert (answer.http_status, answer.code) == (number, number)
