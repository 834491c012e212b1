"""The description of the service: found by its address, with working examples, for people and tools."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from openapi_schema_validator import OAS31Validator

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.examples import send_examples
from flask_paycheckout.sandbox.wire.openapi import examples
from tests.sandbox.actors import CONTROL_TOKEN, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.control.test_worlds import makes
from tests.sandbox.documented import closed


def described(app: Flask, path: str = "/openapi.json") -> Any:
    answer = app.test_client().get(path)
    assert answer.status_code == 200
    return answer.json


def contents(document: Any) -> list[tuple[str, Any]]:
    """The JSON bodies of requests and of successful answers, each with the name of its operation."""
    bodies_by_name = []
    for item in document["paths"].values():
        for operation in item.values():
            answers = [answer for code, answer in operation["responses"].items() if code.startswith("2")]
            bodies = [operation.get("requestBody", {}), *answers]
            bodies_by_name += [
                (operation["operationId"], body["content"]["application/json"])
                for body in bodies
                if "application/json" in body.get("content", {})
            ]
    return bodies_by_name


def test_each_example_works_in_a_sandbox_that_just_started() -> None:
    app = create_sandbox(control_token=CONTROL_TOKEN, unknowns={"signature": "off"})
    sent = dict(send_examples(app))
    assert {
        name: response.status_code for name, response in sent.items() if response.status_code not in (200, 201)
    } == {}
    operations = [one for item in described(app)["paths"].values() for one in item.values()]
    assert sorted(sent) == sorted(operation["operationId"] for operation in operations)
    assert set(examples()) - {"parameters"} <= set(sent)
    # All examples also work a second time, except operations that are possible only once.
    again = {name for name, response in send_examples(app) if response.status_code >= 400}
    once = {"registerUser", "removeRecipient", "removeRecipientByQuery", "createFiatV1", "createFiatV2"}
    assert again == once | {"createCryptoDisbursements"}


def test_an_object_of_the_examples_is_in_no_list_before_it_is_asked_for(tester: Tester) -> None:
    assert tester.does("GET", "disbursements") == tester.does("GET", "events")["events"] == []


@pytest.mark.parametrize(
    "unknowns",
    [
        {},
        {"absent_fields": "null", "fiat_list": "array", "payment_crypto": "wallet"},
        {"http_status": "always_200", "fiat_list": "record", "activity_updated_at": "object"},
        {"checkout_status_code": "201", "webhook_payload": "full", "disbursement_webhook": "full"},
    ],
    ids=str,
)
def test_each_example_is_as_its_schema_says_under_any_switches(
    make_sandbox: MakeSandbox, unknowns: dict[str, str]
) -> None:
    document = described(make_sandbox(**unknowns))
    bodies = contents(closed(document))
    for name, content in bodies:
        schema = content["schema"] | {"components": document["components"]}
        assert list(OAS31Validator(schema).iter_errors(content["example"])) == [], name
    assert len(bodies) > 35


def test_the_description_follows_the_switches(sandbox: Flask, tester: Tester) -> None:
    before = described(sandbox)["paths"]["/v1/checkout"]["post"]
    tester.does("POST", "unknowns", {"checkout_status_code": "201", "signature": "off"})
    after = described(sandbox)["paths"]["/v1/checkout"]["post"]
    assert [sorted(one["responses"]) for one in (before, after)] == [
        *(["200", "4XX", "5XX"], ["201", "4XX", "5XX"]),
    ]
    assert [len(one["security"]) for one in (before, after)] == [1, 3]


def test_exactly_one_amount_and_one_recipient_are_asked_for(sandbox: Flask) -> None:
    document = described(sandbox)
    validator = OAS31Validator({"$ref": "#/components/schemas/NewCheckout", "components": document["components"]})
    for amounts, is_valid in (({}, False), ({"inputAmount": 5}, True), ({"outputAmount": 5, "inputAmount": 5}, False)):
        assert validator.is_valid({"inputCurrency": "USD"} | amounts) is is_valid
    assert {
        variant["$ref"].rpartition("By")[2] for variant in document["components"]["schemas"]["FiatPaymentV2"]["oneOf"]
    } == {
        *("RecipientId", "Recipient"),
    }


def test_no_field_of_a_request_has_a_default_for_which_generators_would_demand_it(sandbox: Flask) -> None:
    requests = [
        schema for schema in described(sandbox)["components"]["schemas"].values() if "additionalProperties" in schema
    ]
    assert len(requests) > 10
    assert [
        name
        for request in requests
        for name, field_schema in request.get("properties", {}).items()
        if "default" in field_schema
    ] == []


def test_it_needs_no_token_and_each_world_has_its_own() -> None:
    app = create_sandbox(control_token=CONTROL_TOKEN)
    world = makes(app, "anna")
    assert described(app, "/w/anna/openapi.json")["servers"] == [{"url": world.made["baseUrl"]}]
    by_token = app.test_client().get("/_sandbox/openapi.json", headers={"X-Sandbox-Control": CONTROL_TOKEN})
    assert described(app) == by_token.json
    answer = app.test_client().get("/")
    assert (answer.status_code, "/openapi.json" in answer.text, "/docs" in answer.text) == (401, True, True)


def test_a_shared_sandbox_shows_no_credentials_and_knows_no_example_of_a_login() -> None:
    app = create_sandbox(control_token=CONTROL_TOKEN, allow_remote_control=True, unknowns={"signature": "off"})
    own = Tester(app).does("GET", "accounts/default")["clientSecret"]
    for path in ("/docs", "/openapi.json"):
        text = app.test_client().get(path).text
        assert own not in text
    assert 'id="client-secret" value=""' in app.test_client().get("/docs").text
    assert dict(send_examples(app))["verifyLogin"].status_code == 401
