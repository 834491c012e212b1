"""What receivers leave in the shop's database: a row a run, in a table that refuses no row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from sqlalchemy import Column, String, Table, select

from tests.scripted import Shop


def add_effects(db: Any) -> None:
    """The table "effect". Nothing in it is unique: whatever is done twice stands there twice."""
    Table("effect", db.metadata, Column("who", String(40)), Column("order_id", String(40)))


def _table(shop: Shop) -> Table:
    found: Table = shop.db.metadata.tables["effect"]
    return found


def writes(shop: Shop, who: str, order_id: str) -> None:
    """As receivers do it: through `db.session`, without committing."""
    shop.db.session.execute(_table(shop).insert().values(who=who, order_id=order_id))


def writer(shop: Shop, who: str) -> Callable[..., object]:
    """A receiver of this name that leaves its row."""

    def receive(app: object, *, order_id: str, **facts: Any) -> None:
        writes(shop, who, order_id)

    receive.__qualname__ = who
    return receive


def counts(shop: Shop, order_id: str) -> dict[str, int]:
    """How many committed rows each receiver left for an order."""
    table = _table(shop)
    with shop.runtime.engine().connect() as connection:
        rows = connection.execute(select(table.c.who).where(table.c.order_id == order_id)).scalars()
        return dict(Counter(rows))
