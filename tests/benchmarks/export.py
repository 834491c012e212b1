"""Memory and time of `flask paycheckout export` with 1,000,000 lines, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.benchmarks.databases import fresh_database
from tests.benchmarks.measuring import MIB, OURS, PER_SECOND, Contender, Goal, Options
from tests.benchmarks.row import Row
from tests.benchmarks.shop import open_shop
from tests.scripted import Shop

_LINES = 1_000_000
_AT_ONCE = 10_000
# Nobody calls it.
_SERVICE = "https://api.example.com"
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
_COMMAND = [sys.executable, "-m", "flask", "--app", "tests.shop_app:create_app", "paycheckout", "export"]


@contextmanager
def _contenders(options: Options, database: str | None) -> Iterator[dict[str, Contender]]:
    lines = options.amount(_LINES, least=100)
    with fresh_database(database) as address, open_shop(address, _SERVICE) as shop:
        expected = _fill(shop, lines)

        def ours() -> dict[str, float]:
            with tempfile.TemporaryFile() as out:
                began = time.perf_counter()
                process = subprocess.Popen(
                    _COMMAND,
                    env=os.environ | {"FLASK_SQLALCHEMY_DATABASE_URI": address, "FLASK_PAYCHECKOUT_BASE_URL": _SERVICE},
                    cwd=Path(__file__).parents[2],
                    stdout=out,
                    stderr=subprocess.DEVNULL,
                )
                peak = _peak_until_end(process)
                seconds = time.perf_counter() - began
                out.seek(0)
                written = sum(1 for _ in out) - 1
            if (process.returncode, written) != (0, expected):
                raise RuntimeError(f"{written} of {expected} lines were exported, exit code {process.returncode}")
            return {MIB: peak, PER_SECOND: written / seconds}

        yield {OURS: ours}


def _peak_until_end(process: subprocess.Popen[bytes]) -> float:
    """The most memory that the process ever had, in MiB; what `wait4` tells includes that of its parent."""
    peak, status = 0.0, Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                peak = int(line.split()[1]) / 1024
        time.sleep(0.05)
    return peak


def _fill(shop: Shop, lines: int) -> int:
    """Store payments, of which each tenth has a fee in another currency, and payouts; gives their lines."""
    payments, bookings = lines * 8 // 10, lines * 12 // 100
    models = shop.runtime.models
    with shop.runtime.engine().begin() as connection:
        for first in range(0, payments, _AT_ONCE):
            numbers = range(first, min(first + _AT_ONCE, payments))
            connection.execute(models.checkouts.insert(), [_payment(number) for number in numbers])
        for first in range(0, bookings, _AT_ONCE):
            numbers = range(first, min(first + _AT_ONCE, bookings))
            connection.execute(models.bookings.insert(), [_booking(number) for number in numbers])
    return payments + len(range(0, payments, 10)) + bookings


def _payment(number: int) -> dict[str, Any]:
    at = _BEGAN + timedelta(seconds=number)
    return {
        "checkout_id": f"5a6d{number:020}",
        "order_id": f"order-{number:08}",
        "account": "",
        "paid_order_id": f"order-{number:08}",
        "status": "paid",
        "url": f"https://pay.example/checkout/5a6d{number:020}",
        "total_kind": "pay",
        "total_amount": "12.50",
        "total_currency": "USD",
        "created_at": at - timedelta(minutes=5),
        "moved_at": at,
        "revision": 2,
        "reads": 2,
        "not_found_reads": 0,
        "failed_reads": 0,
        "webhooks": 1,
        "payment_paid_amount": "12.50",
        "payment_paid_currency": "USD",
        "payment_received_amount": "12.13",
        "payment_received_currency": "USD",
        "payment_fee_amount": "0.37",
        "payment_fee_currency": "USD" if number % 10 else "EUR",
        "payment_method": "us_first_sandbox",
        "payment_completed_at": at,
        "history": "",
    }


def _booking(number: int) -> dict[str, Any]:
    return {
        "booked_at": _BEGAN + timedelta(seconds=6 * number),
        "kind": "payout",
        "reference": f"maker-{number:08}",
        "service_reference": f"maker-{number:08}-5f3a",
        "disbursement_id": f"5a6e{number:020}",
        "account": "",
        "order_id": f"order-{number:08}",
        "checkout_id": None,
        "amount": "6.25",
        "currency": "USD",
    }


ROW = Row(
    name="export",
    title="export of 1,000,000 movements",
    goals=(Goal(MIB, at_most=150), Goal(PER_SECOND, at_least=10_000)),
    contenders=_contenders,
    by_database=True,
    warm=False,
    most_rounds=1,
)
