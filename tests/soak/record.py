"""The records of both sides, collected after a run, with the lookups that the promises need."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.promises import Facts, Row, grouped
from tests.soak.databases import Databases, Reader, json_lines

Record = dict[str, Any]

_OF_SANDBOX = {
    "deposit": "id, status, input_currency, input_amount, output_currency, output_amount, fee_amount",
    "disbursement": "id, reference, amount, currency, status, fee_amount",
    "webhook": "id, state, copies",
}
_OF_SHOP = (
    *("paycheckout_checkout", "paycheckout_payout", "paycheckout_event"),
    *("shop_order", "shop_version", "shop_fulfilment", "shop_note"),
)


def collect(databases: Databases, folder: Path, locations: list[Row], tolerance: float) -> Record:
    """The record of a run.

    :param folder: where the warehouse noted its `effects`, and `flask paycheckout export` wrote `export.jsonl`.
    :param locations: every address of a payment page that a browser was ever sent to.
    :param tolerance: virtual seconds by which the times of two processes may differ.
    """
    record: Record = {"locations": locations, "tolerance": tolerance}
    record |= {"effects": json_lines(folder / "effects"), "export": json_lines(folder / "export.jsonl")}
    for address, options, tables in (
        (databases.sandbox, None, _OF_SANDBOX),
        (databases.shop, databases.options, dict.fromkeys(_OF_SHOP, "*")),
    ):
        reader = Reader(address, options)
        try:
            for table, columns in tables.items():
                record[table] = reader.rows(f"SELECT {columns} FROM {table} ORDER BY id")  # noqa: S608 - our own words
        finally:
            reader.close()
    return record


class Soaked:
    """A record with the lookups that the promises need.

    :param record: lists of rows by the names of their tables: of the service `deposit`, `disbursement` and `webhook`;
        of the shop the tables of the extension and of `tables.py`, where `shop_version` has each version of an order
        with its time. It also has the lines of the `export`, the `alarms` of the report, `effects` (the warehouse's
        messages) and `locations` (every payment page that a browser was sent to). `tolerance` is the number of seconds
        by which the times of two processes may differ.
    """

    def __init__(self, record: dict[str, Any]) -> None:
        self.record = record
        self.tolerance = timedelta(seconds=record["tolerance"])
        self.deposits: dict[str, Row] = {row["id"]: row for row in record["deposit"]}
        arrived = {name for name, row in self.deposits.items() if row["status"] == "completed"}
        self.facts = Facts(
            rows=record,
            arrived=arrived,
            said=arrived,
            given_out=record["locations"],
            closed={row["id"] for row in record["shop_order"] if row["paid"]},
            disbursements=record["disbursement"],
            written=[*_told("note", record["shop_note"]), *_told("ship", record["shop_fulfilment"])],
            told=list(_told("warehouse", record["effects"])),
            listeners=lambda name: {"note", "ship", "warehouse"} if name == "order_paid" else {"note"},
        )

    def arrived(self, *statuses: str) -> Iterator[tuple[Row, Row]]:
        """Each stored checkout in one of these states whose deposit is completed, with that deposit."""
        for row in self.facts.checkouts:
            if row["status"] in statuses and row["checkout_id"] in self.facts.arrived:
                yield row, self.deposits[row["checkout_id"]]

    @cached_property
    def _versions(self) -> dict[str, list[Row]]:
        return grouped(self.record["shop_version"], "order_id")

    def versions_around(self, order_id: str, moment: datetime) -> list[Row]:
        """The versions of an order at about this time: one, or several during a change."""
        versions = self._versions.get(order_id, [])
        until = [utc(after["since"]) for after in versions[1:]] + [datetime.max.replace(tzinfo=UTC)]
        return [
            row
            for row, end in zip(versions, until, strict=False)
            if utc(row["since"]) <= moment + self.tolerance and end > moment - self.tolerance
        ]


def _told(receiver: str, rows: list[Row]) -> Iterator[Row]:
    for row in rows:
        yield {"receiver": receiver, "event_id": row["event_id"], "order_id": row["order_id"]}


def utc(text: str) -> datetime:
    """An aware UTC time from ISO 8601 text; text without an offset is UTC."""
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
