"""The OpenAPI document, and the conventions of all operations in it."""

from __future__ import annotations

import pytest
from flask import Flask, Response
from openapi_spec_validator import validate

from tests.sandbox.actors import Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.documented import Departures


def test_the_document_is_valid_also_under_unknowns_that_change_it(make_sandbox: MakeSandbox) -> None:
    changed = make_sandbox(http_status="always_200", access_scheme="either")
    documents = [Tester(app).does("GET", "openapi.json") for app in (make_sandbox(), changed)]
    for document in documents:
        validate(document)
    assert documents[0]["paths"] != documents[1]["paths"]


@pytest.mark.parametrize(
    ("data", "fault"), [('{"id": "1", "url": 5}', "url"), ('{"id": "", "url": "", "x": 1}', "x")], ids=["type", "more"]
)
def test_an_answer_off_the_document_is_noticed(sandbox: Flask, data: str, fault: str) -> None:
    departures = Departures()
    with sandbox.test_request_context("/v1/checkout", method="POST"):
        body = f'{{"statusCode": 200, "message": "Success", "data": {data}}}'
        departures.check(sandbox, Response(body, content_type="application/json"))
    assert [fault in sentence for sentence in departures.seen] == [True]
