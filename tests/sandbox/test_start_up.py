"""A sandbox is made in a few milliseconds, because tests make thousands: what would cost more is not done."""

from __future__ import annotations

import hashlib

import pytest
import sqlalchemy as sa

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.world.database import Table, db


def test_no_password_is_hashed_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def hashes(*args: object, **kwargs: object) -> bytes:
        raise AssertionError("a password is being hashed")

    monkeypatch.setattr(hashlib, "scrypt", hashes)
    create_sandbox()


def test_the_tables_of_a_world_in_memory_are_those_of_any_other() -> None:
    with create_sandbox().app_context():
        quick = schema(db.engine)
    usual = sa.create_engine("sqlite://")
    Table.metadata.create_all(usual)
    assert quick == schema(usual)
    usual.dispose()


def schema(engine: sa.Engine) -> set[tuple[str, str]]:
    with engine.connect() as connection:
        rows = connection.execute(sa.text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
        return {(row.name, row.sql.strip()) for row in rows}
