"""Schemathesis makes every call of the service and of the control interface, with valid and invalid requests.

No answer may be a server error, or one that the document does not have. The service accepts requests that match the
document, unless the state of the sandbox does not allow them, and refuses all others. Some fields get values that exist
in the sandbox, so that requests pass the first check.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.wire.envelope import encode
from flask_paycheckout.sandbox.wire.openapi import document, operations
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import ACCESS_TOKEN, RECIPIENTS, WALLET, Payer

LABELS = sorted(
    (is_control, f"{method} {path}")
    for is_control in (False, True)
    for path, method, _, _ in operations(create_sandbox(), control=is_control)
)
SHOWN_AS_BAD_REQUESTS = (
    "outside the limits",
    "Disbursement not found",
    "Deposit not found",
    "Payment method not found",
)
"""Refusals because of the sandbox's state that the interface shows as 400."""
JUDGED = {
    **{"unknown_fields": "refused", "unusable_error": "404", "conversion_refused": "404"},
    **{"reference_error": "409", "report_of_unfinished": "409"},
}
"""Switches with which a 400 means that the request does not match the document; by default, others share it."""
HEADERS = {"Authorization": f"Bearer {ACCESS_TOKEN}", "X-Sandbox-Control": CONTROL_TOKEN}


@settings(
    max_examples=12, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(data=st.data())
def attack(cases: st.SearchStrategy[Case[Any]], known: dict[str, Any], data: st.DataObject) -> None:
    """Send one operation the requests that Schemathesis generates."""
    case, replaced = data.draw(cases), data.draw(st.sets(st.sampled_from(sorted(known))))
    for fields in (case.body, case.query, case.path_parameters):
        if isinstance(fields, dict):
            fields.update({name: known[name] for name in replaced & fields.keys()})
    # The answer is also checked against the document, like every answer of the sandbox's tests.
    response = case.call(headers=HEADERS)
    assert response.status_code < 500
    is_judged = case.path.startswith("/v") and not replaced
    if is_judged and not any(words in response.text for words in SHOWN_AS_BAD_REQUESTS):
        case.validate_response(response, checks=[positive_data_acceptance, negative_data_rejection])


@pytest.fixture
def target(make_sandbox: MakeSandbox) -> Flask:
    """A sandbox without signatures, which Schemathesis could not make."""
    return make_sandbox(signature="off", **JUDGED)


@pytest.fixture
def known(target: Flask) -> dict[str, Any]:
    """Values, by field name, that exist in that sandbox."""
    merchant = Merchant(target)
    deposit = merchant.makes_checkout()
    Tester(target).picks(deposit)
    return {
        "depositId": deposit,
        "disbursementId": Payer(target).pays_one(),
        "recipientId": RECIPIENTS["USD"],
        "receiverId": RECIPIENTS["USD"],
        "walletAddress": WALLET,
        "inputCurrency": "usdc-polygon",
        "outputCurrency": "USD",
        "token": "usdc-polygon",
        "currency": "USD",
        "amount": 25,
        "inputAmount": 25,
        "status": "completed",
        "email": "somebody@example.com",
        "senderEmail": "somebody@example.com",
    }


@pytest.mark.parametrize(("is_control", "label"), LABELS)
def test_no_server_error_and_no_answer_off_the_document(
    target: Flask, known: dict[str, Any], is_control: bool, label: str
) -> None:
    schema = schemathesis.openapi.from_dict(json.loads(encode(document(target, control=is_control))))
    schema.app = target
    operation = schema.find_operation_by_label(label)
    assert operation is not None, label
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        if mode is GenerationMode.POSITIVE or operation.body or operation.query:
            attack(operation.as_strategy(mode), known)
