"""The public surface: exactly these names, and nothing loaded before it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import flask_paycheckout
from tests.test_imports import OPTIONAL

NAMES = {
    "Amount",
    "ByHand",
    "CheckoutMixin",
    "ConfigurationError",
    "EventMixin",
    "Explanation",
    "Host",
    "OrderNotPayable",
    "OrderSettled",
    "Pay",
    "PayCheckout",
    "PayCheckoutError",
    "PaybackRefused",
    "Payment",
    "PaymentFee",
    "Receive",
    "ReceiverFailed",
    "ReconcileReport",
    "SETTINGS",
    "Person",
    "Erased",
    "StartContended",
    "TooManyAttempts",
    "TransitionRefused",
    "UncommittedChanges",
    "UnknownCheckout",
    "UnsafeCheckoutUrl",
    "checkout_created",
    "order_abandoned",
    "order_paid",
    "order_part_paid",
    "order_pending",
    "payment_held",
    "payment_reminder",
    "payment_resolved",
    "Account",
    # Money out.
    "PayoutMixin",
    "RequestMixin",
    "UnknownRequest",
    "PayoutReport",
    "ToBank",
    "ToRecipient",
    "ToWallet",
    "PayoutConflict",
    "UnknownPayout",
    "NothingToRefund",
    "RefundTooLarge",
    "refund_claimed",
    "payout_sent",
    "payout_completed",
    "payout_failed",
    "payout_unknown",
}


def test_all_is_exactly_what_is_promised() -> None:
    assert sorted(vars(flask_paycheckout)["__all__"]) == sorted(NAMES), "no more, no fewer, each once"


OURS = [
    f"flask_paycheckout.{part}"
    for part in (
        "cli.commands",
        "doctor",
        "payouts.sending",
        "books.lists",
        "sandbox",
        "views.owner",
    )
]
#: The modules that the extension itself needs.
NEEDED = {"flask", "sqlalchemy", "flask_paycheckout.extension"}


@pytest.mark.parametrize(
    ("statement", "loaded"),
    [
        ("import flask_paycheckout", set()),
        ("from flask_paycheckout import Pay, Receive", set()),
        ("import flask_paycheckout.client", set()),
        ("from flask_paycheckout.client import PaymentsClient; PaymentsClient('https://api.example.com')", set()),
        ("import flask_paycheckout.testing", set()),
        ("from flask_paycheckout import PayCheckout", NEEDED),
    ],
)
def test_nothing_is_loaded_before_it_is_used(statement: str, loaded: set[str]) -> None:
    code = f"import sys; {statement}; print(*[name for name in {[*OPTIONAL, *OURS, *NEEDED]!r} if name in sys.modules])"
    root = Path(flask_paycheckout.__file__).parent.parent
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=root, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert set(ran.stdout.split()) == loaded


def test_a_web_process_loads_neither_commands_nor_what_works_in_rounds() -> None:
    code = (
        "import sys; from flask_sqlalchemy import SQLAlchemy; from flask_paycheckout import PayCheckout;"
        "from tests.scripted import make_app; app = make_app(); PayCheckout(app, SQLAlchemy(app));"
        f"print(*[name for name in {[name for name in OURS if 'sandbox' not in name]!r} if name in sys.modules])"
    )
    root = Path(flask_paycheckout.__file__).parent.parent
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []
