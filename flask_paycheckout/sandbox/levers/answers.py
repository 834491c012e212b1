"""Answers of the control interface."""

from __future__ import annotations

from typing import Any

from flask import Response

from flask_paycheckout.sandbox.wire.envelope import encode


def answer(body: dict[str, Any] | list[dict[str, Any]], status: int = 200) -> Response:
    return Response(encode(body), status, content_type="application/json")
