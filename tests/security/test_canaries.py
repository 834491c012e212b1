"""Every secret has a random value; then every operation is made to fail, and all output is searched for them."""

from __future__ import annotations

import logging
import pickle
import secrets
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import text

import flask_paycheckout
from flask_paycheckout import PayCheckout
from flask_paycheckout.client import (
    BankDetails,
    FiatItem,
    NewRecipient,
    PaymentsClient,
    PaymentsError,
    PayoutBank,
)
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.totals import Pay
from tests.client.wire import refusal
from tests.conftest import OpenShop
from tests.scripted import BASE_URL, Shop, make_app
from tests.security.test_terminals import COMMANDS
from tests.views.pages import presses_pay

pytestmark = pytest.mark.filterwarnings(r"ignore:client\.:DeprecationWarning")

#: The folder of the product's frames. Its name alone is ambiguous: the repository's folder has the same name.
PACKAGE = Path(flask_paycheckout.__file__).parent


def canary() -> str:
    return f"cn{secrets.token_hex(10)}"


def digits() -> str:
    # Without a leading zero, and longer than any id, time or amount in the output.
    return str(10**17 + secrets.randbelow(10**17))


@dataclass(frozen=True)
class Canaries:
    """A fresh value for each secret."""

    client_secret: str = field(default_factory=canary)
    access_token: str = field(default_factory=canary)
    webhook_secret: str = field(default_factory=canary)
    secret_key: str = field(default_factory=canary)
    password: str = field(default_factory=canary)
    otp: str = field(default_factory=digits)
    verification_token: str = field(default_factory=canary)
    national_id: str = field(default_factory=digits)
    account_number: str = field(default_factory=digits)
    iban: str = field(default_factory=lambda: f"DE{digits()}")
    page: str = field(default_factory=canary)
    """A part of the payment URL."""


@pytest.fixture
def canaries() -> Canaries:
    return Canaries()


class Everything(logging.Handler):
    """The lines of all loggers at DEBUG, with tracebacks, arguments and extras."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{self.format(record)} {record.args!r}")
        if record.exc_info and record.exc_info[1]:
            self.lines.append(told_by(record.exc_info[1]))

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[Everything]:
    handler, root = Everything(), logging.getLogger()
    names = ("httpx", "httpcore", "sqlalchemy.engine", "werkzeug", "flask_paycheckout", "flask_paycheckout.client")
    for name in ("root", *names):
        caplog.set_level(logging.DEBUG, logger=name)
    root.addHandler(handler)
    yield handler
    root.removeHandler(handler)


def told_by(error: BaseException) -> str:
    """Everything that an error tracker would send: message, pickle, traceback, and the variables of our frames."""
    texts = [repr(error), repr(vars(error)), *traceback.format_exception_only(error), *frames_of(error, set())]
    if isinstance(error, PaymentsError):
        texts.append(pickle.dumps(error).decode("latin-1"))
    return "\n".join(texts)


def frames_of(error: BaseException | None, seen: set[int]) -> Iterator[str]:
    """The variables of our frames, of an error and of all its causes."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield f"{type(error).__name__}: {error}"
    for frame, line in traceback.walk_tb(error.__traceback__):
        if Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
            for name, value in frame.f_locals.items():
                yield f"{frame.f_code.co_qualname}:{line} {name}={printed(value)}"
    yield from frames_of(error.__cause__, seen)
    yield from frames_of(error.__context__, seen)


def printed(value: object) -> str:
    try:
        return repr(value)
    except AttributeError:
        return "half made"


def found_in(canaries: Canaries, text: str) -> list[tuple[str, str]]:
    """The secrets in a text, each with the beginning of its line."""
    return [
        (name, line.split("=")[0][:120])
        for line in text.splitlines()
        for name, secret in vars(canaries).items()
        if secret in line
    ]


Trouble = Callable[[httpx.Request], httpx.Response]


def echo(status: int) -> Trouble:
    """Refuses a request, and repeats all of it in the answer."""

    def answer(request: httpx.Request) -> httpx.Response:
        headers = " ".join(f"{name}: {value}" for name, value in request.headers.items())
        answer_ = refusal(status, headers, f"{request.content.decode()} {headers}")
        return httpx.Response(status, content=answer_, headers={"Retry-After": "3600"})

    return answer


def fails(error: Exception) -> Trouble:
    def answer(request: httpx.Request) -> httpx.Response:
        headers = " ".join(request.headers.values())
        raise type(error)(f"{error} {request.content.decode()} {headers}") from None

    return answer


def repeats(status: int, **headers: str) -> Trouble:
    """Answers with a body that is no envelope and quotes the whole request."""
    return lambda request: httpx.Response(
        status,
        headers=headers,
        stream=httpx.ByteStream(request.content + b" ".join(value for _, value in request.headers.raw)),
    )


TROUBLES: dict[str, Trouble] = {
    "refused": fails(httpx.ConnectError("refused")),
    "garbage": repeats(502, **{"Retry-After": "3600"}),
    "redirect": repeats(307, location="https://elsewhere.example/"),
    "encoded": repeats(200, **{"content-encoding": "gzip"}),
    **{f"echo {status}": echo(status) for status in (401, 404, 500)},
}


def calls_of(client: PaymentsClient, its: Canaries) -> dict[str, Callable[[], object]]:
    """The operations with secrets of their own, and one operation with the credentials alone."""
    bank = BankDetails(
        account_name="A", currency="USD", country="US", account_number=its.account_number, iban_number=its.iban
    )
    payee = PayoutBank(bank_name="B", account_name="A", account_number=its.account_number, bank_code="b")
    item = FiatItem(amount="1", recipient=NewRecipient(bank=payee))
    person: dict[str, Any] = {"name": "A", "email": "a@b.c", "address": "1", "city": "C", "post_code": "2"}
    return {
        "register": lambda: client.auth.register("a@b.c", its.password, "A", national_id=its.national_id),
        "login": lambda: client.auth.login("a@b.c", its.password),
        "verify": lambda: client.auth.verify_login(its.verification_token, its.otp),
        "checkout": lambda: client.checkouts.create(Pay("1", "USD")),
        "fiat": lambda: client.fiat_disbursements.create("USD", [item]),
        "recipient": lambda: client.recipients.create(bank=bank, **person),
    }


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_no_call_of_the_client_shows_what_it_sent(trouble: Trouble, canaries: Canaries, logged: Everything) -> None:
    client = PaymentsClient(
        BASE_URL,
        client_id="c-1",
        client_secret=canaries.client_secret,
        access_token=canaries.access_token,
        retries=0,
        transport=httpx.MockTransport(trouble),
    )
    for name, call in calls_of(client, canaries).items():
        with pytest.raises(PaymentsError) as caught:
            call()
        assert found_in(canaries, told_by(caught.value)) == [], name
    assert found_in(canaries, logged.text + repr(client)) == []


def settings_of(its: Canaries) -> dict[str, Any]:
    return {
        "SECRET_KEY": its.secret_key,
        "PAYCHECKOUT_CLIENT_SECRET": its.client_secret,
        "PAYCHECKOUT_ACCESS_TOKEN": its.access_token,
        "PAYCHECKOUT_WEBHOOK_SECRET": its.webhook_secret,
    }


def sets_up(its: Canaries, name: str, value: object) -> None:
    app = make_app(**settings_of(its) | {f"PAYCHECKOUT_{name}": value})
    PayCheckout(app, SQLAlchemy(app))


WRONG: dict[str, Callable[[Canaries], object]] = {
    "token": lambda its: PaymentsClient(BASE_URL, access_token=f"{its.access_token}\n"),
    "no id": lambda its: PaymentsClient(BASE_URL, client_secret=its.client_secret),
    "surrogate": lambda its: PaymentsClient(BASE_URL).auth.login("a@b.c", f"{its.password}\ud800"),
    "otp": lambda its: PaymentsClient(BASE_URL).auth.verify_login(its.verification_token, 5),  # type: ignore[arg-type]
    "base URL": lambda its: sets_up(its, "BASE_URL", f"https://user:{its.password}@api.example.com"),
    "timeout": lambda its: sets_up(its, "TIMEOUT", -1),
    "client secret": lambda its: sets_up(its, "CLIENT_SECRET", f"{its.client_secret}\n"),
    "webhook secret": lambda its: sets_up(its, "WEBHOOK_SECRET", f"{its.webhook_secret}/"),
}


@pytest.mark.parametrize("use", WRONG.values(), ids=WRONG)
def test_a_wrong_argument_or_setting_beside_a_secret_does_not_show_it(
    use: Callable[[Canaries], object], canaries: Canaries
) -> None:
    with pytest.raises((TypeError, ValueError, ConfigurationError)) as caught:
        use(canaries)
    assert found_in(canaries, told_by(caught.value).encode("utf-8", "replace").decode()) == []


def open_secret_shop(open_shop: OpenShop, its: Canaries) -> Shop:
    shop = open_shop(**settings_of(its), SQLALCHEMY_ECHO=True, PROPAGATE_EXCEPTIONS=False)
    shop.service.page = f"https://pay.example/checkout/{{id}}-{its.page}"
    return shop


@pytest.mark.parametrize("status", [400, 401, 500])
def test_no_page_command_or_log_of_a_shop_shows_a_secret(
    status: int, canaries: Canaries, open_shop: OpenShop, logged: Everything, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = open_secret_shop(open_shop, canaries)
    checkout_id = shop.starts()
    monkeypatch.setattr(type(shop.service), "__call__", lambda service, request: echo(status)(request))
    texts = [repr(shop.paycheckout), repr(shop.runtime), repr(shop.attempts()), repr(shop.events())]
    webhook = f"/paycheckout/webhook/{canaries.webhook_secret}"
    pages = [
        presses_pay(shop, "o-2"),
        shop.browser.post(webhook, json={"orderId": checkout_id}),
        shop.browser.post(webhook, data=b"{"),
    ]
    texts += [f"{page.headers} {page.text}" for page in pages]
    shop.waits(minutes=20)
    with pytest.raises(PaymentsError) as caught:
        shop.settles(checkout_id)
    texts.append(told_by(caught.value))
    results = [shop.runs(*command.split()) for command in (*COMMANDS, "reconcile --json")]
    results.append(shop.runs("login", "--email", "a@b.c", input=f"{canaries.password}\n{canaries.otp}\n"))
    assert [result.exception for result in results if not isinstance(result.exception, SystemExit | None)] == []
    # The URL to register contains the secret; doctor and report are meant to print it.
    texts += [result.output.replace(f"/webhook/{canaries.webhook_secret}", "/webhook/...") for result in results]
    assert found_in(canaries, "\n".join(texts)) == []
    assert "INSERT INTO paycheckout_checkout" in logged.text, "the database's own log was heard"
    # Only the shop's database log at DEBUG shows the rows that are read.
    rows = [line for line in logged.lines if not line.startswith(("Row ", "Col "))]
    assert found_in(canaries, "\n".join(rows)) == []


def test_a_login_that_breaks_off_leaves_no_password_in_its_frames(
    canaries: Canaries, open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(service: object, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("verify-login"):
            raise RuntimeError("a fault of the network library")
        return httpx.Response(200, json={"status": 200, "data": {"verificationToken": canaries.verification_token}})

    shop = open_secret_shop(open_shop, canaries)
    monkeypatch.setattr(type(shop.service), "__call__", answer)
    result = shop.runs("login", "--email", "a@b.c", input=f"{canaries.password}\n{canaries.otp}\n")
    assert isinstance(result.exception, RuntimeError)
    assert found_in(canaries, result.output + told_by(result.exception)) == []


@pytest.mark.parametrize(
    "sabotage",
    [
        "DROP TABLE paycheckout_checkout",
        "CREATE TRIGGER no BEFORE INSERT ON paycheckout_checkout BEGIN SELECT RAISE(ABORT, 'no'); END",
    ],
    ids=["no table", "refused row"],
)
def test_a_database_that_refuses_a_checkout_does_not_show_its_page(
    sabotage: str, canaries: Canaries, open_shop: OpenShop, logged: Everything
) -> None:
    shop = open_secret_shop(open_shop, canaries)
    shop.service.meanwhile = lambda: shop.executes(text(sabotage))
    page = presses_pay(shop)
    assert page.status_code >= 500
    assert found_in(canaries, f"{page.headers} {page.text} {logged.text}") == []
