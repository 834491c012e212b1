"""The OpenAPI documents of the service and of the control interface, assembled from the declarations of their views.

Requests are described from the classes that they are validated by, answers from the structs that they are encoded from.
The document of the service follows the switches: it describes this sandbox's answers now.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from flask import Flask
from werkzeug.routing import Rule

from flask_paycheckout.sandbox.wire.callers import CONTROL_HEADER
from flask_paycheckout.sandbox.wire.envelope import Record
from flask_paycheckout.sandbox.wire.field_types import Schema, declared_fields
from flask_paycheckout.sandbox.wire.operations import Credentials, Operation, is_served, operation_of
from flask_paycheckout.sandbox.wire.schemas import TEXT, Schemas, record
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.exact_json import read_json
from flask_paycheckout.sandbox.world.money import rows_of

_VARIABLE = re.compile(r"<(?:\w+:)?(\w+)>")
_JSON = "application/json"
_SIGNATURE_HEADERS = {
    "X-Signature": "Lowercase hexadecimal HMAC-SHA256, keyed with the client secret, of four lines: the method, the"
    " target (path and query as sent), X-Timestamp, and the lowercase hexadecimal SHA-256 of the body.",
    "X-Timestamp": "Unix time in seconds, at which the request is signed.",
    "X-Client-ID": "The client id of the account.",
}
_CONTROL_HEADERS = {CONTROL_HEADER: "The control token, which the sandbox prints at its start."}
_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "An access token, which POST /v1/auth/verify-login answers.",
}
_SECURITY: dict[Credentials, list[dict[str, list[str]]]] = {
    Credentials.NONE: [],
    Credentials.SIGNATURE: [{name: [] for name in _SIGNATURE_HEADERS}],
    Credentials.ACCESS_TOKEN: [{"Authorization": []}],
    Credentials.CONTROL_TOKEN: [{CONTROL_HEADER: []}],
}
_TWO_SCHEMES = (Credentials.SIGNATURE, Credentials.ACCESS_TOKEN)
_TAGS = {
    blueprint: (tag, description)
    for blueprint, tag, description in rows_of("""
auth                 | Authentication       | Register and log in with a password and a one-time password.
fiat_disbursements   | Fiat disbursements   | Pay recipients by bank transfer, in batches.
transfer_proofs      | Fiat disbursements   | Pay recipients by bank transfer, in batches.
crypto_disbursements | Crypto disbursements | Send tokens to wallets, in batches.
disbursements        | Disbursement updates | Force the status of a disbursement, which only a sandbox allows.
checkouts            | Checkout             | Make hosted pages for payments.
deposits             | Deposits             | Follow the payment of a checkout.
recipients           | Recipients           | Keep the people and companies that are paid.
payments             | Payments             | Quotes and payments in crypto, deprecated.
references           | References           | Currencies, tokens, banks and payment methods, deprecated.
control              | Control              | Calls with which tests and people control a sandbox.
""")
}
"""The tag of each part, by its blueprint."""
_WEBHOOKS = "Webhooks"
_ABOUT = {
    False: "The payments service, as this sandbox answers it now: its switches change it. The first account has the"
    " client id `sandbox-client` and the client secret `sandbox-secret-0123456789abcdef`, unless others share the"
    " sandbox. The examples work in a sandbox that just started.",
    True: "The calls with which tests and people control a sandbox of the payments service.",
}


DescribedWebhook = tuple[str, type[Record], Any]
"""The webhook of an event: the unknown that says whether it is `minimal` or `full`, and both records."""


def document(
    app: Flask,
    *,
    control: bool = False,
    answers: Mapping[str, Any] | None = None,
    webhooks: Mapping[str, DescribedWebhook] | None = None,
) -> dict[str, Any]:
    """The OpenAPI 3.1 document of a sandbox's service, or of its control interface.

    :param answers: examples of answers, by operation.
    :param webhooks: the webhooks that the service sends, by event.
    """
    here = world(app)
    writer = _Writer(here.unknowns, answers or {}, control=control)
    paths: dict[str, dict[str, Any]] = {}
    with app.app_context():
        for path, method, endpoint, declared in operations(app, control=control):
            description = writer.operation(path, endpoint, app.view_functions[endpoint], declared)
            paths.setdefault(path, {})[method.lower()] = description
    tags = {tag: text for name, (tag, text) in _TAGS.items() if control is (name == "control")}
    if webhooks:
        tags[_WEBHOOKS] = "What the service sends to the merchant."
    headers = _CONTROL_HEADERS if control else _SIGNATURE_HEADERS
    schemes: dict[str, Any] = {
        name: {"type": "apiKey", "in": "header", "name": name, "description": text} for name, text in headers.items()
    }
    info = {"version": "1", "license": {"name": "MIT", "identifier": "MIT"}, "contact": {"name": "flask_paycheckout"}}
    title = "Control interface of the payments sandbox" if control else "Payments service (sandbox)"
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "description": _ABOUT[control]} | info,
        "servers": [{"url": here.base_url}],
        "tags": [{"name": tag, "description": text} for tag, text in tags.items()],
        "paths": dict(sorted(paths.items())),
        "webhooks": {event: {"post": writer.webhook(event, shape)} for event, shape in (webhooks or {}).items()},
        "components": {
            "schemas": dict(sorted(writer.schemas.kept.items())),
            "securitySchemes": schemes if control else schemes | {"Authorization": _TOKEN},
        },
    }


def operations(app: Flask, *, control: bool = False) -> Iterator[tuple[str, str, str, Operation]]:
    """Path, method, endpoint and declaration of every operation that the sandbox serves."""
    for rule in app.url_map.iter_rules():
        declared = operation_of(app, rule.endpoint, control=control)
        for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
            if declared is not None and is_served(method, rule.rule, world(app).unknowns):
                yield path_of(rule), method, rule.endpoint, declared


def path_of(rule: Rule) -> str:
    """The path of a route in the document: `/v1/deposit/{depositId}`."""
    return _VARIABLE.sub(lambda variable: f"{{{_camel_case(variable[1])}}}", rule.rule)


def name_of(endpoint: str) -> str:
    """The name of an operation: `createCheckout`."""
    return _camel_case(re.sub(r"\W+", "_", endpoint.partition(".")[2]).strip("_"))


def _camel_case(name: str) -> str:
    head, *tail = name.split("_")
    return head.lower() + "".join(word.title() for word in tail)


@cache
def examples() -> Any:
    """A request of each operation, by its name: `path`, `query` and `body`; they work in a sandbox that just started.

    Below `parameters` are the values of query parameters, unless an operation has others.
    """
    return read_json((Path(__file__).parent / "examples.json").read_bytes())


class _Writer:
    """Describes operations, and collects the schemas that they refer to."""

    def __init__(self, unknowns: Mapping[str, str], answers: Mapping[str, Any], *, control: bool) -> None:
        self.unknowns, self.answers, self.control = unknowns, answers, control
        self.schemas = Schemas(unknowns)
        self.examples: Any = {} if control else examples()
        self.always_200 = not control and unknowns["http_status"] == "always_200"
        of_control = {"error": record({"field": TEXT, "fault": TEXT, "remedy": TEXT})}
        of_service = {"statusCode": {"type": "integer"}, "error": TEXT, "message": TEXT}
        self.error = self.schemas.keep("Error", record(of_control if control else of_service))
        if not control:
            self.schemas.codes()

    def operation(self, path: str, endpoint: str, view: Any, declared: Operation) -> dict[str, Any]:
        name = name_of(endpoint)
        example = self.examples.get(name, {})
        summary, _, description = inspect.cleandoc(view.__doc__ or "").partition("\n")
        variable = {"in": "path", "required": True, "description": "An identifier.", "schema": TEXT | {"minLength": 1}}
        variables = (
            {"name": variable_name} | variable | _shown(example.get("path", {}), variable_name)
            for variable_name in re.findall(r"{(\w+)}", path)
        )
        written = {
            "operationId": name,
            "tags": [_TAGS[endpoint.partition(".")[0]][0]],
            "summary": summary,
            "description": description.strip() or summary,
            "deprecated": declared.deprecated,
            "parameters": [*variables, *self._query_parameters(declared, example.get("query", {}))],
            "security": self._security(declared),
            "responses": self._responses(name, declared),
        }
        if declared.body is not None:
            content = {_JSON: {"schema": self.schemas.of(declared.body)} | _shown(example, "body")}
            written["requestBody"] = {"required": not declared.may_be_empty, "content": content}
        return written

    def _query_parameters(self, declared: Operation, example: Any) -> Iterator[dict[str, Any]]:
        values = self.examples.get("parameters", {}) | example
        for field in () if declared.query is None else declared_fields(declared.query):
            schema = self.schemas.of(field.annotated)
            schema |= {} if field.default is None else {"default": field.default}
            description = {"description": f"{str(field.meta.description).capitalize()}.", "schema": schema}
            yield (
                {"name": field.name, "in": "query", "required": field.is_required}
                | description
                | _shown(values, field.name)
            )

    def _security(self, declared: Operation) -> list[dict[str, list[str]]]:
        schemes = _SECURITY[declared.credentials]
        if declared.credentials in _TWO_SCHEMES and self.unknowns["access_scheme"] == "either":
            schemes = [scheme for kind in _TWO_SCHEMES for scheme in _SECURITY[kind]]
        is_off = schemes != _SECURITY[Credentials.ACCESS_TOKEN] and self.unknowns["signature"] == "off"
        if schemes and (declared.client_id_alone or is_off):
            schemes = [*schemes, {"X-Client-ID": []}]
        return [*schemes, {}] if schemes and is_off else schemes

    def _responses(self, name: str, declared: Operation) -> dict[str, Any]:
        code, good = declared.code_under(self.unknowns), self._success(declared)
        if self.always_200:
            good = {"anyOf": [good, self.error]}
        content = {declared.media_type: {"schema": good} | _shown(self.answers, name)}
        code = 200 if self.always_200 else code
        return {str(code): {"description": "Success.", "content": content}} | self._refusals()

    def _refusals(self) -> dict[str, Any]:
        if self.always_200:
            return {}
        answer: dict[str, Any] = {"content": {_JSON: {"schema": self.error}}}
        refused = "Refused: the message says why."
        if self.control:
            return {"4XX": {"description": refused} | answer}
        wait = {"description": "Seconds after which to try again.", "schema": {"type": "integer"}}
        answer["headers"] = {"Retry-After": wait}
        return {
            "4XX": {"description": f"{refused} 429: more calls in a minute than the service takes."} | answer,
            "5XX": {"description": "The service failed; the call may have had its effect."} | answer,
        }

    def _success(self, declared: Operation) -> Schema:
        if declared.media_type != _JSON:
            return TEXT | {"format": "binary"}
        if self.control:
            return self.schemas.of(declared.returns)
        data = declared.returns
        if declared.data_of is not None:
            data = declared.data_of[1][self.unknowns[declared.data_of[0]]]
        return self.schemas.envelope(data, declared.code_under(self.unknowns), declared.code_field)

    def webhook(self, event: str, sent: DescribedWebhook) -> dict[str, Any]:
        """The request that the service sends to the merchant's address."""
        switch, minimal, full = sent
        schema, about = self.schemas.of(minimal), inspect.cleandoc(minimal.__doc__ or "")
        if self.unknowns[switch] == "full":
            more = record({"event": TEXT | {"enum": [event]}})
            schema = {"allOf": [schema, self.schemas.of(full), more]}
        return {
            "operationId": f"receive{event.capitalize()}",
            "tags": [_WEBHOOKS],
            "summary": f"The {event} webhook",
            "description": about,
            "security": [],
            "requestBody": {"required": True, "content": {_JSON: {"schema": schema}}},
            "responses": {"2XX": {"description": "Received; any other answer has the webhook sent again."}},
        }


def _shown(examples: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {"example": examples[name]} if name in examples else {}
