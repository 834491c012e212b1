"""The rows that receivers write to the shop's database: one for each run, in a table that refuses no row."""

from __future__ import annotations

from collections import Counter
from typing import Any

from sqlalchemy import Column, String, Table, select

from tests.scripted import Shop


def add_effects(db: Any) -> None:
    """Add the table "effect". No column is unique, so that repeated effects show."""
    Table("effect", db.metadata, Column("who", String(40)), Column("order_id", String(40)))


def _table(shop: Shop) -> Table:
    table: Table = shop.db.metadata.tables["effect"]
    return table


def writes(shop: Shop, who: str, order_id: str) -> None:
    """Write a row like a receiver: through `db.session`, without committing."""
    shop.db.session.execute(_table(shop).insert().values(who=who, order_id=order_id))


class Writer:
    """A receiver of this name that writes its row, and fails a number of times for each event.

    :ivar runs: the number of its runs for each event.
    """

    def __init__(self, shop: Shop, who: str, failures: int = 0) -> None:
        self.runs: Counter[str] = Counter()
        self.__qualname__ = who
        self._shop, self._who, self._failures = shop, who, failures

    def __call__(self, app: object, *, order_id: str, event_id: str, payout: Any = None, **facts: object) -> None:
        writes(self._shop, self._who, order_id if payout is None else payout.reference)
        self.runs[event_id] += 1
        if self.runs[event_id] <= self._failures:
            raise RuntimeError(f"{self._who} is down")


def counts(shop: Shop, order_id: str) -> dict[str, int]:
    """The number of committed rows of each receiver for an order or a payout."""
    table = _table(shop)
    with shop.engine.connect() as connection:
        rows = connection.execute(select(table.c.who).where(table.c.order_id == order_id)).scalars()
        return dict(Counter(rows))
