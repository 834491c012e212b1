"""Actors of the sandbox's tests: a merchant calls the service, a tester controls it, a receiver gets webhooks."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

CLIENT_ID = "sandbox-client"
CLIENT_SECRET = "sandbox-secret-0123456789abcdef"
CONTROL_TOKEN = "levers-0123456789"
ENDPOINT = "http://127.0.0.1:9/paycheckout/webhook"


def signature(method: str, target: str, timestamp: str, body: bytes, secret: str = CLIENT_SECRET) -> str:
    """The signature formula, written independently of the sandbox."""
    text = f"{method}\n{target}\n{timestamp}\n{sha256(body).hexdigest()}"
    return hmac.new(secret.encode(), text.encode(), sha256).hexdigest()


def machine_seconds() -> str:
    return str(int(datetime.now(UTC).timestamp()))


@dataclass
class Answer:
    """An answer of the service, with exact numbers."""

    http_status: int
    body: dict[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def code(self) -> int:
        code = self.body["statusCode"]
        assert isinstance(code, int)
        return code

    @property
    def data(self) -> Any:
        return self.body["data"]

    @property
    def message(self) -> str:
        message = self.body["message"]
        assert isinstance(message, str)
        return message


def exact(text: str | bytes) -> Any:
    """JSON with every number as the decimal it is written as, except whole ones."""
    return json.loads(text, parse_float=Decimal)


class Merchant:
    """Calls the service with signed requests."""

    def __init__(self, app: Flask, secret: str = CLIENT_SECRET, client_id: str = CLIENT_ID) -> None:
        self._http = app.test_client()
        self.secret, self.client_id = secret, client_id

    def calls(
        self, method: str, target: str, body: bytes = b"", timestamp: str | None = None, signed_by: str | None = None
    ) -> Answer:
        response = self.calls_raw(method, target, body, timestamp, signed_by)
        return Answer(response.status_code, exact(response.data), dict(response.headers))

    def calls_raw(
        self, method: str, target: str, body: bytes = b"", timestamp: str | None = None, signed_by: str | None = None
    ) -> TestResponse:
        timestamp = machine_seconds() if timestamp is None else timestamp
        headers = {
            "X-Client-ID": self.client_id,
            "X-Timestamp": timestamp,
            "X-Signature": signed_by or signature(method, target, timestamp, body, self.secret),
        }
        return self._http.open(target, method=method, data=body, headers=headers, content_type="application/json")

    def asks_checkout(self, **fields: Any) -> Answer:
        return self.asks_checkout_raw(json.dumps(fields).encode())

    def asks_checkout_raw(self, body: bytes) -> Answer:
        return self.calls("POST", "/v1/checkout", body)

    def makes_checkout(self, amount: Any = 12.5, currency: str = "USD") -> str:
        answer = self.asks_checkout(inputCurrency=currency, inputAmount=amount)
        assert answer.code == 200, answer
        checkout_id = answer.data["id"]
        assert isinstance(checkout_id, str)
        return checkout_id

    def reads_deposit(self, deposit_id: str) -> Answer:
        return self.calls("GET", f"/v1/deposit/{deposit_id}")

    def forces_status(self, deposit_id: str, status: Any = "completed") -> Answer:
        return self.calls("PATCH", f"/v1/deposit/{deposit_id}", json.dumps({"status": status}).encode())


class Tester:
    """Calls the control interface."""

    __test__ = False  # pytest would take it for a class of tests

    def __init__(self, app: Flask, token: str = CONTROL_TOKEN) -> None:
        self._http = app.test_client()
        self._headers = {"X-Sandbox-Control": token}

    def asks(self, method: str, path: str, body: Any = None, **environ: str) -> Answer:
        response = self._http.open(
            f"/_sandbox/{path}",
            method=method,
            data=None if body is None else json.dumps(body),
            headers=self._headers,
            environ_overrides=environ,
        )
        return Answer(response.status_code, exact(response.data))

    def does(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.asks(method, path, body)
        assert answer.http_status == 200, answer
        return answer.body

    def picks(self, checkout_id: str, method: str | None = None, **more: str) -> dict[str, Any]:
        body = {"paymentMethod": method} if method else {}
        deposit = self.does("POST", f"checkouts/{checkout_id}/pick", body | more)["deposit"]
        assert isinstance(deposit, dict)
        return deposit

    def pays(self, checkout_id: str, amount: Any = None) -> dict[str, Any]:
        body = None if amount is None else {"amount": amount}
        deposit = self.does("POST", f"checkouts/{checkout_id}/pay", body)["deposit"]
        assert isinstance(deposit, dict)
        return deposit

    def advances(self, *, seconds: float = 0, minutes: float = 0, hours: float = 0) -> None:
        self.does("POST", "clock", {"advanceSeconds": seconds + 60 * minutes + 3600 * hours})

    def orders_fault(self, operation: str, kind: str, **more: Any) -> None:
        self.does("POST", "faults", {"operation": operation, "kind": kind} | more)

    def webhooks(self) -> list[dict[str, Any]]:
        webhooks = self.does("GET", "webhooks")
        assert isinstance(webhooks, list)
        return webhooks

    def requests(self) -> list[dict[str, Any]]:
        requests = self.does("GET", "requests")
        assert isinstance(requests, list)
        return requests


class Receiver:
    """Takes webhooks in place of a shop; passed to `create_sandbox` as its sender."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.answers: list[int | OSError] = []
        self.reacts: Callable[[dict[str, Any]], None] = lambda payload: None

    def __call__(self, url: str, headers: dict[str, str], body: bytes) -> int:
        payload = exact(body)
        self.received.append(payload)
        self.reacts(payload)
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, OSError):
            raise answer
        return answer

    @property
    def order_ids(self) -> list[str]:
        return [payload["orderId"] for payload in self.received]
