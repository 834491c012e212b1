"""The request log as an HTTP Archive."""

from __future__ import annotations

import json
from typing import Any

import pytest
from flask import Flask
from openapi_schema_validator import OAS31Validator

from tests.sandbox.actors import CLIENT_ID, Merchant, Tester, call
from tests.sandbox.auth.visitors import PASSWORD, Visitor
from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.inspector.developer import Developer

TEXT, NUMBER, SIZE = {"type": "string"}, {"type": "number", "minimum": 0}, {"type": "integer", "minimum": -1}


def required(**properties: Any) -> dict[str, Any]:
    """An object with these fields, and further ones whose names begin with an underscore."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in ("postData", "comment")],
        "patternProperties": {"^_": {}},
        "additionalProperties": False,
    }


def listed(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


PAIRS = listed(required(name=TEXT, value=TEXT))
COMMON = {"httpVersion": TEXT, "cookies": listed({}), "headers": PAIRS, "headersSize": SIZE, "bodySize": SIZE}
#: What HAR 1.2 requires of each part, as its specification lists it.
HAR = required(
    log=required(
        version={"const": "1.2"},
        creator=required(name=TEXT, version=TEXT),
        entries=listed(
            required(
                startedDateTime={"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"},
                time=NUMBER,
                request=required(
                    method=TEXT,
                    url={"type": "string", "pattern": "^http://"},
                    queryString=PAIRS,
                    postData=required(mimeType=TEXT, text=TEXT),
                    **COMMON,
                ),
                response=required(
                    status={"type": "integer"},
                    statusText=TEXT,
                    content=required(size=SIZE, mimeType=TEXT, text=TEXT),
                    redirectURL=TEXT,
                    **COMMON,
                ),
                cache=required(),
                timings=required(send=NUMBER, wait=NUMBER, receive=NUMBER),
                comment=TEXT,
            )
        ),
    )
)


def entries(archive: Any) -> Any:
    OAS31Validator(HAR).validate(archive)
    return archive["log"]["entries"]


def test_every_call_is_an_entry_oldest_first_without_secrets(
    sandbox: Flask, merchant: Merchant, tester: Tester, visitor: Visitor
) -> None:
    paid = merchant.makes_checkout()
    tester.pays(paid)
    merchant.calls("GET", "/v1/recipient?search=a%20b&limit=5")
    visitor.logs_in()
    payout = Payer(sandbox).pays_one()
    tester.does("POST", f"disbursements/{payout}/finish", {"status": "completed"})
    merchant.gets(f"/v1/disbursement/fiat/{payout}/report")
    for kind in ("garbage", "drop"):
        tester.orders_fault("GET /v1/deposit/{id}", kind)
    sandbox.test_client().get(f"/v1/deposit/{paid}")
    with pytest.raises(ConnectionError):
        merchant.reads_deposit(paid)
    merchant.calls("GET", f"/v1/deposit/{paid}", signed_by="wrong")
    made, listed_, login, paid_out, proof, garbage, dropped, refused = entries(tester.does("GET", "requests.har"))
    assert json.loads(made["request"]["postData"]["text"])["inputAmount"] == 12.5
    assert (made["response"]["status"], made["response"]["statusText"]) == (200, "OK")
    assert made["request"]["headers"] == [{"name": "X-Client-ID", "value": CLIENT_ID}]
    assert listed_["request"]["queryString"] == [{"name": "search", "value": "a b"}, {"name": "limit", "value": "5"}]
    assert listed_["request"]["url"].endswith("/v1/recipient?search=a%20b&limit=5")
    assert PASSWORD not in json.dumps(login)
    assert "***" in login["request"]["postData"]["text"]
    assert paid_out["_account"] == "default"
    assert proof["response"]["content"]["mimeType"] == "application/pdf"
    assert (garbage["_fault"], garbage["response"]["content"]["mimeType"]) == ("garbage", "text/html")
    assert (dropped["response"]["status"], dropped["comment"]) == (0, "Without an answer")
    assert refused["_signedString"].startswith("GET\n")


def test_one_account_alone_and_whatever_was_sent(sandbox: Flask, tester: Tester, developer: Developer) -> None:
    anna = tester.makes_account("anna")
    Merchant(sandbox, anna["clientSecret"], anna["clientId"]).makes_checkout()
    for target in ("/v1/recipient?//[x", "/v1/%00", "/v1/x?" + "&".join("=" * 900), "/v1/recipient?a=%ff"):
        call(sandbox, "GET", target)
    assert len(entries(tester.does("GET", "requests.har"))) == 5
    (one,) = entries(tester.does("GET", "requests.har?account=anna"))
    assert one["_account"] == "anna"
    assert entries(tester.does("GET", "requests.har?account=nobody%00")) == []
    saved = developer.http.get("/inspector/requests.har?account=anna")
    assert entries(saved.json) == [one]
    assert saved.headers["Content-Disposition"] == 'attachment; filename="sandbox.har"'
    assert "Save all of anna as HAR" in developer.reads("/inspector/requests?account=anna")
