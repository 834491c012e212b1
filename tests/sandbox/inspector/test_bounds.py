"""However much has happened, a page stays small, and the rest is a link away."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.checkouts.tables import Checkout
from flask_paycheckout.sandbox.deposits.tables import Deposit, DepositActivity
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.outgoing.faults import Fault
from flask_paycheckout.sandbox.outgoing.mails import store_mail
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, WebhookAttempt
from flask_paycheckout.sandbox.payments.tables import Payment, PaymentActivity
from flask_paycheckout.sandbox.wire.request_log import LoggedRequest
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from tests.sandbox.actors import CONTROL_TOKEN
from tests.sandbox.inspector.developer import Developer

pytestmark = pytest.mark.slow("tables of thousands of rows")

MANY = 1000
#: Bytes that no page exceeds.
MOST_BYTES = 150_000
ONE = f"{7:024x}"


@pytest.fixture(scope="module")
def full_world() -> Flask:
    """A thousand of everything, and a thousand things that happened to one of each. These tests only look."""
    sandbox = create_sandbox(control_token=CONTROL_TOKEN, seed=1)
    with sandbox.app_context(), transaction() as session:
        now = world().clock.now()
        for place in range(MANY):
            row_id, at = f"{place:024x}", now + timedelta(seconds=place)
            session.add_all((_checkout(row_id, at), _disbursement(row_id, at), _request(at), _webhook(row_id, at)))
            session.add(_payment(row_id, at))
            session.add(Fault(operation="POST /v1/checkout", kind="drop", remaining=1))
            store_mail(session, f"p{place}@example.com", "Subject " * 50, "x" * 5000, "123456")
        session.flush()
        session.add(_deposit(now))
        session.flush()
        for _ in range(MANY):
            activity = {"activity": "Forced", "description": "d" * 200, "status": "s" * 40, "updated_at": now}
            session.add(DepositActivity(deposit_id=ONE, **activity))
            moved = {"activity": "a" * 80, "description": "d" * 200, "status": "pending", "updated_at": now}
            session.add(PaymentActivity(id=ONE, payment_id=ONE, **moved))
            session.add(WebhookAttempt(webhook_id=ONE, url="http://x/" + "y" * 1900, sent_at=now, answer_status=200))
    return sandbox


def _checkout(row_id: str, at: object) -> Checkout:
    times = {"created_at": at, "expires_at": at, "picked_at": None}
    money = {"input_currency": "USD", "output_currency": "USD", "input_amount": Decimal(5), "output_amount": None}
    return Checkout(id=row_id, user_id=USER_ID, rate=Decimal(1), **money, **times)


def _disbursement(row_id: str, at: object) -> Disbursement:
    money = {"currency": "USD", "amount": Decimal(5), "fee_amount": Decimal(0), "fee_percentage": Decimal(0)}
    texts = {"reference": row_id + "r" * 170, "note": "n" * 500, "status": "pending"}
    return Disbursement(id=row_id, kind="fiat", user_id=USER_ID, **money, **texts, created_at=at, updated_at=at)


def _payment(row_id: str, at: object) -> Payment:
    names = ("organization_id", "sender_id", "receiver_id", "transaction_hash", "status")
    long = ("organization_name", "sender_name", "sender_email", "receiver_name", "receiver_email", "bank_name")
    texts = dict.fromkeys(names, "completed") | dict.fromkeys(long, "n" * 200)
    texts |= dict.fromkeys(("reason", "description"), "t" * 500) | dict.fromkeys(("text_key", "receiver_key"), "k")
    wallets = dict.fromkeys(("wallet_address", "payout_wallet"), "w" * 100) | {"blockchain": "polygon"}
    money = dict.fromkeys(("input_amount", "exchange_fees", "platform_fees", "output_amount"), Decimal(5))
    money |= {"output_amount_exact": Decimal(5)}
    words = {"input_currency": "usdc-polygon", "output_currency": "USD", "input_key": "5", "output_key": "5"}
    times = dict.fromkeys(("created_at", "updated_at", "expired_at"), at)
    return Payment(id=row_id, user_id=USER_ID, cents=500, **money, **words, **texts, **wallets, **times)


def _request(at: object) -> LoggedRequest:
    texts = {"target": f"/v1/deposit/{ONE}?{'q' * 3900}", "request_body": "b" * 4000, "answer_body": "a" * 4000}
    return LoggedRequest(at=at, method="GET", client_id="c" * 4000, status=200, **texts)


def _webhook(row_id: str, at: object) -> Webhook:
    counts = {"copies": 1, "held": False, "attempts": 1}
    payload = '"' + "p" * 5000 + '"'
    return Webhook(id=row_id, order_id=row_id, payload=payload, state="delivered", created_at=at, due_at=at, **counts)


def _deposit(now: object) -> Deposit:
    money = {name: Decimal(1) for name in ("input_amount", "output_amount", "fee_amount", "fee_percentage", "rate")}
    texts = {"method": "us_qr", "input_currency": "USD", "output_currency": "USD", "status": "completed"}
    times = dict.fromkeys(("created_at", "updated_at", "expired_at"), now)
    return Deposit(id=ONE, user_id=USER_ID, **money, **texts, **times)


def test_pages_stay_below_a_bound_with_a_thousand_of_everything(full_world: Flask) -> None:
    developer = Developer(full_world)
    names = ("requests", "mails", "webhooks", "levers", "unknowns", "reset", f"webhooks?order={ONE}", "requests/1")
    paths = ("/", *(f"/inspector/{name}" for name in names))
    details = tuple(f"/inspector/{name}/{ONE}" for name in ("checkouts", "disbursements", "payments"))
    sizes = {path: len(developer.opens(path).encode()) for path in (*paths, *details)}
    assert {path: size for path, size in sizes.items() if size > MOST_BYTES} == {}


@pytest.mark.parametrize(
    ("page", "row", "count"),
    [
        ("/", r'href="/inspector/checkouts/', 25),
        ("/", r'href="/inspector/disbursements/', 25),
        ("/", r'href="/inspector/payments/', 25),
        ("/inspector/requests", r'href="/inspector/requests/\d', 50),
        ("/inspector/mails", r'<article class="mail">', 25),
        ("/inspector/webhooks", "Send again", 50),
    ],
)
def test_a_page_shows_its_newest_rows_only(full_world: Flask, page: str, row: str, count: int) -> None:
    assert len(re.findall(row, Developer(full_world).opens(page))) == count


@pytest.mark.parametrize(
    ("page", "words", "row"),
    [
        ("/", "Older checkouts", r'href="/inspector/checkouts/(\w+)"'),
        ("/", "Older disbursements", r'href="/inspector/disbursements/(\w+)"'),
        ("/", "Older payments", r'href="/inspector/payments/(\w+)"'),
        ("/inspector/requests", "Older requests", r'href="/inspector/requests/(\d+)"'),
        ("/inspector/mails", "Older mails", r"(p\d+@example.com)</a>"),
    ],
)
def test_older_rows_are_a_link_away(full_world: Flask, page: str, words: str, row: str) -> None:
    developer = Developer(full_world)
    first = developer.opens(page)
    link = re.findall(rf'href="([^"]+)">{words}', first)[0].replace("&amp;", "&")
    older = re.findall(row, developer.opens(link))
    assert len(older) == len(re.findall(row, first))
    assert not set(older) & set(re.findall(row, first))


def test_faults_beyond_the_listed_ones_are_counted(full_world: Flask) -> None:
    assert "And 950 more." in Developer(full_world).reads("/inspector/levers")
