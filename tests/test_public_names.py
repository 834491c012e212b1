"""The public surface: exactly these names, and nothing loaded before it is used."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType

import pytest

import flask_paycheckout

NAMES = {
    "Amount",
    "CheckoutMixin",
    "ConfigurationError",
    "EventMixin",
    "Explanation",
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
    "StartContended",
    "TooManyAttempts",
    "TransitionRefused",
    "UncommittedChanges",
    "UnknownCheckout",
    "UnsafeCheckoutUrl",
    "checkout_created",
    "order_abandoned",
    "order_paid",
    "order_pending",
    "payment_held",
    "payment_resolved",
}


def test_all_is_exactly_what_is_promised() -> None:
    assert set(flask_paycheckout.__all__) == NAMES
    assert len(flask_paycheckout.__all__) == len(NAMES)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Checkouts'"):
        _ = flask_paycheckout.Checkouts  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", ["client", "sandbox", "testing"])
def test_every_name_of_the_public_modules_is_importable(module: str) -> None:
    loaded = importlib.import_module(f"flask_paycheckout.{module}")
    assert loaded.__all__
    assert all(hasattr(loaded, name) for name in loaded.__all__)


def undocumented(value: object) -> Iterator[str]:
    """What of a public value the documentation would show without a word of its own."""
    own = vars(value) if isinstance(value, type) else {}
    doc = (own.get("__doc__") if own else value.__doc__) or ""
    # A dataclass without one gets its signature for a docstring.
    if not doc or doc.startswith(f"{getattr(value, '__name__', '')}("):
        yield ""
    for name, member in own.items():
        is_callable = isinstance(member, (FunctionType, property, classmethod, staticmethod))
        # A base class of another package may put methods of its own here.
        theirs = not getattr(member, "__module__", "flask_paycheckout").startswith("flask_paycheckout")
        if is_callable and not theirs and not name.startswith("_") and not getattr(member, "__doc__", None):
            yield f".{name}"


@pytest.mark.parametrize("module", ["", ".client", ".sandbox", ".testing", ".admin"])
def test_every_public_name_and_method_is_documented(module: str) -> None:
    loaded = importlib.import_module(f"flask_paycheckout{module}")
    missing = [name + part for name in loaded.__all__ for part in undocumented(getattr(loaded, name))]
    assert missing == []


HEAVY = ("babel", "flask", "flask_sqlalchemy", "sqlalchemy", "celery", "segno", "reportlab", "fpdf", "requests")
OURS = ("flask_paycheckout.sandbox", "flask_paycheckout.extension", "flask_paycheckout.store.models")


@pytest.mark.parametrize(
    "statement",
    [
        "import flask_paycheckout",
        "from flask_paycheckout import Pay, Receive",
        "import flask_paycheckout.client",
        "from flask_paycheckout.client import PaymentsClient; PaymentsClient('https://api.example.com')",
        "import flask_paycheckout.testing",
    ],
)
def test_nothing_is_loaded_before_it_is_used(statement: str) -> None:
    watched = (*HEAVY, *OURS)
    code = f"import sys; {statement}; print(*[name for name in {watched!r} if name in sys.modules])"
    root = Path(flask_paycheckout.__file__).parent.parent
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=root, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, "", "")


def test_the_extension_loads_neither_sandbox_nor_optional_parts() -> None:
    code = (
        "import sys; from flask_paycheckout import PayCheckout;"
        " optional = ('babel', 'celery', 'segno', 'psycopg', 'flask_admin');"
        " ours = ('sandbox', 'views.owner', 'reports.order_list');"
        " names = [*optional, *('flask_paycheckout.' + part for part in ours)];"
        " print(*[name for name in names if name in sys.modules])"
    )
    root = Path(flask_paycheckout.__file__).parent.parent
    ran = subprocess.run([sys.executable, "-W", "error", "-c", code], cwd=root, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, "", "")


LISTED = re.findall(r"^    (flask_paycheckout\.\w+)   ", flask_paycheckout.__doc__ or "", re.MULTILINE)
