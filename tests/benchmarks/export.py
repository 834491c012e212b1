"""Memory and time of `flask paycheckout export` with 1,000,000 lines, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.schema import DropIndex

from tests.benchmarks.databases import POSTGRESQL, SQLITE, fresh_database
from tests.benchmarks.measuring import MIB, OURS, PER_SECOND, Contender, Goal, Options
from tests.benchmarks.row import Row
from tests.benchmarks.shop import open_shop
from tests.scripted import Shop

_LINES = 1_000_000
# The endings of the names of the indexes that an export reads.
_READ = ("_booked", "_unfilled", "_time", "_reference")
# Nobody calls it.
_SERVICE = "https://api.example.com"
_AT = {
    "sqlite": "strftime('%Y-%m-%d %H:%M:%S.000000', 1767225600 + n, 'unixepoch')",
    "postgresql": "to_timestamp(1767225600 + n)",
}
_NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < :count)"
_PAYMENTS = f"""
    INSERT INTO paycheckout_checkout (
        checkout_id, order_id, account, paid_order_id, status, url, total_kind, total_amount, total_currency,
        created_at, moved_at, revision, reads, not_found_reads, failed_reads, webhooks, history,
        payment_paid_amount, payment_paid_currency, payment_received_amount, payment_received_currency,
        payment_fee_amount, payment_fee_currency, payment_method, payment_completed_at)
    {_NUMBERS} SELECT
        '5a6d' || (100000000000 + n), 'order-' || n, '', 'order-' || n, 'paid', 'https://pay.example/5a6d' || n, 'pay',
        '12.50', 'USD', :at, :at, 2, 2, 0, 0, 1, '', '12.50', 'USD', '12.13', 'USD',
        '0.37', CASE WHEN n % 10 = 0 THEN 'EUR' ELSE 'USD' END, 'us_first_sandbox', :at
    FROM numbers"""  # noqa: S608
_BOOKINGS = f"""
    INSERT INTO paycheckout_booking (
        booked_at, kind, reference, service_reference, disbursement_id, account, order_id, amount, currency)
    {_NUMBERS} SELECT
        :at, 'payout', 'maker-' || n, 'maker-' || n || '-5f3a', '5a6e' || n, '', 'order-' || n, '6.25', 'USD'
    FROM numbers"""  # noqa: S608
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
        for index in {*models.checkouts.indexes, *models.bookings.indexes}:
            # Others would only take time to fill.
            if not str(index.name).endswith(_READ):
                connection.execute(DropIndex(index))
        at = _AT[connection.dialect.name]
        for statement, count in ((_PAYMENTS, payments), (_BOOKINGS, bookings)):
            connection.execute(text(statement.replace(":at", at)), {"count": count})
    return payments + len(range(0, payments, 10)) + bookings


ROW = Row(
    name="export",
    title="export of 1,000,000 movements",
    goals=(Goal(MIB, at_most=150),),
    contenders=_contenders,
    databases=(SQLITE, POSTGRESQL),
    warm=False,
    most_rounds=1,
)
