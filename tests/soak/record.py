"""What both sides wrote down, collected after the run: rows of both databases and the logs of everybody outside."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.soak.databases import Databases, Reader, Row, json_lines

Record = dict[str, Any]

_OF_SANDBOX = {
    "service_checkouts": "SELECT id, created_at FROM checkout",
    "service_deposits": "SELECT id, status, input_currency, input_amount, output_currency, output_amount, fee_amount,"
    " updated_at FROM deposit",
    "service_disbursements": "SELECT id, kind, reference, amount, currency, status, fee_amount FROM disbursement",
    "service_webhooks": "SELECT id, order_id, state, copies, attempts FROM webhook",
}
_OF_SHOP = {
    "checkouts": "SELECT * FROM paycheckout_checkout ORDER BY id",
    "payouts": "SELECT * FROM paycheckout_payout ORDER BY id",
    "events": "SELECT * FROM paycheckout_event ORDER BY id",
    "orders": "SELECT * FROM shop_order ORDER BY id",
    "versions": "SELECT * FROM shop_version ORDER BY id",
    "fulfilments": "SELECT * FROM shop_fulfilment ORDER BY id",
    "notes": "SELECT * FROM shop_note ORDER BY id",
}


def collect(
    databases: Databases, effects_file: Path, export_file: Path, locations: list[Row], tolerance: float
) -> Record:
    """The record of a run.

    :param export_file: what `flask paycheckout export --format jsonl` wrote after it.
    :param locations: every address of a payment page that a browser was ever sent to.
    :param tolerance: virtual seconds by which the times of two processes may differ.
    """
    record: Record = {"effects": json_lines(effects_file), "locations": locations, "tolerance": tolerance}
    record["export"] = json_lines(export_file)
    for address, options, tables in (
        (databases.sandbox, None, _OF_SANDBOX),
        (databases.shop, databases.options, _OF_SHOP),
    ):
        reader = Reader(address, options)
        try:
            record |= {name: reader.rows(statement) for name, statement in tables.items()}
        finally:
            reader.close()
    return record
