"""Random requests to one world: operations and calls as the documents have them, pages and forms, and noise."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from flask import Flask
from werkzeug.datastructures import Headers

from flask_paycheckout.sandbox.auth.start_state import ACCESS_TOKEN
from flask_paycheckout.sandbox.control.hosted_page import _FORM, ACTIONS
from flask_paycheckout.sandbox.wire.callers import form_token
from flask_paycheckout.sandbox.wire.openapi import document
from tests.fuzz.values import HOSTILE, Values
from tests.sandbox.actors import CONTROL_TOKEN, ENDPOINT, Merchant
from tests.sandbox.auth.visitors import EMAIL, PASSWORD
from tests.sandbox.disbursements.payers import BANKS, RECIPIENTS, USDC, WALLET

FORM = "application/x-www-form-urlencoded"
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW")
_FIELDS = ("q", "account", "about", "kind", "before", "after", "status", "path", "order", "state", "to", "method")
_PAGE_FIELDS = (*_FIELDS, "currency", "country", "checkouts", "disbursements", "payments", "done")
_FORM_FIELDS = ("amount", "unit", "operation", "kind", "message", "times", "statusCode", "seconds", "retryAfter", "act")


@dataclass(frozen=True)
class Request:
    """What is sent."""

    part: str
    """`service`, `control`, `pages` or `noise`."""
    method: str
    target: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str | None = None


#: What a request needs to be accepted, by the name of its field.
_USUAL: dict[str, tuple[Any, ...]] = {
    **{
        "currency": ("USD", "EUR", "JPY"),
        "token": (USDC,),
        "walletAddress": (WALLET,),
        "receiverWalletAddress": (WALLET,),
    },
    **{"inputCurrency": ("USD", USDC, "EUR"), "outputCurrency": ("USD", USDC), "country": ("France", "United States")},
    **{"recipientId": tuple(RECIPIENTS.values()), "receiverId": tuple(RECIPIENTS.values()), "id": (RECIPIENTS["USD"],)},
    **{"email": (EMAIL, "new@example.com"), "password": (PASSWORD,), "senderEmail": ("sam@example.com",)},
    **{"bankCode": tuple(BANKS.values()), "accountNumber": ("12345678",), "name": ("default", "anna")},
    **{"account": ("default", "anna"), "paymentMethod": ("us_qr", "us_bank_transfer", "us_usdc_polygon")},
    **{"status": ("completed", "failed", "pending"), "amount": (1, 12.5, 25, 100), "inputAmount": (25, 100)},
    **{"operation": ("POST /v1/checkout", "webhook", "GET /v1/deposit/{id}"), "url": (ENDPOINT,)},
}


class Requests:
    """Draws requests to one sandbox."""

    def __init__(self, app: Flask, chance: random.Random) -> None:
        self.app, self.chance, self.values = app, chance, Values(chance)
        self.merchant = Merchant(app)
        for name, values in _USUAL.items():
            for value in values:
                self.values.learns(name, value)
        with app.test_request_context():
            self._tokens = {"inspector": form_token(), "hosted": form_token(_FORM)}
            self._documents = {"service": document(app), "control": document(app, control=True)}
        self._operations = {
            part: [(path, method) for path, calls in described["paths"].items() for method in calls]
            for part, described in self._documents.items()
        }
        rules = [rule for rule in app.url_map.iter_rules() if not rule.rule.startswith(("/v1", "/v2", "/_sandbox"))]
        self._pages = [(rule.rule, method) for rule in rules for method in sorted(rule.methods or ())]

    def draw(self) -> Request:
        parts: tuple[Callable[[], Request], ...] = (self._service, self._control, self._page, self._noise)
        return self.chance.choices(parts, weights=(4, 3, 4, 1))[0]()

    def _service(self) -> Request:
        method, target, body = self._documented("service")
        return Request("service", method, target, body, self._credentials(method, target, body), "application/json")

    def _credentials(self, method: str, target: str, body: bytes) -> tuple[tuple[str, str], ...]:
        draw = self.chance.random()
        signed = self.merchant.signs(method, target, body) if draw < 0.85 else {}
        token = {"Authorization": f"Bearer {ACCESS_TOKEN}"} if draw > 0.1 else {}
        if draw > 0.97:
            token = {"Authorization": str(self.values.text())}
        return tuple((signed | token).items())

    def _control(self) -> Request:
        method, target, body = self._documented("control")
        token = CONTROL_TOKEN if self.chance.random() < 0.98 else "wrong"
        return Request("control", method, target, body, (("X-Sandbox-Control", token),), "application/json")

    def _documented(self, part: str) -> tuple[str, str, bytes]:
        described = self._documents[part]
        path, method = self.chance.choice(self._operations[part])
        call, schemas = described["paths"][path][method], described["components"]["schemas"]
        query = []
        for parameter in call.get("parameters", ()):
            name = parameter["name"]
            if parameter["in"] == "path":
                path = path.replace(f"{{{name}}}", quote(self._text(self.values.named(name)), safe=""))
            elif parameter["in"] == "query" and (parameter.get("required") or self.chance.random() < 0.3):
                query.append((name, self._text(self.values.of(parameter["schema"], schemas, name))))
        target = f"{path}?{urlencode(query)}" if query else path
        content = call.get("requestBody", {}).get("content", {}).get("application/json")
        if content is None:
            return method.upper(), target, b""
        return method.upper(), target, self._json(self.values.of(content["schema"], schemas))

    def _json(self, value: Any) -> bytes:
        draw = self.chance.random()
        body = json.dumps(value, ensure_ascii=draw < 0.5).encode("utf-8", "surrogatepass")
        if draw > 0.98:
            place = self.chance.randrange(len(body) + 1)
            return body[:place] + bytes(self.chance.choices(range(256), k=3)) + body[place:]
        return body

    def _page(self) -> Request:
        path, method = self.chance.choice(self._pages)
        path = re.sub(r"<(?:[^<>:]*:)?(\w+)>", lambda found: self._variable(found[1]), path)
        fields = {name: self._text(self._field(name)) for name in _PAGE_FIELDS if self.chance.random() < 0.15}
        target = f"{path}?{urlencode(fields)}" if fields else path
        if method != "POST":
            return Request("pages", method, target)
        form = {name: self._text(self._field(name)) for name in _FORM_FIELDS if self.chance.random() < 0.6}
        form["token"] = self._tokens["hosted" if path.startswith("/checkout") else "inspector"]
        if self.chance.random() < 0.3:
            form["act"] = self.chance.choice(sorted(ACTIONS))
        return Request("pages", "POST", target, urlencode(form).encode(), content_type=FORM)

    def _variable(self, name: str) -> str:
        if name == "number":
            return str(self.chance.choice((1, 2, 77, 2**31 - 1, 2**31, 10**40)))
        return quote(self._text(self.values.named(name)), safe="")

    def _field(self, name: str) -> Any:
        draw = self.chance.random()
        if name == "before" and draw < 0.5:
            numbers = [
                str(self.chance.choice((0, 1, 5, 50, 10**10, 10**20))) for _ in range(self.chance.choice((1, 2, 6)))
            ]
            return "-".join(numbers)
        if name == "q" and draw < 0.4:
            amount = self.chance.choice(("12.5", "0", "1,000.00", "9" * 31, "5.5 USD", "1 " + "x" * 60))
            return self.chance.choice((amount, "5a6d00", "merchant@example.com", "a", *self.values.ids[-3:]))
        choices = {"kind": "error drop delay garbage call move mail", "unit": "seconds days", "account": "default anna"}
        if name in choices and draw < 0.6:
            return self.chance.choice(choices[name].split())
        return self.values.named(name)

    def _noise(self) -> Request:
        """Any method on any path, with odd headers and bodies."""
        known = self.chance.choice([path for each in self._operations.values() for path, _ in each])
        start = self.chance.choice(
            ("/", "/v1/", "/%2fv1/", "/v2//", "/_sandbox/", "/inspector/", "/checkout/", "/%2f", known)
        )
        target = start + self.chance.choice(
            ("", "/", "%00", "%ff", "..", "a" * 3000, quote(self.values.text()), "?%ff&&=", "?a=%00")
        )
        odd = Headers()
        for name in ("Origin", "Accept", "Content-Length", "X-Timestamp", "Authorization", "Cookie", "Range", "Expect"):
            if self.chance.random() < 0.15:
                value = str(self.chance.choice(HOSTILE))
                odd[name] = "".join(one for one in value if one.isascii() and one.isprintable()) or "x"
        odd.pop("Content-Length", None)
        body = bytes(self.chance.choices(range(256), k=self.chance.choice((0, 1, 20, 500))))
        content_type = self.chance.choice(
            ("application/json", FORM, "multipart/form-data; boundary=x", "text/plain", "")
        )
        method = self.chance.choice(_METHODS)
        return Request("noise", method, target, body, tuple(odd.items()), content_type)

    def _text(self, value: Any) -> str:
        text = value if isinstance(value, str) else json.dumps(value)
        return text.encode("utf-8", "replace").decode()
