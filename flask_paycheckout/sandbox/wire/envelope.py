"""The one shape of every answer of the service, good or bad, with exact numbers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Generic, TypeVar

import msgspec
from flask import Response
from werkzeug.exceptions import HTTPException

from flask_paycheckout.sandbox.wire.schemas import iso as iso
from flask_paycheckout.sandbox.wire.schemas import to_wire
from flask_paycheckout.sandbox.world.context import assumption

Data = TypeVar("Data")

# Amounts leave as JSON numbers with every digit they have; a float would round them.
_encoder = msgspec.json.Encoder(decimal_format="number")


class Refusal(Exception):
    """The service says no. What is raised becomes the error envelope."""

    def __init__(self, status_code: int, message: str, error: str | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.message = message
        self.error = error or HTTPStatus(status_code).phrase


def unspecified_refusal(status_code: int, message: str) -> Refusal:
    """A refusal whose wording the interface does not give: ours is a help for people, and can be switched off."""
    return Refusal(status_code, message if assumption("unspecified_messages") == "worded" else "")


def encode(value: Any) -> bytes:
    return _encoder.encode(to_wire(value))


class Envelope(Response, Generic[Data]):
    """An answer with `Data` in its envelope; as a view's return type it declares what the operation answers."""


def success(
    data: Data, message: str = "Success", status_code: int = 200, code_field: str = "statusCode"
) -> Envelope[Data]:
    """The success envelope; login and verify-login carry the number under another name."""
    return _answer({code_field: status_code, "message": message, "data": data}, status_code)


def empty_success(message: str) -> Envelope[None]:
    """The success envelope of an operation that answers no data."""
    return _answer({"statusCode": 200, "message": message}, 200)


def failure(refusal: Refusal) -> Envelope[Any]:
    body = {"statusCode": refusal.status_code, "error": refusal.error, "message": refusal.message}
    return _answer(body, refusal.status_code)


def _answer(body: dict[str, Any], status_code: int) -> Envelope[Any]:
    status = 200 if assumption("http_status") == "always_200" else status_code
    return Envelope(encode(body), status, content_type="application/json")


def refusal_from(error: HTTPException) -> Refusal:
    """Werkzeug's own refusals (no such path, wrong method, too large), in the service's words."""
    code = error.code or 500
    return unspecified_refusal(code, error.description or error.name)
