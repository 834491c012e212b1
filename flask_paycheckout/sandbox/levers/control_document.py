"""The OpenAPI document of the control interface: every call below `/_sandbox/`, with its fields."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from flask import Flask

from flask_paycheckout.sandbox.deposits.schemas import DepositRecord
from flask_paycheckout.sandbox.levers.control_schemas import ANSWERS, BODIES, QUERIES, Schema, listed
from flask_paycheckout.sandbox.wire.callers import CONTROL_HEADER
from flask_paycheckout.sandbox.wire.openapi import answer_schemas
from flask_paycheckout.sandbox.world.context import world

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
