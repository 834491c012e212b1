"""Pytest fixtures for shops: the whole payments service in process or on a socket, and a recorder of signals.

`paycheckout_sandbox` is a new `Sandbox` in each test, and `paycheckout_sandbox_server` a `Sandbox` that listens on a
port; `paycheckout_signals` is the list `Signals` of all signals that any app sent during the test. Pytest loads this
module as a plugin. A complete test of a late payment:

    def test_a_customer_who_pays_late(app, paycheckout_sandbox, paycheckout_signals):
        checkout = paycheckout.start("order-1")
        paycheckout_sandbox.pay(checkout.checkout_id, after_minutes=16)
        paycheckout.reconcile()
        assert paycheckout_signals.names == ["checkout_created", "order_paid"]

`app` is the shop's own fixture. It makes the shop with the sandbox's settings and transport, and keeps an application
context open during the test:

    @pytest.fixture
    def app(paycheckout_sandbox, tmp_path):
        config = paycheckout_sandbox.config | {"TESTING": True, "SQLALCHEMY_DATABASE_URI": f"sqlite:///{tmp_path}/shop.db"}
        # The shop's factory passes the transport on: paycheckout.init_app(app, db, transport=transport)
        app = create_app(config, transport=paycheckout_sandbox.transport)
        with app.app_context():
            db.create_all()
            yield app

`paycheckout_sandbox` opens no socket. Sandbox and shop share a clock, which runs normally; `advance` moves it forward.
"""

# This module must be cheap to import, because pytest imports it in every test run of every project that has the
# package installed.
from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import partial
from threading import Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, TypedDict
from urllib.parse import quote, urlencode, urlsplit

try:
    import pytest
except ModuleNotFoundError:
    # Programs use `SandboxControl` without pytest.
    pytest = SimpleNamespace(fixture=lambda function: function)  # type: ignore[assignment]

if TYPE_CHECKING:
    import httpx
    from flask import Flask
    from flask.testing import FlaskClient

    from flask_paycheckout import CheckoutMixin, Pay, PayCheckout, PayoutMixin, Receive, RequestMixin
    from flask_paycheckout.rounds.reconcile import ReconcileReport

__all__ = [
    "RequestLog",
    "RequestedPayout",
    "Sandbox",
    "SandboxAccount",
    "SandboxControl",
    "Signalled",
    "Signals",
    "paycheckout_sandbox",
    "paycheckout_sandbox_server",
    "paycheckout_signals",
]

_TOKEN = "in-process-control"  # noqa: S105 - guards a sandbox of this machine, for the time of a test
_WEBHOOK_URL = "http://localhost/webhook"
_MOST_ROUNDS = 100


class PaymentStep(TypedDict):
    """The result of a customer's step: the payment method's code, and the deposit in the service's form."""

    paymentMethod: str
    deposit: dict[str, Any]


class WebhookAttempt(TypedDict):
    """One attempt to deliver a webhook; without an answer, `error` has the reason."""

    at: str
    request: dict[str, Any]
    answer: dict[str, Any] | None
    error: str | None


class SentWebhook(TypedDict):
    """A webhook with its delivery attempts, oldest first."""

    id: str
    account: str
    orderId: str
    state: str
    createdAt: str
    dueAt: str | None
    attempts: list[WebhookAttempt]


class LoggedRequest(TypedDict):
    """A request to the service and its answer, with secrets masked; `status` is None if there was no answer."""

    at: str
    method: str
    target: str
    account: str | None
    requestBody: str
    status: int | None
    answerBody: str
    fault: str | None


class RequestLog(list[LoggedRequest]):
    """The requests that the service got, oldest first."""

    def expect(self, operation: str, *, times: int | None = None) -> list[LoggedRequest]:
        """The requests of one operation.

        :param operation: method and path, such as `"POST /v2/disbursement/fiat"` or `"GET /v1/deposit/{id}"`.
        :param times: the exact number of requests; by default one or more.
        :raises AssertionError: there are more or fewer requests; the text lists all requests.
        """
        method, _, path = operation.partition(" ")
        shape = re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)))
        calls = [
            request
            for request in self
            if request["method"] == method and shape.fullmatch(request["target"].partition("?")[0])
        ]
        if len(calls) != times if times is not None else not calls:
            expected = "any" if times is None else times
            log = ", ".join(f"{each['method']} {each['target']}" for each in self) or "none"
            raise AssertionError(f"expected {expected} of {operation}, and there were {len(calls)}; requests: {log}")
        return calls


@dataclass(frozen=True, kw_only=True)
class RequestedPayout:
    """A payout in the service: a bank transfer, or a transfer of tokens."""

    reference: str | None
    """The reference in the shop's call."""

    amount: Decimal
    currency: str
    """The amount's currency code, or the id of the token."""

    to: str
    """The id of a recipient of the service, the account number of a bank account, or the address of a wallet."""

    status: str
    """`pending`, `completed` or `failed`."""

    disbursement_id: str


@dataclass(frozen=True, kw_only=True)
class SandboxAccount:
    """A merchant account of the sandbox, which sees nothing of other accounts."""

    name: str
    client_id: str
    client_secret: str = field(repr=False)
    access_token: str = field(repr=False)
    _sandbox: SandboxControl = field(repr=False, compare=False)

    @property
    def config(self) -> dict[str, Any]:
        """The settings with which a shop's app uses this account."""
        return {
            "PAYCHECKOUT_BASE_URL": self._sandbox.base_url,
            "PAYCHECKOUT_CLIENT_ID": self.client_id,
            "PAYCHECKOUT_CLIENT_SECRET": self.client_secret,
            "PAYCHECKOUT_ACCESS_TOKEN": self.access_token,
        }

    @property
    def payouts(self) -> list[RequestedPayout]:
        """The payouts that this account requested from the service, oldest first."""
        return self._sandbox._payouts(f"disbursements?account={self.name}")


class SandboxControl:
    """The control interface of a sandbox that runs as a separate program, on this machine or another one.

    :param base_url: the sandbox's address; a world's address ends with `/w/` and its name.
    :param control_token: the sandbox's control token, which it also prints at its start.
    """

    def __init__(self, base_url: str, control_token: str) -> None:
        self.base_url = base_url.rstrip("/")
        """The value for PAYCHECKOUT_BASE_URL."""
        self._token = control_token
        # Where webhooks of new accounts go; None for nowhere, until `deliver_to`.
        self._webhook_url: str | None = None

    @property
    def config(self) -> dict[str, Any]:
        """The settings with which a shop's app uses this sandbox."""
        return self.account("default").config

    def account(self, name: str) -> SandboxAccount:
        """A merchant account by its name; it is created by the first call.

        It has its own credentials, recipients and payment methods. Its webhooks reach the shop of `deliver_to`.

        :param name: 1 to 40 letters, digits, dots, hyphens and underscores of ASCII; `default` is the account of
            `config`.
        :raises AssertionError: the account cannot be created; the text says why.
        """
        status, answer = self._ask("GET", f"accounts/{quote(str(name), safe='')}", {})
        if status == 200:
            account = json.loads(answer)
        else:
            account = self.control("POST", "accounts", name=name, webhook_url=self._webhook_url)
        return SandboxAccount(
            name=account["name"],
            client_id=account["clientId"],
            client_secret=account["clientSecret"],
            access_token=account["accessToken"],
            _sandbox=self,
        )

    def pick(self, checkout_id: str, payment_method: str | None = None) -> PaymentStep:
        """Pick a payment method as the customer, by default the first enabled one.

        :returns: `paymentMethod` with its code, and `deposit` in the service's form.
        :raises AssertionError: the sandbox refused it, for instance because the page has closed; the text says why.
        """
        return self._deposit(checkout_id, "pick", paymentMethod=payment_method)

    def pay(
        self, checkout_id: str, amount: Decimal | int | str | float | None = None, *, after_minutes: Decimal | float = 0
    ) -> PaymentStep:
        """Pay as the customer, by default the exact amount; if no payment method was picked, pick one first.

        :param amount: the amount, in the currency in which the customer pays.
        :param after_minutes: the time that the money takes after a method is picked; the clock of sandbox and shop
            moves forward by it. The page closes after 15 minutes, so 16 makes a late payment.
        :returns: `paymentMethod` with its code, and `deposit` in the service's form.
        :raises AssertionError: the sandbox refused it; the text says why.
        """
        exact, minutes = None if amount is None else _exact("amount", amount), _exact("after_minutes", after_minutes)
        if minutes:
            # Ignore a refusal: the method may be picked already, and other faults are reported by the payment itself.
            self._ask("POST", _of_checkout(checkout_id, "pick"), {})
            self.advance(minutes)
        return self._deposit(checkout_id, "pay", amount=exact)

    def pay_twice(self, first_id: str, second_id: str) -> tuple[PaymentStep, PaymentStep]:
        """Pay two pages of one order as the customer, each exactly, to test that the shop notices the second payment.

        :returns: the two results of `pay`.
        :raises AssertionError: the sandbox refused a payment; the text says why.
        """
        return self.pay(first_id), self.pay(second_id)

    def pay_part(
        self, paycheckout: PayCheckout, order_id: str, amount: Decimal | int | str | float | None = None
    ) -> CheckoutMixin:
        """Pay a part of an order as its customer, on the page of its pay button, and let the shop read the deposit.

        :param paycheckout: the shop's extension; needs an application context, as its own `start` does.
        :param amount: the amount; by default the amount that the page asks for, such as a deposit.
        :returns: the checkout: `part`, or `paid` if nothing is left to pay.
        """
        checkout_id = paycheckout.start(order_id).checkout_id
        self.pay(checkout_id, amount)
        return paycheckout.settle(checkout_id)

    def pay_rest(self, paycheckout: PayCheckout, order_id: str) -> CheckoutMixin:
        """Pay the rest of an order as its customer, in the instalments that the shop asks for.

        :param paycheckout: the shop's extension; needs an application context, as its own `start` does.
        :returns: the checkout that paid the order, or the first payment that the shop does not accept.
        """
        while True:
            checkout = self.pay_part(paycheckout, order_id)
            if checkout.status != "part":
                return checkout

    def fail(self, checkout_id: str) -> PaymentStep:
        """Refuse the payment as the bank; if no payment method was picked, pick one first.

        :returns: `paymentMethod` with its code, and the failed `deposit` in the service's form.
        :raises AssertionError: the sandbox refused it, for instance because it is paid; the text says why.
        """
        # Ignore a refusal: the method may be picked already, and other faults are reported by the failure itself.
        self._ask("POST", _of_checkout(checkout_id, "pick"), {})
        return self._deposit(checkout_id, "fail")

    def abandon(self, checkout_id: str) -> datetime:
        """Leave the page as the customer, without picking a method, and advance the clock until this is final.

        The clock then shows two minutes after the page's end. Two reads at least a minute apart abandon the checkout:
        call `reconcile`, `advance(minutes=1)` and `reconcile` again.

        :returns: the new time, as aware UTC.
        :raises AssertionError: a method was picked, or there is no such checkout; the text says why.
        """
        self.control("POST", _of_checkout(checkout_id, "leave"))
        return self.advance(minutes=2)

    def request(
        self,
        paycheckout: PayCheckout,
        total: Pay | Receive,
        *,
        title: str = "A payment request",
        **details: Any,
    ) -> RequestMixin:
        """Make and commit a payment request of the shop, which is started and paid like an order, by its `order_id`.

        :param paycheckout: the shop's extension; needs an application context. Other parameters as for its `request`.
        """
        payment_request = paycheckout.request(total, title=title, **details)
        paycheckout.session.commit()
        return payment_request

    def reconcile(self, paycheckout: PayCheckout) -> ReconcileReport:
        """Run `paycheckout.reconcile()` until nothing is due and nothing changes, without moving the clock.

        :param paycheckout: the shop's extension; needs an application context, as its own `reconcile` does.
        :returns: the sum of all rounds.
        :raises AssertionError: 100 rounds were not enough; the text contains the report of the last round.
        """
        from flask_paycheckout.rounds.reconcile import ReconcileReport

        total = ReconcileReport()
        for _ in range(_MOST_ROUNDS):
            last = paycheckout.reconcile()
            total += last
            if not any((last.checked, last.changed, last.delivered, last.payouts.changed)):
                return total
        raise AssertionError(f"reconcile finds something to do in each of {_MOST_ROUNDS} rounds: {last}")

    @property
    def now(self) -> datetime:
        """The current time of the sandbox, and of a shop with its transport, as aware UTC."""
        return datetime.fromisoformat(self.control("GET", "clock")["now"])

    def advance(self, minutes: Decimal | float = 16, *, seconds: Decimal | float = 0) -> datetime:
        """Move the clock of sandbox and shop forward; the sandbox then does everything that has become due.

        :param seconds: more seconds, beside the minutes: `advance(0, seconds=30)` moves the clock by half a minute.
        :returns: the new time, as aware UTC.
        :raises AssertionError: the value is no time, or would set the clock back; the text says why.
        """
        by = _exact("minutes", minutes) * 60 + _exact("seconds", seconds)
        answer = self.control("POST", "clock", advanceSeconds=by)
        return datetime.fromisoformat(answer["now"])

    def fault(self, operation: str, kind: str, times: int = 1, **details: Any) -> None:
        """Plan a fault, for instance `fault("GET /v1/deposit/{id}", "error", statusCode=500)`.

        :param operation: method and path as in the service's interface, or `webhook`.
        :param kind: for operations `error`, `delay`, `drop`, `lose_response` or `garbage`; for webhooks `drop`,
            `duplicate`, `delay`, `reorder` or `before_response`.
        :param times: the number of calls that fail.
        :param details: the kind's own fields, such as `statusCode` of an error or `seconds` of a delay; and `account`,
            the name of the only account whose calls or webhooks fail.
        :raises AssertionError: the operation or kind does not exist; the text lists the existing ones.
        """
        self.control("POST", "faults", operation=operation, kind=kind, times=times, **details)

    def change_unknowns(self, **values: str | None) -> None:
        """Change switches of the sandbox while the test runs: `change_unknowns(webhook_payload="full")`.

        :param values: values by the switches' names; None resets a switch to its value at the start.
        :raises AssertionError: the switch or value does not exist; the text lists the existing ones.
        """
        # `control` would leave out None.
        self._taken("POST", "unknowns", values)

    def snapshot(self) -> bytes:
        """The whole state of the sandbox, with its clock and switches, for `restore`.

        :raises AssertionError: the snapshot would be larger than 32 MiB.
        """
        return self._taken("GET", "snapshot", {})

    def restore(self, snapshot: bytes) -> datetime:
        """Return to the state of a snapshot, of this sandbox or of another one.

        The time of sandbox and shop continues from the snapshot's time. The shop's own database stays unchanged.

        :returns: the new time, as aware UTC.
        :raises AssertionError: the snapshot is damaged, or of another version.
        """
        return datetime.fromisoformat(json.loads(self._taken("POST", "restore", snapshot))["now"])

    @property
    def webhooks(self) -> list[SentWebhook]:
        """All webhooks, each with its delivery attempts."""
        listed: list[SentWebhook] = self.control("GET", "webhooks")
        return listed

    @property
    def requests(self) -> RequestLog:
        """The last 1,000 requests to the service; `requests.expect("POST /v1/checkout", times=1)` checks them."""
        return RequestLog(reversed(self.control("GET", "requests")))

    def deliver_to(self, url: str) -> None:
        """Send all undelivered webhooks of every account to this address now, and every later webhook at once.

        Webhooks that a fault dropped or delays are not sent.
        """
        self._webhook_url = url
        for account in self.control("GET", "accounts"):
            self.control("PUT", f"accounts/{account['name']}/webhook-endpoint", url=url)
        self._deliver()

    def _deliver(self) -> None:
        for webhook in self.webhooks:
            answers = [attempt["answer"] for attempt in webhook["attempts"]]
            # A webhook without attempts was dropped, or is delayed, by a fault of the test.
            if webhook["state"] == "no_endpoint" or (answers and not any(answers)):
                self.control("POST", f"webhooks/{webhook['id']}/redeliver")

    @property
    def payouts(self) -> list[RequestedPayout]:
        """The payouts that all accounts requested from the service, oldest first."""
        return self._payouts("disbursements")

    def _payouts(self, path: str) -> list[RequestedPayout]:
        from flask_paycheckout.sandbox.world.exact_json import read_json

        # `control` would round amounts to floats.
        listed = read_json(self._taken("GET", path, {}))
        names = "reference", "amount", "currency", "to", "status"
        return [
            RequestedPayout(**{name: each[name] for name in names}, disbursement_id=each["disbursementId"])
            for each in listed
        ]

    def finish(
        self, payout: RequestedPayout | PayoutMixin | str, status: Literal["completed", "failed"]
    ) -> RequestedPayout:
        """Complete a pending payout, or make it fail, as the bank or network.

        The service sends a webhook if the switch `disbursement_progress_webhook` is `sent`.

        :param payout: one of `payouts`, a payout of the shop, or the service's reference of either.
        :returns: the payout in its new state.
        :raises AssertionError: there is no such payout, or it is not pending any more; the text says why.
        """
        disbursement_id = self._disbursement_id(payout)
        self.control("POST", f"disbursements/{disbursement_id}/finish", status=status)
        return next(each for each in self.payouts if each.disbursement_id == disbursement_id)

    def _disbursement_id(self, payout: RequestedPayout | PayoutMixin | str) -> str:
        if isinstance(payout, RequestedPayout):
            return payout.disbursement_id
        reference = getattr(payout, "service_reference", payout)
        payouts = self.payouts
        for each in payouts:
            if each.reference == reference:
                return each.disbursement_id
        references = ", ".join(repr(each.reference) for each in payouts) or "none"
        raise AssertionError(f"the service has no payout with the reference {reference!r}; it has these: {references}")

    def control(self, method: str, path: str, **body: Any) -> Any:
        """Call the control interface, with fields in camelCase or snake_case; fields that are None are left out.

        The fields of a GET are its query.

        :raises AssertionError: the sandbox refused it; the text says why.
        """
        from flask_paycheckout.client.bodies import wire_name

        fields = {}
        for name, value in body.items():
            if value is not None:
                # JSON has no NaN or infinity: such a float would be sent as null, which counts as left out.
                fields[wire_name(name)] = _exact(name, value) if isinstance(value, float | Decimal) else value
        if method == "GET":
            path = f"{path}?{urlencode(fields)}".rstrip("?")
        return json.loads(self._taken(method, path, fields))

    def _taken(self, method: str, path: str, content: Mapping[str, Any] | bytes) -> bytes:
        status, answer = self._ask(method, path, content)
        if status not in (200, 201):
            raise AssertionError(f"{method} /_sandbox/{path}: {status} {answer.decode(errors='replace')}")
        return answer

    def _ask(self, method: str, path: str, content: Mapping[str, Any] | bytes) -> tuple[int, bytes]:
        import msgspec

        # Decimals as exact JSON numbers, which Flask's own encoder would write as strings.
        encoder = msgspec.json.Encoder(decimal_format="number")
        encoded = content if isinstance(content, bytes) else encoder.encode(content)
        headers = {"X-Sandbox-Control": self._token, "Content-Type": "application/json"}
        return self._send_control(
            method, f"{self.base_url}/_sandbox/{path}", headers, b"" if method == "GET" else encoded
        )

    def _send_control(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        from flask_paycheckout.sandbox.terminal.connection import send

        target = urlsplit(url)._replace(scheme="", netloc="").geturl()
        return send(url, method, target, headers, body)

    def _deposit(self, checkout_id: str, act: str, **body: Any) -> PaymentStep:
        answer: PaymentStep = self.control("POST", _of_checkout(checkout_id, act), **body)
        return answer


def _of_checkout(checkout_id: str, act: str) -> str:
    return f"checkouts/{quote(str(checkout_id), safe='')}/{act}"


def _exact(field: str, number: object) -> Decimal:
    """A number with all of its digits. :raises AssertionError: the value is no number."""
    try:
        exact = Decimal(str(number))
    except InvalidOperation:
        exact = Decimal("NaN")
    if not exact.is_finite():
        raise AssertionError(f"{field} must be a number, not {number!r}; write it like 12.5; nothing was changed")
    return exact


class Sandbox(SandboxControl):
    """The payments service in process.

    :param base_url: the address of the service.
    :param options: options of `flask_paycheckout.sandbox.create_sandbox`, such as `unknowns={"fiat_list": "array"}`.
    """

    def __init__(self, *, base_url: str = "http://127.0.0.1:8790", **options: Any) -> None:
        from flask_paycheckout.client.transport import InProcess
        from flask_paycheckout.sandbox import create_sandbox, sandbox_clock

        super().__init__(base_url, _TOKEN)
        self._webhook_url = _WEBHOOK_URL
        self.app: Flask = create_sandbox(
            control_token=_TOKEN,
            base_url=base_url,
            webhook_url=_WEBHOOK_URL,
            send_webhook=self._send,
            **options,
        )
        """The sandbox's own Flask app."""

        self._clock = sandbox_clock(self.app)
        in_process = InProcess(self.app, self._clock)
        self.transport: httpx.BaseTransport = in_process
        """The transport for `init_app(..., transport=...)` and `PaymentsClient(transport=...)`.

        It includes the sandbox's clock, so that `advance` moves the extension's time too.
        """

        self.async_transport: httpx.AsyncBaseTransport = in_process
        """The transport for `AsyncPaymentsClient(transport=...)`."""

        self._control = self.app.test_client()
        self._shop: Flask | None = None

    @property
    def now(self) -> datetime:
        """The current time of the sandbox, and of a shop with its transport, as aware UTC."""
        return self._clock()

    def deliver_to(self, client: FlaskClient | str) -> None:
        """Send all undelivered webhooks to this shop now, and every later webhook at once.

        Webhooks that a fault dropped or delays are not sent.

        :param client: the shop's test client; or the address of its webhook, for a shop that listens on a socket.
        """
        if isinstance(client, str):
            self._shop = None
            super().deliver_to(client)
        else:
            self._shop = client.application
            self._deliver()

    def _send_control(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        answer = self._control.open(url, method=method, headers=dict(headers), data=body)
        return answer.status_code, answer.data

    def _send(self, url: str, headers: dict[str, str], body: bytes) -> int:
        if self._shop is None:
            if url == _WEBHOOK_URL:
                raise ConnectionRefusedError("no shop listens yet; see deliver_to")
            from flask_paycheckout.sandbox.outgoing.webhook_sender import post_webhook
            from flask_paycheckout.sandbox.world.reach import EVERYWHERE

            return post_webhook(url, headers, body, EVERYWHERE)
        from flask_paycheckout.views.order_urls import webhook_path, webhook_url

        with self._shop.test_request_context():
            url, path = webhook_url(), webhook_path()
        post = partial(self._shop.test_client().post, data=body, headers=headers)
        # If the shop is below a path, its proxy removes the path, or the shop itself does.
        status = post(path, base_url=url.removesuffix(path)).status_code
        return post(url).status_code if status == 404 else status


@dataclass(frozen=True)
class Signalled:
    """One signal that a receiver got."""

    name: str
    """The signal's name, such as `order_paid`."""

    order_id: str | None
    """None for a payout that belongs to no order."""

    checkout_id: str | None
    """The id of the checkout that changed, or that a refund pays back; None for other payouts, and for the reminder of
    a payment request without a checkout."""

    event_id: str
    extra: dict[str, Any]
    """The signal's further keywords, such as the reason of `payment_held`."""

    reference: str | None = None
    """The shop's reference of the payout that changed; None for a signal about a checkout."""


class Signals(list[Signalled]):
    """The signals that were sent, in order."""

    @property
    def names(self) -> list[str]:
        """The signals' names, in order."""
        return [signalled.name for signalled in self]


@pytest.fixture
def paycheckout_sandbox() -> Sandbox:
    """A new payments service in process."""
    return Sandbox()


@pytest.fixture
def paycheckout_sandbox_server() -> Iterator[Sandbox]:
    """A new payments service that listens on a port of this machine."""
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Quiet(WSGIRequestHandler):
        def log_request(self, *_: object) -> None:
            """Log nothing."""

    # The sandbox's address contains the port, which is known only after the server is made.
    server = make_server("127.0.0.1", 0, lambda *called: sandbox.app(*called), threaded=True, request_handler=Quiet)
    sandbox = Sandbox(base_url=f"http://127.0.0.1:{server.port}")
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield sandbox
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def paycheckout_signals() -> Iterator[Signals]:
    """The signals that any app sent during the test, in order."""
    from flask_paycheckout.signals import BY_NAME

    signals = Signals()

    def recorder(name: str) -> Callable[..., None]:
        def record(
            app: Flask,
            *,
            event_id: str,
            order_id: str | None = None,
            checkout: CheckoutMixin | None = None,
            payout: PayoutMixin | None = None,
            request: RequestMixin | None = None,
            **extra: Any,
        ) -> None:
            order_id = order_id if request is None else request.order_id
            checkout_id = None if checkout is None else checkout.checkout_id
            of, reference = (checkout_id, None) if payout is None else (payout.refund_of, payout.reference)
            signals.append(Signalled(name, order_id, of, event_id, extra, reference))

        return record

    with ExitStack() as stack:
        for name, signal in BY_NAME.items():
            stack.enter_context(signal.connected_to(recorder(name)))
        yield signals
