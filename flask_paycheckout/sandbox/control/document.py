"""The OpenAPI document of the control interface: every call below `/_sandbox/`, with its fields."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from flask import Flask

from flask_paycheckout.sandbox.control.events import KINDS, MAX_EVENTS
from flask_paycheckout.sandbox.control.triggers import EVENTS
from flask_paycheckout.sandbox.deposits.schemas import DepositRecord
from flask_paycheckout.sandbox.outgoing.faults import OPERATION_KINDS, WEBHOOK_KINDS
from flask_paycheckout.sandbox.wire.callers import CONTROL_HEADER
from flask_paycheckout.sandbox.wire.openapi import answer_schemas
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS
from flask_paycheckout.sandbox.world.clock import MAX_SECONDS
from flask_paycheckout.sandbox.world.context import world

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FILLED: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
POSITIVE: Schema = {"type": "number", "exclusiveMinimum": 0}
WHOLE: Schema = {"type": "integer"}
TIME: Schema = {"type": "string", "format": "date-time"}


def listed(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def record(optional: Schema | None = None, **always: Schema) -> Schema:
    """An object with exactly these fields, of which the optional ones may be absent."""
    properties = always | (optional or {})
    return {"type": "object", "properties": properties, "required": list(always), "additionalProperties": False}


def body(optional: Schema | None = None, **required: Schema) -> Schema:
    """The body of a request. Fields that are not named are ignored, and null is as good as absent."""
    nullable = {name: {"anyOf": [schema, {"type": "null"}]} for name, schema in (optional or {}).items()}
    return {"type": "object", "properties": required | nullable, "required": list(required)}


_METHOD_SWITCH = record(code=TEXT, enabled=FLAG)
_PAIR_SWITCH = record(inputCurrency=TEXT, outputCurrency=TEXT, enabled=FLAG)
_CREDENTIAL = {"type": "string", "pattern": "^[!-~]{1,80}$"}
_NAME = {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$"}
_WORLD = {"name": TEXT, "baseUrl": TEXT}
_KEYS = dict.fromkeys(("clientId", "clientSecret", "accessToken"), _CREDENTIAL)
_ACCOUNT = {"name": TEXT, "userId": TEXT, "clientId": TEXT, "email": TEXT_OR_NULL, "webhookUrl": TEXT_OR_NULL}
_SECRETS = {"clientSecret": TEXT, "accessToken": TEXT_OR_NULL, "password": TEXT_OR_NULL}
_FAULT = {
    "message": FILLED,
    "seconds": {"type": "number", "minimum": 0},
    "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "statusCode": {"type": "integer", "minimum": 200, "maximum": 599},
    "retryAfter": {"type": "integer", "minimum": 0, "maximum": 3600},
    "account": TEXT,
}
_FAULT_KIND = {"type": "string", "enum": sorted({*OPERATION_KINDS, *WEBHOOK_KINDS})}
_ATTEMPT = record(
    at=TIME,
    request=record(method=TEXT, url=TEXT, headers={"type": "object", "additionalProperties": TEXT}, body=TEXT),
    answer={"anyOf": [record(status=WHOLE), {"type": "null"}]},
    error=TEXT_OR_NULL,
)

ANSWERS: dict[str, Schema] = {
    "Error": record(error=record(field=TEXT, fault=TEXT, remedy=TEXT)),
    "Reset": record(reset=FLAG),
    "Snapshot": record(**dict.fromkeys(("format", "version", "digest"), TEXT), state={"type": "object"}),
    "Clock": record(now=TIME, offsetSeconds=NUMBER),
    "Mail": record(to=TEXT, subject=TEXT, text=TEXT, otp=TEXT_OR_NULL, sentAt=TIME),
    "WebhookEndpoint": record(url=TEXT_OR_NULL),
    "Webhook": record(
        id=TEXT,
        account=TEXT,
        orderId=TEXT,
        state={"type": "string", "enum": ["waiting", "delivered", "failed", "dropped", "no_endpoint"]},
        createdAt=TIME,
        dueAt=TIME,
        attempts=listed(_ATTEMPT),
    ),
    "Picked": record(paymentMethod=TEXT, deposit={"$ref": "#/components/schemas/DepositRecord"}),
    "Disbursement": record(
        disbursementId=TEXT,
        account=TEXT,
        kind={"type": "string", "enum": ["fiat", "crypto"]},
        reference=TEXT_OR_NULL,
        amount=NUMBER,
        currency=TEXT,
        to=TEXT_OR_NULL,
        status=TEXT,
        createdAt=TIME,
    ),
    "Account": record(**_ACCOUNT, **_SECRETS),
    "AccountWithoutSecrets": record(**_ACCOUNT),
    "Switches": record(
        checkoutEnabled=FLAG,
        paymentMethods=listed(
            record(
                **dict.fromkeys(("code", "name", "group", "currency"), TEXT),
                **dict.fromkeys(("flatFeeAmount", "percentFeeAmount", "minAmount", "maxAmount"), NUMBER),
                enabled=FLAG,
            )
        ),
        conversions=listed(record(inputCurrency=TEXT, outputCurrency=TEXT, rate=NUMBER, enabled=FLAG)),
    ),
    "Fault": record(_FAULT, id=WHOLE, operation=TEXT, kind=_FAULT_KIND, times=WHOLE),
    "Request": record(
        id=WHOLE,
        at=TIME,
        **dict.fromkeys(("method", "target", "requestBody", "answerBody"), TEXT),
        **dict.fromkeys(("clientId", "account", "fault", "signedString"), TEXT_OR_NULL),
        status={"type": ["integer", "null"]},
    ),
    "Unknown": record(
        **dict.fromkeys(("name", "value", "startValue", "default"), TEXT), alternatives=listed(TEXT), meaning=TEXT
    ),
    "Triggered": record(event=TEXT, id=TEXT, account=TEXT, status=TEXT, url=TEXT_OR_NULL),
    "Events": record(
        events=listed(
            record(
                kind={"type": "string", "enum": list(KINDS)},
                number=WHOLE,
                at=TIME,
                account=TEXT_OR_NULL,
                about=TEXT_OR_NULL,
                **dict.fromkeys(("text", "outcome", "detail"), TEXT),
            )
        ),
        cursor=TEXT,
        more=FLAG,
    ),
    "World": record(**_WORLD),
    "NewWorld": record(**_WORLD, **dict.fromkeys(("controlToken", "clientId", "clientSecret", "accessToken"), TEXT)),
    "Document": {"type": "object"},
}

BODIES: dict[str, Schema] = {
    "WorldName": body(name=_NAME),
    "Advance": body(advanceSeconds={"type": "number", "minimum": 0, "maximum": MAX_SECONDS}),
    "NewEndpoint": body({"url": TEXT}),
    "Pick": body({"paymentMethod": FILLED, "reference": FILLED}),
    "Pay": body({"amount": POSITIVE}),
    "Finish": body(status={"type": "string", "enum": ["completed", "failed"]}),
    "NewAccount": body(
        {**_KEYS, "email": FILLED, "password": FILLED, "webhookUrl": TEXT},
        name=_NAME,
    ),
    "NewKeys": body(_KEYS),
    "NewSwitches": body(
        {"checkoutEnabled": FLAG, "paymentMethods": listed(_METHOD_SWITCH), "conversions": listed(_PAIR_SWITCH)}
    ),
    "NewFault": body(
        _FAULT | {"times": {"type": "integer", "minimum": 1, "maximum": 1_000_000}}, operation=FILLED, kind=_FAULT_KIND
    ),
    "NewUnknowns": body({unknown.name: {"type": "string", "enum": list(unknown.values)} for unknown in ASSUMPTIONS})
    | {"additionalProperties": False},
    "Trigger": body(
        {"id": FILLED, "account": FILLED, "amount": POSITIVE, "currency": FILLED, "paymentMethod": FILLED},
        event={"type": "string", "enum": list(EVENTS)},
    ),
}

QUERIES: dict[str, tuple[Schema, str]] = {
    "to": (TEXT, "Only mails to this address."),
    "account": (TEXT, "Only what belongs to the account of this name."),
    "after": (TEXT, "The cursor of an earlier answer."),
    "last": ({"type": "integer", "minimum": 0, "maximum": MAX_EVENTS, "default": 20}, "Without a cursor: how many."),
}


_VARIABLE = re.compile(r"{(\w+)}")
_PDF = "application/pdf"


@dataclass(frozen=True)
class Call:
    """One call: what it does, the names of its answer and body, and its query parameters."""

    summary: str
    answer: str
    """The name of the answer's schema; in brackets for a list of them; or a media type."""
    body: str | None = None
    query: tuple[str, ...] = ()
    needs_body: bool = True


_ACCOUNT_CALLS = {
    "GET /accounts": Call("lists the accounts: the first one, then the others by name", "[AccountWithoutSecrets]"),
    "POST /accounts": Call("makes an account", "Account", "NewAccount"),
    "GET /accounts/{name}": Call("reads one account", "Account"),
    "DELETE /accounts/{name}": Call(
        "removes an account with all that it has; its lines in the request log stay", "AccountWithoutSecrets"
    ),
    "POST /accounts/{name}/keys": Call(
        "gives an account another client secret and access token; the old ones are refused at once",
        "Account",
        "NewKeys",
        needs_body=False,
    ),
    "GET /accounts/{name}/webhook-endpoint": Call("reads where webhooks of an account are sent", "WebhookEndpoint"),
    "PUT /accounts/{name}/webhook-endpoint": Call(
        "sets where webhooks of an account are sent; null for nowhere", "WebhookEndpoint", "NewEndpoint"
    ),
    "GET /accounts/{name}/switches": Call("reads what an account may do", "Switches"),
    "POST /accounts/{name}/switches": Call("switches parts of an account on or off", "Switches", "NewSwitches"),
    "GET /account": Call("reads what the first account may do", "Switches"),
    "POST /account": Call("switches parts of the first account on or off", "Switches", "NewSwitches"),
}

CALLS: dict[str, Call] = {
    "POST /reset": Call(
        "returns to the start state, with the switches of the start; control token and seed stay", "Reset"
    ),
    "GET /snapshot": Call("gives the whole state as a file, with all secrets of the sandbox", "Snapshot"),
    "POST /restore": Call(
        "returns to the state of a snapshot, which is the body, of at most 32 MiB", "Clock", "Snapshot"
    ),
    "GET /clock": Call("reads the clock", "Clock"),
    "POST /clock": Call("moves the clock forward and does what falls due, such as webhook retries", "Clock", "Advance"),
    "GET /mails": Call(
        'lists the mails that were "sent", newest first; to selects an address', "[Mail]", query=("to", "account")
    ),
    "GET /webhook-endpoint": Call("reads where webhooks of the first account are sent", "WebhookEndpoint"),
    "PUT /webhook-endpoint": Call(
        "sets where webhooks of the first account are sent; null for nowhere", "WebhookEndpoint", "NewEndpoint"
    ),
    "GET /webhooks": Call("lists the last 1,000 webhooks, oldest first", "[Webhook]", query=("account",)),
    "POST /webhooks/{id}/redeliver": Call("sends a webhook again", "Webhook"),
    "POST /checkouts/{id}/pick": Call("the customer chooses a payment method", "Picked", "Pick", needs_body=False),
    "POST /checkouts/{id}/pay": Call("the customer pays", "Picked", "Pay", needs_body=False),
    "POST /checkouts/{id}/fail": Call("the bank refuses the payment", "Picked"),
    "POST /checkouts/{id}/leave": Call(
        "the customer leaves without choosing; the clock moves past the page's end", "Clock"
    ),
    "GET /disbursements": Call("lists what is to be paid out, oldest first", "[Disbursement]", query=("account",)),
    "POST /disbursements/{id}/finish": Call(
        "the bank completes a pending disbursement, or lets it fail", "Disbursement", "Finish"
    ),
    "GET /disbursements/{id}/proof": Call("reads the transfer proof of a completed fiat disbursement", _PDF),
    **_ACCOUNT_CALLS,
    "GET /faults": Call("lists the faults that are still armed, oldest first", "[Fault]"),
    "POST /faults": Call("arms a fault", "Fault", "NewFault"),
    "DELETE /faults": Call("removes all faults", "[Fault]"),
    "GET /unknowns": Call("lists the switches with their values", "[Unknown]"),
    "POST /unknowns": Call("changes the switches that it names, for all processes", "[Unknown]", "NewUnknowns"),
    "DELETE /unknowns": Call("returns all switches to their values at the start", "[Unknown]"),
    "POST /trigger": Call(
        "brings a checkout or a payout into a state, or sends a webhook again", "Triggered", "Trigger"
    ),
    "GET /events": Call(
        "calls, moves of states and webhooks after a cursor, oldest first", "Events", query=("after", "last", "account")
    ),
    "GET /requests": Call(
        "lists the last 1,000 calls of the service, newest first, with secrets masked", "[Request]", query=("account",)
    ),
    "GET /worlds": Call("lists the worlds by name, for the operator", "[World]"),
    "POST /worlds": Call("makes a world with credentials of its own, for the operator", "NewWorld", "WorldName"),
    "DELETE /worlds/{name}": Call("throws a world away with all that it has, for the operator", "World"),
    "GET /openapi.json": Call("describes the service, without the control interface", "Document"),
    "GET /control-openapi.json": Call("describes the control interface", "Document"),
}
"""Every call, by method and path below `/_sandbox`."""


def control_document(app: Flask) -> dict[str, Any]:
    """The OpenAPI 3.1 document of a sandbox's control interface."""
    _, deposits = answer_schemas((DepositRecord,))
    paths: dict[str, dict[str, Any]] = {}
    for name, call in CALLS.items():
        method, _, path = name.partition(" ")
        paths.setdefault(f"/_sandbox{path}", {})[method.lower()] = _operation(method, path, call)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Control interface of the payments sandbox", "version": "1"},
        "servers": [{"url": world(app).base_url}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted((ANSWERS | BODIES | deposits).items())),
            "securitySchemes": {CONTROL_HEADER: {"type": "apiKey", "in": "header", "name": CONTROL_HEADER}},
        },
    }


def _operation(method: str, path: str, call: Call) -> dict[str, Any]:
    variables = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in _VARIABLE.findall(path)
    ]
    written: dict[str, Any] = {
        "operationId": f"{method.lower()}{re.sub(r'[^a-z]+', '_', path.replace('{', '').replace('}', ''))}",
        "summary": call.summary,
        "parameters": [*variables, *map(_query_parameter, call.query)],
        "security": [{CONTROL_HEADER: []}],
        "responses": {
            "201" if call.answer == "NewWorld" else "200": {"description": "Done", "content": _content(call.answer)},
            "4XX": {"description": "Refused; nothing was changed", "content": _content("Error")},
        },
    }
    if call.body is not None:
        written["requestBody"] = {"required": call.needs_body, "content": _content(call.body)}
    return written


def _query_parameter(name: str) -> dict[str, Any]:
    schema, meaning = QUERIES[name]
    return {"name": name, "in": "query", "required": False, "description": meaning, "schema": schema}


def _content(name: str) -> dict[str, Any]:
    if name == _PDF:
        return {_PDF: {"schema": {"type": "string", "format": "binary"}}}
    one: Schema = {"$ref": f"#/components/schemas/{name.strip('[]')}"}
    return {"application/json": {"schema": listed(one) if name.startswith("[") else one}}
