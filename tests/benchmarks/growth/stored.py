"""A year of a large shop, made by the database itself: a million checkouts take it a minute or two.

Three in ten attempts share their order with others. Four in ten are of the account of the settings, the others of
nineteen brands. The first twentieth came by a bulk import, with one time for all. The last hours are still open.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa

from flask_paycheckout import Pay
from flask_paycheckout.store.history import Entry, line
from flask_paycheckout.store.models import Models

__all__ = ["DAYS", "paid_order", "store_year"]

DAYS = 365
_CHUNK = 100_000

Say = Callable[[str], object]


class _Words:
    """What the databases spell differently."""

    def __init__(self, engine: sa.Engine, now: datetime) -> None:
        self._sqlite = engine.dialect.name == "sqlite"
        self._start = now - timedelta(days=DAYS)

    def at(self, seconds: str) -> str:
        """So many seconds after the year began."""
        if self._sqlite:
            return f"strftime('%Y-%m-%d %H:%M:%f', {self._start.timestamp()} + {seconds}, 'unixepoch') || '000'"
        return f"TIMESTAMPTZ '{self._start.isoformat()}' + ({seconds}) * INTERVAL '1 second'"

    def padded(self, number: str) -> str:
        """A number with twelve digits."""
        return f"printf('%012d', {number})" if self._sqlite else f"lpad(({number})::text, 12, '0')"

    def numbers(self, first: int, end: int) -> str:
        if self._sqlite:
            walk = f"SELECT {first} UNION ALL SELECT n + 1 FROM t WHERE n < {end - 1}"  # noqa: S608 - numbers
            return f"(WITH RECURSIVE t(n) AS ({walk}) SELECT n FROM t)"  # noqa: S608
        return f"generate_series({first}::bigint, {end - 1}) AS t(n)"


def paid_order(count: int) -> str:
    """An order in the middle of the year that was paid."""
    return f"order-{count // 2 // 20 * 20}"


def store_year(engine: sa.Engine, models: Models, count: int, now: datetime, say: Say) -> None:
    """Store so many checkouts, three times as many events, and a fifth as many payouts."""
    words = _Words(engine, now)
    tables = [models.checkouts, models.events, models.payouts, models.bookings]
    indexes = [index for table in tables for index in sorted(table.indexes, key=lambda index: str(index.name))]
    with engine.begin() as connection:
        for index in indexes:
            index.drop(connection)
    steps = [
        *(("checkouts", _checkouts(words, count, *part)) for part in _parts(count)),
        *(("payouts", _payouts(words, count, *part)) for part in _parts(count // 5)),
        ("events", _checkout_events(words)),
        ("events", _payout_events(words)),
        ("bookings", _BOOKINGS),
    ]
    for number, (what, statement) in enumerate(steps, start=1):
        say(f"storing {what}, step {number} of {len(steps)}")
        with engine.begin() as connection:
            # Not by the driver's own parameters, whose % signs mean something.
            connection.execute(sa.text(statement.replace(":", r"\:")))
    say("making indexes")
    with engine.begin() as connection:
        for index in indexes:
            index.create(connection)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE" if engine.dialect.name == "sqlite" else "VACUUM ANALYZE")


def _parts(count: int) -> list[tuple[int, int]]:
    return [(first, min(first + _CHUNK, count)) for first in range(0, count, _CHUNK)]


_MADE = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
_READ = line(_MADE, Entry.READ, via="reconcile", deposit="pending")
_HISTORY = (
    line(_MADE, Entry.CREATED, total=Pay("12.50", "USD"))
    + line(_MADE, Entry.MOVED, to="pending", via="status page", deposit="pending", rule="the deposit exists")
    + _READ
    + line(_MADE, Entry.WEBHOOK)
    + line(_MADE, Entry.MOVED, to="paid", via="webhook", deposit="completed", compared=["amount", "currency"] * 3)
)


def _checkouts(words: _Words, count: int, first: int, end: int) -> str:
    step = DAYS * 86_400 / count
    made = words.at(f"n * {step}")
    moved = words.at(f"CASE WHEN kind = 'paid' AND n < {count // 20} THEN 0 ELSE n * {step} + 90 END")
    open_since = count - count // 500
    return f"""
        INSERT INTO paycheckout_checkout (checkout_id, order_id, account, current_order_id, paid_order_id, status,
            reason, url, total_kind, total_amount, total_currency, created_at, moved_at, next_read_at, last_read_at,
            deposit_status, revision, reads, not_found_reads, failed_reads, webhooks, found_by, payment_paid_amount,
            payment_paid_currency, payment_received_amount, payment_received_currency, payment_fee_amount,
            payment_fee_currency, payment_method, payment_completed_at, payback, history)
        SELECT 'chk-' || n, order_id, account, CASE WHEN n % 10 NOT IN (7, 8) THEN order_id END,
            CASE WHEN kind = 'paid' THEN order_id END,
            CASE WHEN kind IN ('never', 'closed', 'stalled') THEN 'abandoned' ELSE kind END,
            CASE kind WHEN 'never' THEN 'never_picked' WHEN 'closed' THEN 'deposit_closed' WHEN 'stalled' THEN 'stalled'
                WHEN 'held' THEN 'amount_mismatch' WHEN 'rejected' THEN 'duplicate' END,
            'https://pay.example/checkout/chk-' || n, 'pay', '12.50', 'USD', {made}, {moved},
            CASE WHEN kind IN ('created', 'pending') THEN {words.at(str(DAYS * 86_400 + 600))} END, {moved},
            CASE kind WHEN 'never' THEN NULL WHEN 'created' THEN NULL WHEN 'pending' THEN 'pending'
                WHEN 'stalled' THEN 'pending' WHEN 'closed' THEN 'expired' ELSE 'completed' END,
            2, 4, CASE WHEN kind = 'never' THEN 4 ELSE 0 END, 0, CASE WHEN money THEN 1 ELSE 0 END,
            CASE WHEN money THEN 'webhook' END, CASE WHEN money THEN '12.50' END, CASE WHEN money THEN 'USD' END,
            CASE WHEN money THEN '12.13' END, CASE WHEN money THEN 'USD' END, CASE WHEN money THEN '0.37' END,
            CASE WHEN money THEN 'USD' END, CASE WHEN money OR kind IN ('pending', 'stalled') THEN 'crypto' END,
            CASE WHEN money THEN {made} END,
            CASE WHEN kind = 'rejected' AND n % 10 > 0 THEN 'kept' END, '{_HISTORY}'
        FROM (SELECT n, kind, kind IN ('paid', 'held', 'rejected') AS money,
                'order-' || (CASE WHEN n % 10 > 7 THEN n - n % 10 + 7 ELSE n END) AS order_id,
                CASE WHEN part < 40 THEN '' WHEN part < 60 THEN 'brand-1' WHEN part < 70 THEN 'brand-2'
                    ELSE 'brand-' || (3 + n * 31 % 17) END AS account
            FROM (SELECT n, n * 7919 % 100 AS part,
                    CASE WHEN n % 20 = 0 THEN 'paid' WHEN n % 10 IN (7, 8) THEN 'never'
                        WHEN n > {open_since} AND n % 4 = 1 THEN 'created'
                        WHEN n > {open_since} AND n % 4 = 2 THEN 'pending'
                        WHEN n * 7919 % 10007 < 7000 THEN 'paid' WHEN n * 7919 % 10007 < 7005 THEN 'held'
                        WHEN n * 7919 % 10007 < 7030 THEN 'rejected' WHEN n * 7919 % 10007 < 9000 THEN 'never'
                        WHEN n * 7919 % 10007 < 9600 THEN 'closed' ELSE 'stalled' END AS kind
                FROM {words.numbers(first, end)}) AS kinds) AS made
        ORDER BY n"""  # noqa: S608 - our own words


_PAID_OUT = line(_MADE, Entry.CREATED, total="80.00 USD") + 3 * line(
    _MADE, Entry.MOVED, to="sent", rule="the service's answer names it", disbursement_id="dis-1"
).replace("'", "''")


def _payouts(words: _Words, count: int, first: int, end: int) -> str:
    moved = words.at(f"n * {DAYS * 86_400 / (count // 5)} + 3600")
    soon = words.at(str(DAYS * 86_400 + 600))
    return f"""
        INSERT INTO paycheckout_payout (reference, service_reference, kind, status, account, order_id, refund_of,
            amount, currency, to_kind, destination, revision, changes, claims, disbursement_id, next_attempt_at, alone,
            doubted, failures, created_at, moved_at, history)
        SELECT 'pay-' || n, 'pay-' || n || '-4f1c', CASE WHEN n % 4 = 0 THEN 'refund' ELSE 'payout' END, status,
            CASE WHEN n * 7919 % 100 < 40 THEN '' ELSE 'brand-' || (1 + n % 19) END,
            'order-' || CASE WHEN n % 4 = 0 THEN n * 5 ELSE n * 5 / 20 * 20 END,
            CASE WHEN n % 4 = 0 THEN 'chk-' || n * 5 END, '2.50', CASE WHEN kind = 1 THEN 'usdc-polygon' ELSE 'USD' END,
            CASE WHEN kind = 1 THEN 'wallet' WHEN status <> 'claimable' THEN 'recipient' END, 'Maker, ****31', 0, 4, 0,
            CASE WHEN status IN ('sent', 'completed', 'failed') THEN 'dis-' || n END,
            CASE WHEN status = 'ready' OR (status = 'sent' AND kind = 0) THEN {soon} END, false, false, 0,
            {moved}, {moved}, '{_PAID_OUT}'
        FROM (SELECT n, CASE WHEN n * 7919 % 1009 < 120 THEN 1 ELSE 0 END AS kind,
                CASE WHEN n * 7919 % 1009 < 120 THEN 'sent' WHEN n * 7919 % 1009 < 122 THEN 'claimable'
                    WHEN n * 7919 % 1009 < 123 THEN 'waiting' WHEN n * 7919 % 1009 < 145 THEN 'failed'
                    WHEN n * 7919 % 1009 < 175 THEN 'cancelled' WHEN n % 20011 = 1 THEN 'unknown'
                    WHEN n > {count // 5 - count // 1000} THEN (CASE WHEN n % 10 = 1 THEN 'ready' ELSE 'sent' END)
                    ELSE 'completed' END AS status
            FROM {words.numbers(first, end)}) AS made
        ORDER BY n"""  # noqa: S608


_EVENT = """INSERT INTO paycheckout_event (event_id, once, name, checkout_id, order_id, payout_reference, occurred_at,
            delivered_at, attempts, next_attempt_at, receivers_done, last_error) """


def _checkout_events(words: _Words) -> str:
    event_id = f"'00000000-0000-4000-8000-' || {words.padded('c.id * 4 + k')}"
    done = "k < 3 OR c.id % 50021 > 0"
    return f"""{_EVENT}
        SELECT {event_id}, name || ':' || k || ':' || c.checkout_id, name, c.checkout_id, c.order_id, NULL, c.moved_at,
            CASE WHEN {done} THEN c.moved_at END, 1, CASE WHEN {done} THEN NULL ELSE c.moved_at END, '["ship"]',
            CASE WHEN {done} THEN NULL ELSE 'ValueError: no such jar (receiver ship)' END
        FROM (SELECT id, checkout_id, order_id, moved_at, k, CASE WHEN k = 1 THEN 'checkout_created'
                WHEN k = 2 THEN 'order_pending' WHEN status = 'paid' THEN 'order_paid'
                WHEN status = 'held' THEN 'payment_held'
                WHEN status = 'rejected' THEN 'payment_resolved' ELSE 'order_abandoned' END AS name, status, reason
            FROM paycheckout_checkout CROSS JOIN (SELECT 1 AS k UNION ALL SELECT 2 UNION ALL SELECT 3) AS numbers) AS c
        WHERE k = 1 OR (k = 2 AND status <> 'created' AND coalesce(reason, '') <> 'never_picked')
            OR (k = 3 AND status NOT IN ('created', 'pending'))
        ORDER BY c.id, k"""  # noqa: S608


def _payout_events(words: _Words) -> str:
    return f"""{_EVENT}
        SELECT '10000000-0000-4000-8000-' || {words.padded("p.id * 2 + k")}, name || ':' || k || ':' || reference, name,
            coalesce(refund_of, ''), coalesce(order_id, ''), reference, moved_at, moved_at, 1, NULL, '[]', NULL
        FROM (SELECT id, reference, refund_of, order_id, moved_at, status, k,
                CASE WHEN k = 0 THEN 'payout_sent' ELSE 'payout_completed' END AS name
            FROM paycheckout_payout CROSS JOIN (SELECT 0 AS k UNION ALL SELECT 1) AS numbers) AS p
        WHERE (k = 0 AND status IN ('sent', 'completed', 'failed')) OR (k = 1 AND status = 'completed')
        ORDER BY p.id, k"""  # noqa: S608


_BOOKINGS = """
    INSERT INTO paycheckout_booking (booked_at, kind, reference, service_reference, disbursement_id, account, order_id,
        checkout_id, amount, currency)
    SELECT moved_at, kind, reference, service_reference, disbursement_id, account, order_id, refund_of, amount, currency
    FROM paycheckout_payout WHERE status IN ('sent', 'completed', 'failed') ORDER BY id"""
