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

import msgspec
from flask import Flask
from werkzeug.test import TestResponse

from flask_paycheckout.sandbox.world.context import world

CLIENT_ID = "sandbox-client"
CLIENT_SECRET = "sandbox-secret-0123456789abcdef"
CONTROL_TOKEN = "levers-0123456789"
ENDPOINT = "http://127.0.0.1:9/paycheckout/webhook"
#: The webhook address of a further account.
ACCOUNTS_URL = "http://127.0.0.1:9/anna/webhook"


def signature(method: str, target: str, timestamp: str, body: bytes, secret: str = CLIENT_SECRET) -> str:
    """The signature formula, written independently of the sandbox."""
    text = f"{method}\n{target}\n{timestamp}\n{sha256(body).hexdigest()}"
    return hmac.new(secret.encode(), text.encode(), sha256).hexdigest()


def machine_seconds(app: Flask | None = None) -> str:
    """The current Unix time; for a sandbox in this process, by its machine clock, which a test may have set."""
    now = world(app).clock.machine() if isinstance(app, Flask) else datetime.now(UTC)
    return str(int(now.timestamp()))


@dataclass
class Answer:
    """An answer of the service, with exact numbers."""

    http_status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def code(self) -> int:
        return int(self.body["statusCode"])

    @property
    def data(self) -> Any:
        return self.body["data"]

    @property
    def message(self) -> str:
        return str(self.body["message"])


def without_gaps(body: dict[str, Any]) -> dict[str, Any]:
    """The fields, without those that are `...`."""
    return {name: value for name, value in body.items() if value is not ...}


def exact(text: str | bytes) -> Any:
    """Parse JSON; every number with a point becomes a decimal with all its digits."""
    return json.loads(text, parse_float=Decimal)


def call(
    app: Flask, method: str, target: str, body: Any = None, headers: dict[str, str] | None = None, **environ: str
) -> Answer:
    """Make one call; a body that is not bytes is sent as JSON, with decimals as numbers."""
    response = app.test_client().open(
        target,
        method=method,
        data=_written(body),
        headers=headers,
        content_type="application/json",
        environ_overrides=environ,
    )
    return Answer(response.status_code, exact(response.data), dict(response.headers))


_JSON = msgspec.json.Encoder(decimal_format="number")


def _written(body: Any) -> bytes:
    if isinstance(body, bytes):
        return body
    return b"" if body is None else _JSON.encode(body)


class Merchant:
    """Calls the service with signed requests."""

    def __init__(self, app: Flask, secret: str = CLIENT_SECRET, client_id: str = CLIENT_ID) -> None:
        self.app, self.secret, self.client_id = app, secret, client_id

    def signs(
        self, method: str, target: str, body: bytes = b"", timestamp: str | None = None, signed_by: str | None = None
    ) -> dict[str, str]:
        """The headers of a call."""
        timestamp = machine_seconds(self.app) if timestamp is None else timestamp
        signed_by = signed_by or signature(method, target, timestamp, body, self.secret)
        return {"X-Client-ID": self.client_id, "X-Timestamp": timestamp, "X-Signature": signed_by}

    def calls(
        self, method: str, target: str, body: Any = None, timestamp: str | None = None, signed_by: str | None = None
    ) -> Answer:
        headers = self.signs(method, target, _written(body), timestamp, signed_by)
        return call(self.app, method, target, body, headers)

    def gets(self, target: str) -> TestResponse:
        """Send a GET; the answer need not be JSON."""
        return self.app.test_client().get(target, headers=self.signs("GET", target))

    def asks_checkout(self, **fields: Any) -> Answer:
        """Create a checkout, by default for five dollars."""
        return self.calls("POST", "/v1/checkout", fields or {"inputCurrency": "USD", "inputAmount": 5})

    def asks_checkout_raw(self, body: bytes) -> Answer:
        return self.calls("POST", "/v1/checkout", body)

    def makes_checkout(self, amount: Any = 12.5, currency: str = "USD") -> str:
        return str(self.asks_checkout(inputCurrency=currency, inputAmount=amount).data["id"])

    def reads_deposit(self, deposit_id: str) -> Answer:
        return self.calls("GET", f"/v1/deposit/{deposit_id}")

    def forces_status(self, deposit_id: str, status: Any = "completed") -> Answer:
        return self.calls("PATCH", f"/v1/deposit/{deposit_id}", {"status": status})


class Tester:
    """Calls the control interface."""

    __test__ = False  # pytest would collect it as a class of tests

    def __init__(self, app: Flask, token: str = CONTROL_TOKEN) -> None:
        self._app, self._headers = app, {"X-Sandbox-Control": token}

    def asks(self, method: str, path: str, body: Any = None, **environ: str) -> Answer:
        return call(self._app, method, f"/_sandbox/{path}", body, self._headers, **environ)

    def does(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.asks(method, path, body)
        assert answer.http_status == 200, answer
        return answer.body

    def refuses(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """The HTTP status of a refusal, and the field that it names."""
        answer = self.asks(method, path, body)
        return answer.http_status, answer.body["error"]["field"]

    def picks(self, checkout_id: str, method: str | None = None, **more: str) -> Any:
        body = {"paymentMethod": method} if method else {}
        return self.does("POST", f"checkouts/{checkout_id}/pick", body | more)["deposit"]

    def pays(self, checkout_id: str, amount: Any = None) -> Any:
        body = None if amount is None else {"amount": amount}
        return self.does("POST", f"checkouts/{checkout_id}/pay", body)["deposit"]

    def advances(self, *, seconds: float = 0, minutes: float = 0, hours: float = 0) -> None:
        self.does("POST", "clock", {"advanceSeconds": seconds + 60 * minutes + 3600 * hours})

    def offset(self) -> float:
        """The seconds by which the clock is ahead of the machine's."""
        return float(self.does("GET", "clock")["offsetSeconds"])

    def orders_fault(self, operation: str, kind: str, **more: Any) -> None:
        self.does("POST", "faults", {"operation": operation, "kind": kind} | more)

    def makes_account(self, name: str, **fields: Any) -> Any:
        return self.does("POST", "accounts", {"name": name} | fields)

    def webhooks(self) -> Any:
        return self.does("GET", "webhooks")

    def requests(self) -> Any:
        return self.does("GET", "requests")


class Receiver:
    """Takes webhooks in place of a shop; passed to `create_sandbox` as its sender."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.urls: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[int | OSError] = []
        self.reacts: Callable[[dict[str, Any]], object] = lambda payload: None

    def __call__(self, url: str, headers: dict[str, str], body: bytes) -> int:
        payload = exact(body)
        self.received.append(payload)
        self.urls.append(url)
        self.headers.append(headers)
        self.reacts(payload)
        answer = self.answers.pop(0) if self.answers else 200
        if isinstance(answer, OSError):
            raise answer
        return answer

    @property
    def order_ids(self) -> list[str]:
        return [payload["orderId"] for payload in self.received]
