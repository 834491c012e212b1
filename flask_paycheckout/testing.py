"""Pytest fixtures for shops: the whole payments service in process, and what was signalled.

`paycheckout_sandbox` is a `Sandbox`, new in each test; `paycheckout_signals` is `Signals`, what any app signalled
during the test. Loaded by pytest as a plugin; a shop's test of a late payment needs no more than this:

    def test_a_customer_who_pays_late(app, paycheckout_sandbox, paycheckout_signals):
        checkout = paycheckout.start("order-1")
        paycheckout_sandbox.pay(checkout.checkout_id, after_minutes=16)
        paycheckout.reconcile()
        assert paycheckout_signals.names == ["checkout_created", "order_paid"]

`app` is the shop's own fixture. It makes the shop with the sandbox's settings and transport, and leaves an application
context open for the test:

    @pytest.fixture
    def app(paycheckout_sandbox, tmp_path):
        config = paycheckout_sandbox.config | {"TESTING": True, "SQLALCHEMY_DATABASE_URI": f"sqlite:///{tmp_path}/shop.db"}
        # The shop hands the transport on: paycheckout.init_app(app, db, transport=transport)
        app = create_app(config, transport=paycheckout_sandbox.transport)
        with app.app_context():
            db.create_all()
            yield app

No socket is opened. Time runs as on every clock, and `advance` moves it on, for the sandbox and the shop together.
"""

# Pytest imports this module in every test run of every project that has the package installed: it stays cheap.
from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypedDict

import pytest

if TYPE_CHECKING:
    import httpx
    from flask import Flask
    from flask.testing import FlaskClient
    from werkzeug.test import TestResponse

    from flask_paycheckout import CheckoutMixin, PayCheckout
    from flask_paycheckout.checkouts.reconcile import ReconcileReport

__all__ = ["Sandbox", "Signalled", "Signals", "paycheckout_sandbox", "paycheckout_signals"]

_TOKEN = "in-process-control"  # noqa: S105 - guards a sandbox that no socket reaches
_WEBHOOK_URL = "http://localhost/webhook"
_MOST_ROUNDS = 100


# Written as calls, because their keys are those of the sandbox's JSON.
class PaymentStep(TypedDict):
    paymentMethod: str
    deposit: dict[str, Any]


"""What a customer did: the code of the payment method, and the deposit as the service shows it."""


class WebhookAttempt(TypedDict):
    at: str
    request: dict[str, Any]
    answer: dict[str, Any] | None
    error: str | None


"""One try to deliver a webhook; without an answer, `error` says why."""


class SentWebhook(TypedDict):
    id: str
    orderId: str
    state: str
    createdAt: str
    dueAt: str | None
    attempts: list[WebhookAttempt]


"""A webhook with its delivery attempts, the oldest first."""


class Sandbox:
    """The payments service in process.

    :param options: those of `flask_paycheckout.sandbox.create_sandbox`, such as `unknowns={"fiat_list": "array"}`.

    :ivar base_url: for PAYCHECKOUT_BASE_URL.
    :ivar transport: for `init_app(..., transport=...)` and `PaymentsClient(transport=...)`; it brings the sandbox's
        clock along, so that `advance` moves the extension's time too.
    :ivar app: the sandbox itself, a Flask app.
    """

    base_url = "http://127.0.0.1:8790"

    def __init__(self, **options: Any) -> None:
        from flask_paycheckout.client.transport import in_process
        from flask_paycheckout.sandbox import create_sandbox, sandbox_clock

        self.app: Flask = create_sandbox(
            control_token=_TOKEN,
            base_url=self.base_url,
            webhook_url=_WEBHOOK_URL,
            send_webhook=self._send,
            **options,
        )
        self._clock = sandbox_clock(self.app)
        self.transport: httpx.BaseTransport = in_process(self.app, self._clock)
        self._control = self.app.test_client()
        self._shop: Flask | None = None

    @property
    def config(self) -> dict[str, Any]:
        """Settings for the shop's app that fit this sandbox."""
        return {
            "PAYCHECKOUT_BASE_URL": self.base_url,
            "PAYCHECKOUT_CLIENT_ID": "sandbox-client",
            "PAYCHECKOUT_CLIENT_SECRET": "sandbox-secret-0123456789abcdef",
            "PAYCHECKOUT_ACCESS_TOKEN": "sandbox-access-token",
        }

    def pick(self, checkout_id: str, payment_method: str | None = None) -> PaymentStep:
        """The customer picks a payment method: the first enabled one when none is named.

        :returns: `paymentMethod`, its code, and `deposit`, as the service shows it.
        :raises AssertionError: the sandbox refused it, for instance because the page has closed; the text says why.
        """
        return self._deposit(checkout_id, "pick", paymentMethod=payment_method)

    def pay(
        self, checkout_id: str, amount: Decimal | int | str | float | None = None, *, after_minutes: float = 0
    ) -> PaymentStep:
        """The customer pays, exactly what was asked when no amount is named; picks a method first if need be.

        :param amount: in the currency that the customer pays in.
        :param after_minutes: how long the money takes once a method is picked; time moves on for sandbox and shop.
            The page closes after 15 minutes, so 16 is a late payment.
        :returns: `paymentMethod`, its code, and `deposit`, as the service shows it.
        :raises AssertionError: the sandbox refused it; the text says why.
        """
        if after_minutes:
            # Picked already, or not to be picked any more: paying says what is wrong.
            self._ask("POST", f"checkouts/{checkout_id}/pick", {})
            self.advance(after_minutes)
        exact = None if amount is None else Decimal(str(amount))
        return self._deposit(checkout_id, "pay", amount=exact)

    def pay_twice(self, first_id: str, second_id: str) -> tuple[PaymentStep, PaymentStep]:
        """The customer pays two pages of one order, each exactly: the shop is to notice the second payment.

        :returns: for each what `pay` returns.
        :raises AssertionError: the sandbox refused one of them; the text says why.
        """
        return self.pay(first_id), self.pay(second_id)

    def fail(self, checkout_id: str) -> PaymentStep:
        """The bank refuses the payment; picks a method first if need be.

        :returns: `paymentMethod`, its code, and `deposit`, as the service shows it: failed.
        :raises AssertionError: the sandbox refused it, for instance because it is paid; the text says why.
        """
        # Picked already, or not to be picked any more: failing says what is wrong.
        self._ask("POST", f"checkouts/{checkout_id}/pick", {})
        return self._deposit(checkout_id, "fail")

    def abandon(self, checkout_id: str) -> datetime:
        """The customer goes away without picking a method: time moves on until the shop may take that for final.

        That is two minutes after the page's end, unless it has passed already; the next `reconcile` then gives the
        attempt up.

        :returns: the aware UTC time that it is then.
        :raises AssertionError: a method was picked, or there is no such checkout; the text says why.
        """
        self.control("POST", f"checkouts/{checkout_id}/leave")
        return self.advance(minutes=2)

    def reconcile(self, paycheckout: PayCheckout) -> ReconcileReport:
        """Run `paycheckout.reconcile()` until nothing is due and nothing changes. Time does not move.

        :param paycheckout: the shop's extension; needs an application context, as its own `reconcile` does.
        :returns: the sum of all rounds.
        :raises AssertionError: there was no end after 100 rounds; the text holds the last one's report.
        """
        rounds = [paycheckout.reconcile()]
        while any((rounds[-1].checked, rounds[-1].changed, rounds[-1].delivered)):
            if len(rounds) == _MOST_ROUNDS:
                raise AssertionError(f"reconcile finds something to do in each of {_MOST_ROUNDS} rounds: {rounds[-1]}")
            rounds.append(paycheckout.reconcile())
        return sum(rounds[1:], start=rounds[0])

    @property
    def now(self) -> datetime:
        """The aware UTC time of the sandbox and of the shop that got its transport."""
        return self._clock()

    def advance(self, minutes: float = 16, *, seconds: float = 0) -> datetime:
        """Move time on, the sandbox's and the extension's; what falls due in the sandbox happens.

        :returns: the aware UTC time that it is then.
        """
        answer = self.control("POST", "clock", advanceSeconds=minutes * 60 + seconds)
        return datetime.fromisoformat(answer["now"])

    def fault(self, operation: str, kind: str, times: int = 1, **details: Any) -> None:
        """Order a fault, for instance `fault("GET /v1/deposit/{id}", "error", statusCode=500)`.

        :param operation: method and path as the service's interface writes them, or `webhook`.
        :param kind: of operations `error`, `delay`, `drop`, `lose_response` or `garbage`; of the webhook `drop`,
            `duplicate`, `delay`, `reorder` or `before_response`.
        :param times: how many calls it strikes.
        :param details: what the kind takes, such as `statusCode` of an error or `seconds` of a delay.
        :raises AssertionError: there is no such operation or kind; the text names those that there are.
        """
        self.control("POST", "faults", operation=operation, kind=kind, times=times, **details)

    @property
    def webhooks(self) -> list[SentWebhook]:
        """Every webhook with its delivery attempts."""
        listed: list[SentWebhook] = self.control("GET", "webhooks")
        return listed

    def deliver_to(self, client: FlaskClient) -> None:
        """Send webhooks to this shop: those that reached nobody yet, and from now on every one as it happens."""
        self._shop = client.application
        for webhook in self.webhooks:
            if not any(attempt["answer"] for attempt in webhook["attempts"]):
                self.control("POST", f"webhooks/{webhook['id']}/redeliver")

    def control(self, method: str, path: str, **body: Any) -> Any:
        """A call of the control interface, its fields in camelCase or snake_case; those that are None are left out.

        :raises AssertionError: the sandbox refused it; the text says why.
        """
        given = {_camel(name): value for name, value in body.items() if value is not None}
        answer = self._ask(method, path, given)
        if answer.status_code != 200:
            raise AssertionError(f"{method} /_sandbox/{path}: {answer.status_code} {answer.text}")
        return answer.get_json()

    def _ask(self, method: str, path: str, given: dict[str, Any]) -> TestResponse:
        import msgspec

        return self._control.open(
            f"{self.base_url}/_sandbox/{path}",
            method=method,
            headers={"X-Sandbox-Control": _TOKEN},
            # Decimals as exact JSON numbers, which Flask's own encoder would write as strings.
            data=msgspec.json.Encoder(decimal_format="number").encode(given) if method != "GET" else None,
            content_type="application/json",
        )

    def _deposit(self, checkout_id: str, act: str, **body: Any) -> PaymentStep:
        answer: PaymentStep = self.control("POST", f"checkouts/{checkout_id}/{act}", **body)
        return answer

    def _send(self, url: str, headers: dict[str, str], body: bytes) -> int:
        if self._shop is None:
            raise ConnectionRefusedError("no shop listens yet; see deliver_to")
        from flask_paycheckout.views.order_urls import webhook_url

        with self._shop.test_request_context():
            target = webhook_url()
        return self._shop.test_client().post(target, data=body, headers=headers).status_code


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(other.capitalize() for other in others)


@dataclass(frozen=True)
class Signalled:
    """One signal as a receiver got it.

    :ivar name: the signal's, such as `order_paid`.
    :ivar extra: what else it passed, such as the reason of `payment_held`.
    """

    name: str
    order_id: str
    checkout_id: str
    event_id: str
    extra: dict[str, Any]


class Signals(list[Signalled]):
    """What was signalled, in order."""

    @property
    def names(self) -> list[str]:
        """The signals' names, in order."""
        return [signalled.name for signalled in self]


@pytest.fixture
def paycheckout_sandbox() -> Iterator[Sandbox]:
    """A fresh payments service in process."""
    sandbox = Sandbox()
    yield sandbox
    sandbox.transport.close()


@pytest.fixture
def paycheckout_signals() -> Iterator[Signals]:
    """What any app signalled during the test, in order."""
    from flask_paycheckout.signals import BY_NAME

    seen = Signals()

    def recorder(name: str) -> Callable[..., None]:
        def record(app: Flask, *, order_id: str, checkout: CheckoutMixin, event_id: str, **extra: Any) -> None:
            seen.append(Signalled(name, order_id, checkout.checkout_id, event_id, extra))

        return record

    with ExitStack() as connected:
        for name, signal in BY_NAME.items():
            connected.enter_context(signal.connected_to(recorder(name)))
        yield seen
