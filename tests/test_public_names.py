"""The public surface: exactly these names, and nothing loaded before it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType
from zipfile import PyZipFile

import pytest

import flask_paycheckout
import flask_paycheckout.client
from tests.test_imports import OPTIONAL, imports

NAMES = {
    "Alarm",
    "Amount",
    "AmountRefused",
    "ByHand",
    "CheckoutMixin",
    "ConfigurationError",
    "Described",
    "EventMixin",
    "Explanation",
    "Figures",
    "Host",
    "Line",
    "OrderNotPayable",
    "OrderSettled",
    "Pay",
    "PayCheckout",
    "PayCheckoutError",
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
    "claim_wanted",
    "order_abandoned",
    "order_paid",
    "order_part_paid",
    "order_pending",
    "payment_held",
    "payment_reminder",
    "payment_resolved",
    "payment_reversed",
    "Account",
    # Payouts.
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
    "payout_cancelled",
    "payout_completed",
    "payout_failed",
    "payout_unknown",
    "request_paid",
    "request_reminder",
}


def test_all_is_exactly_what_is_promised() -> None:
    assert sorted(vars(flask_paycheckout)["__all__"]) == sorted(NAMES), "no more, no fewer, each once"


PACKAGES = [flask_paycheckout, flask_paycheckout.client]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_type_checkers_read_the_names_that_programs_import(package: ModuleType) -> None:
    typed = {name.rpartition(".")[2] for name in imports(Path(str(package.__file__))) if name.startswith("flask_pay")}
    assert typed == set(vars(package)["__all__"])


@pytest.mark.slow("programs")
def test_compiled_modules_alone_give_every_name(tmp_path: Path) -> None:
    """The archive of a frozen program has neither sources nor stubs."""
    archive = tmp_path / "program.zip"
    with PyZipFile(str(archive), "w") as packed:
        packed.writepy(str(Path(flask_paycheckout.__file__).parent))
    code = (
        f"import sys; sys.path.insert(0, {str(archive)!r}); "
        "import flask_paycheckout, flask_paycheckout.client as client;"
        "print(flask_paycheckout.__file__);"
        "[getattr(package, name) for package in (flask_paycheckout, client) for name in package.__all__]"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (ran.stdout.strip(), ran.stderr) == (str(archive / "flask_paycheckout" / "__init__.pyc"), "")


OURS = [f"flask_paycheckout.{part}" for part in ("cli.commands", "doctor", "sandbox", "views.owner")]
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


@pytest.mark.slow("programs")
def test_a_web_process_loads_neither_commands_nor_pages_that_it_lacks() -> None:
    code = (
        "import sys; from flask_sqlalchemy import SQLAlchemy; from flask_paycheckout import PayCheckout;"
        "from tests.scripted import make_app; app = make_app(); PayCheckout(app, SQLAlchemy(app));"
        f"print(*[name for name in {[name for name in OURS if 'sandbox' not in name]!r} if name in sys.modules])"
    )
    root = Path(flask_paycheckout.__file__).parent.parent
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == []
