"""JSON Schemas of the control interface: what its calls take, and what they answer."""

from __future__ import annotations

from typing import Any

from flask_paycheckout.sandbox.levers.events import KINDS, MAX_EVENTS
from flask_paycheckout.sandbox.levers.triggers import EVENTS
from flask_paycheckout.sandbox.outgoing.faults import OPERATION_KINDS, WEBHOOK_KINDS
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS
from flask_paycheckout.sandbox.world.clock import MAX_SECONDS

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
