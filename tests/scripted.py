"""The base of the unit tests: a scripted payments service, a clock, and a small shop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import repeat
from json import loads
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

import httpx
import msgspec
from flask import Flask
from sqlalchemy import Engine, select

from flask_paycheckout import Pay, PayCheckout, Receive
from flask_paycheckout.rounds.reconcile import ReconcileReport
from flask_paycheckout.runtime import KEY, Runtime
from flask_paycheckout.signals import Signal

if TYPE_CHECKING:
    from click.testing import Result
    from flask.testing import FlaskClient

BASE_URL = "https://api.example.com"
CLIENT_SECRET = "canary-secret-77aa"
SAME_SITE = {"Sec-Fetch-Site": "same-origin"}
# A wait that exceeds the time budget of each call: the client gives up at once instead of retrying.
NO_RETRY = {"Retry-After": "3600"}

Answer = bytes | httpx.Response | Exception


class Clock:
    """Time that moves only when a test says so."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **parts: float) -> None:
        self.now += timedelta(**parts)


def success(data: object, status_code: int = 200) -> bytes:
    """The envelope of a successful call."""
    return msgspec.json.encode({"statusCode": status_code, "message": "ok", "data": data})


def refusal(status_code: int, message: str = "No", *, http_status: int | None = None) -> httpx.Response:
    """The envelope of a refused call, with a `Retry-After` that prevents a retry."""
    body = msgspec.json.encode({"statusCode": status_code, "error": "Refused", "message": message})
    return httpx.Response(http_status or status_code, content=body, headers=NO_RETRY)


def garbage(body: bytes = b"<html>502 Bad Gateway</html>", status: int = 502) -> httpx.Response:
    """An answer that is not the envelope."""
    return httpx.Response(status, content=body, headers=NO_RETRY)


def number(text: str | Decimal) -> msgspec.Raw:
    """A JSON number exactly as written."""
    return msgspec.Raw(f"{text:f}".encode() if isinstance(text, Decimal) else text.encode())


class Service:
    """Answers creates with new checkouts, and reads from `deposits`, else with "Deposit not found"."""

    def __init__(self) -> None:
        self.created: list[dict[str, Any]] = []
        self.reads: list[str] = []
        self.deposits: dict[str, Answer] = {}
        #: Answers to the next creates, one after the other, instead of new checkouts.
        self.instead_of_created: list[Answer] = []
        self.page = "https://pay.example/checkout/{id}"
        #: Called while a request is under way, before it is answered.
        self.meanwhile: Callable[[], None] = lambda: None
        self._one_at_a_time = Lock()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        answer = self._create(request) if request.method == "POST" else self._read(request)
        self.meanwhile()
        return given(answer)

    def _create(self, request: httpx.Request) -> Answer:
        with self._one_at_a_time:
            self.created.append(loads(request.content, parse_float=Decimal))
            if self.instead_of_created:
                return self.instead_of_created.pop(0)
            checkout_id = f"chk-{len(self.created)}"
        return success({"id": checkout_id, "url": self.page.format(id=checkout_id)}, 201)

    def _read(self, request: httpx.Request) -> Answer:
        checkout_id = request.url.path.rsplit("/", 1)[1]
        self.reads.append(checkout_id)
        return self.deposits.get(checkout_id, refusal(404, "Deposit not found"))

    def says(self, checkout_id: str, status: str = "pending", **fields: object) -> None:
        """Set the answer to the next reads of a deposit: by default 12.50 USD, the price of the shop's orders."""
        deposit = {
            "depositId": checkout_id,
            "status": status,
            "inputCurrency": "USD",
            "inputAmount": number("12.50"),
            "outputCurrency": "USD",
            "outputAmount": number("12.13"),
        }
        self.deposits[checkout_id] = success(deposit | fields)

    def meets_once(self, act: Callable[[], object]) -> None:
        """Call `act` once, while the next request is under way."""

        def meanwhile() -> None:
            self.meanwhile = lambda: None
            act()

        self.meanwhile = meanwhile

    def fails(self, checkout_id: str, answer: Answer | None = None) -> None:
        self.deposits[checkout_id] = answer or refusal(500, "Internal")


def given(answer: Answer) -> httpx.Response:
    """Make a new response from an answer, which a script may use many times.

    :raises Exception: the answer is an error.
    """
    if isinstance(answer, Exception):
        raise answer
    if isinstance(answer, bytes):
        return httpx.Response(200, content=answer)
    return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


def raising(error: BaseException) -> Callable[..., Any]:
    """A function of the shop that fails."""

    def raises(*anything: object, **more: object) -> Any:
        raise error

    return raises


@dataclass
class Shop:
    """A merchant's app with the orders "o-1" and "o-2" for 12.50 USD each."""

    app: Flask
    db: Any
    paycheckout: PayCheckout
    service: Service
    clock: Clock
    totals: dict[str, Pay | Receive | None] = field(default_factory=dict)

    @property
    def runtime(self) -> Runtime:
        runtime = self.app.extensions[KEY]
        assert isinstance(runtime, Runtime)
        return runtime

    @property
    def calls(self) -> PayCheckout:
        """The extension, each of whose calls runs in an application context of its own."""
        return cast(PayCheckout, _Calls(self))

    @property
    def engine(self) -> Engine:
        return self.runtime.engine()

    @property
    def browser(self) -> FlaskClient:
        return self.app.test_client()

    def account_of(self, name: str) -> str:
        """The merchant account of an order id, or of a payout's reference."""
        account_of = self.runtime.callbacks.account_of
        return "" if account_of is None else str(account_of(name))

    def starts(self, order_id: str = "o-1") -> str:
        """Start a checkout; returns its id."""
        return str(self.calls.start(order_id).checkout_id)

    def has_deposit(self, status: str, order_id: str = "o-1", **fields: object) -> str:
        """Start an order, and set its deposit's answer without reading it; returns the checkout's id."""
        checkout_id = self.starts(order_id)
        self.service.says(checkout_id, status, **fields)
        return checkout_id

    def has_arrived(self, amount: str | Decimal, order_id: str = "o-1", **fields: object) -> str:
        """Start an order for which this amount arrives, without reading it; returns the checkout's id."""
        return self.has_deposit("completed", order_id, inputAmount=number(amount), **fields)

    def settles(self, checkout_id: str, says: str | None = None, **fields: object) -> Any:
        """Settle a checkout; `says` is the deposit's new status, if any."""
        if says is not None:
            self.service.says(checkout_id, says, **fields)
        return self.calls.settle(checkout_id)

    def abandons(self, checkout_id: str) -> Any:
        """Settle a checkout without a payment method: two late reads, a minute apart, find no deposit."""
        self.clock.advance(minutes=17)
        self.settles(checkout_id)
        self.clock.advance(minutes=1)
        abandoned = self.settles(checkout_id)
        assert abandoned.status == "abandoned"
        return abandoned

    def runs(self, *arguments: str, **options: Any) -> Result:
        """Run a command of `flask paycheckout`."""
        return self.app.test_cli_runner().invoke(args=["paycheckout", *arguments], **options)

    def tells(self, *arguments: str) -> Any:
        """The JSON output of a command of `flask paycheckout`."""
        return loads(self.runs(*arguments, "--json").stdout)

    def executes(self, statement: Any, values: Any = None) -> None:
        """Run a statement behind the extension's back."""
        with self.engine.begin() as connection:
            connection.execute(statement, values)

    def changes(self, checkout_id: str, **columns: Any) -> None:
        """Change a stored checkout behind the extension's back."""
        table = self.runtime.models.checkouts
        self.executes(table.update().where(table.c.checkout_id == checkout_id).values(columns))

    def stores_like(self, checkout_id: str, rows: Iterable[dict[str, Any]]) -> None:
        """Store more checkouts, each like this one but for some columns."""
        table = self.runtime.models.checkouts
        with self.engine.begin() as connection:
            like = table.select().where(table.c.checkout_id == checkout_id)
            row = dict(connection.execute(like).mappings().one()) | {"current_order_id": None}
            del row["id"]
            connection.execute(table.insert(), [row | own for own in rows])

    def waits(self, **passed: float) -> None:
        self.clock.advance(**passed)

    def reconciles(self, limit: int | None = None, **passed: float) -> ReconcileReport:
        """Advance the clock, and run a round of reconcile."""
        self.waits(**passed)
        return self.calls.reconcile(limit)

    def resolves(
        self, checkout_id: str, accept: bool, by: str = "Ada", why: str = "seen on the statement", **how: bool
    ) -> Any:
        return self.calls.resolve(checkout_id, accept, by, why, **how)

    def hears_of(self, checkout_id: str) -> int:
        """Send a webhook; returns the status code of the answer."""
        return self.browser.post("/paycheckout/webhook", json={"orderId": checkout_id}).status_code

    def attempt(self, checkout_id: str) -> Any:
        checkout = self.runtime.checkouts.find(checkout_id)
        assert checkout is not None
        return checkout

    def attempts(self, order_id: str = "o-1") -> list[Any]:
        return list(self.runtime.checkouts.of_order(order_id))

    def events(self, name: str | None = None) -> list[Any]:
        model = self.paycheckout.Event
        with self.app.app_context():
            rows = self.db.session.scalars(select(model).order_by(model.id)).all()
            self.db.session.expunge_all()
        return [event for event in rows if name in (None, event.name)]

    def has_paid(self, order_id: str = "o-1") -> str:
        """Start and pay an order; returns the checkout's id."""
        checkout_id = self.has_deposit("completed", order_id)
        assert self.settles(checkout_id).status == "paid"
        return checkout_id

    def has_held(self, order_id: str = "o-1") -> str:
        """Start an order and pay it with the wrong amount; returns the checkout's id."""
        checkout_id = self.has_arrived("1", order_id)
        assert self.settles(checkout_id).status == "held"
        return checkout_id

    def has_rejected(self, order_id: str = "o-1") -> str:
        """Start an order, pay it with the wrong amount, and reject the payment; returns the checkout's id."""
        checkout_id = self.has_held(order_id)
        self.resolves(checkout_id, accept=False)
        return checkout_id

    def costs(self, amount: str | int | Decimal, order_id: str = "o-1", *, currency: str = "USD", **how: Any) -> None:
        """Set an order's total to a `Pay` with these arguments."""
        self.totals[order_id] = Pay(amount, currency, **how)

    @contextmanager
    def refusing(self, signal: Signal, error: Exception | None = None, times: int | None = None) -> Iterator[None]:
        """Connect an atomic receiver of this signal that fails, `times` times or always, until the block ends."""
        failure = error or RuntimeError("not now")
        failures = repeat(failure) if times is None else repeat(failure, times)

        def refuse(app: Flask, **facts: object) -> None:
            for each in failures:
                raise each

        with signal.connected_to(self.paycheckout.atomic(refuse), sender=self.app):
            yield


class _Calls:
    """The calls of a shop's extension, made outside of requests."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            with self._shop.app.app_context():
                return getattr(self._shop.paycheckout, name)(*arguments, **keywords)

        return call


SETTINGS: dict[str, Any] = {
    "TESTING": True,
    "SECRET_KEY": "unit-secret-key",
    "PAYCHECKOUT_BASE_URL": BASE_URL,
    "PAYCHECKOUT_CLIENT_ID": "shop-1",
    "PAYCHECKOUT_CLIENT_SECRET": CLIENT_SECRET,
    # Off, so that the audit's reads do not mix with a test's own reads.
    "PAYCHECKOUT_AUDIT_MONTHS": False,
}


def make_app(**config: Any) -> Flask:
    """An app with every setting that the extension needs; settings with the value None are left out."""
    app = Flask("shop")
    settings = {"SQLALCHEMY_DATABASE_URI": "sqlite://"} | SETTINGS | config
    app.config.update({name: value for name, value in settings.items() if value is not None})
    return app
