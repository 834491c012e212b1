"""The one shape of every answer of the service, good or bad, with exact numbers."""

from __future__ import annotations

from datetime import datetime
from http import HTTPStatus
from typing import Any

import msgspec
from flask import Response
from werkzeug.exceptions import HTTPException

from flask_paycheckout.sandbox.world import unknown

# Amounts leave as JSON numbers with every digit they have; a float would round them.
_encoder = msgspec.json.Encoder(decimal_format="number")


class Refusal(Exception):
    """The service says no. What is raised becomes the error envelope."""

    def __init__(self, status_code: int, message: str, error: str | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.message = message
        self.error = error or HTTPStatus(status_code).phrase


def unworded(status_code: int, message: str) -> Refusal:
    """A refusal whose wording the interface does not give: ours is a help for people, and can be switched off."""
    return Refusal(status_code, message if unknown("unspecified_messages") == "worded" else "")


def encode(value: Any) -> bytes:
    return _encoder.encode(value)


def iso(moment: datetime) -> str:
    """`2026-01-01T00:00:00.000Z`, the form timestamps have on the wire."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def success(data: Any, message: str = "Success", status_code: int = 200) -> Response:
    return _answer({"statusCode": status_code, "message": message, "data": data})


def failure(refusal: Refusal) -> Response:
    return _answer({"statusCode": refusal.status_code, "error": refusal.error, "message": refusal.message})


def _answer(body: dict[str, Any]) -> Response:
    status = 200 if unknown("http_status") == "always_200" else body["statusCode"]
    return Response(encode(body), status, content_type="application/json")


def refusal_of(error: HTTPException) -> Refusal:
    """Werkzeug's own refusals (no such path, wrong method, too large), in the service's words."""
    code = error.code or 500
    return unworded(code, error.description or error.name)
