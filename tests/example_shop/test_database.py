"""The shop's own database: its set-up and its column types."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlalchemy import text

from example_shop.database import Line, Order, db

if TYPE_CHECKING:
    from flask import Flask


def test_sqlite_lets_readers_and_a_writer_work_side_by_side(shop: Flask) -> None:
    with shop.app_context():
        assert db.session.scalar(text("PRAGMA journal_mode")) == "wal"
        assert db.session.scalar(text("PRAGMA busy_timeout")) == 30000
        assert db.session.scalar(text("PRAGMA foreign_keys")) == 1


def test_money_is_kept_as_exact_text(shop: Flask) -> None:
    with shop.app_context():
        line = Line(slug="x", name="X", price=Decimal("1E+2") + Decimal("0.10"), quantity=1, consigned=False)
        db.session.add(Order(id="A", name="A", email="a@b.c", placed_at=datetime.now(UTC), lines=[line]))
        db.session.commit()
        assert db.session.execute(text("SELECT price, typeof(price) FROM lines")).one() == ("100.10", "text")
        assert db.session.get_one(Order, "A").total == Decimal("100.10")
