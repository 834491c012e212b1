"""The envelope of answers, of success and of error, with exact numbers."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Generic, TypeVar

import msgspec
from flask import Response
from werkzeug.exceptions import HTTPException

from flask_paycheckout.sandbox.wire.schemas import iso as iso, to_wire
from flask_paycheckout.sandbox.world.context import assumption

Data = TypeVar("Data")

# Decimals become JSON numbers with all of their digits; floats would round them.
_encoder = msgspec.json.Encoder(decimal_format="number")


class Refusal(Exception):
    """A refusal of the service, which becomes the error envelope."""

    def __init__(self, status_code: int, message: str, error: str | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.message = message
        self.error = error or HTTPStatus(status_code).phrase


def unspecified_refusal(status_code: int | str, message: str) -> Refusal:
    """A refusal whose message the interface does not show; the unknown `unspecified_messages` can empty ours.

    :param status_code: the code, or the unknown whose value it is.
    """
    return Refusal(_code(status_code), message if assumption("unspecified_messages") == "worded" else "")


def encode(value: Any) -> bytes:
    return _encoder.encode(to_wire(value))


class Envelope(Response, Generic[Data]):
    """An answer with `Data` in its envelope. As the return type of a view it declares the operation's answer."""


def success(
    data: Data, message: str = "Success", status_code: int | str = 200, code_field: str = "statusCode"
) -> Envelope[Data]:
    """The success envelope.

    :param status_code: the code, or the unknown whose value it is.
    :param code_field: its name, which is `status` in the answers of login and verify-login.
    """
    code = _code(status_code)
    return _answer({code_field: code, "message": message, "data": data}, code)


def _code(code: int | str) -> int:
    return int(assumption(code)) if isinstance(code, str) else code


def empty_success(message: str) -> Envelope[None]:
    """The success envelope of an operation without data."""
    return _answer({"statusCode": 200, "message": message}, 200)


def failure(refusal: Refusal) -> Envelope[Any]:
    body = {"statusCode": refusal.status_code, "error": refusal.error, "message": refusal.message}
    return _answer(body, refusal.status_code)


def _answer(body: dict[str, Any], status_code: int) -> Envelope[Any]:
    status = 200 if assumption("http_status") == "always_200" else status_code
    return Envelope(encode(body), status, content_type="application/json")


def refusal_from(error: HTTPException) -> Refusal:
    """Convert an error of Werkzeug, such as an unknown path, to a refusal of the service."""
    code = error.code or 500
    return unspecified_refusal(code, error.description or error.name)
