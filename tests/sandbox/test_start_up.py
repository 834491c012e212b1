"""A sandbox is made in a few milliseconds, because tests make thousands: what would cost more is not done."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
import sqlalchemy as sa
from flask import url_for
from werkzeug.routing import Rule

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.database import Table, db
from tests.sandbox.actors import CONTROL_TOKEN


def test_no_password_is_hashed_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def hashes(*args: object, **kwargs: object) -> bytes:
        raise AssertionError("a password is being hashed")

    monkeypatch.setattr(hashlib, "scrypt", hashes)
    create_sandbox()


def test_no_address_builder_is_compiled_before_an_address_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    compile_builder: Callable[..., Callable[..., tuple[str, str]]] = Rule._compile_builder

    def counts(rule: Rule, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        compiled.append(rule.rule)
        return compile_builder(rule, append_unknown)

    monkeypatch.setattr(Rule, "_compile_builder", counts)
    app = create_sandbox(control_token=CONTROL_TOKEN)
    assert compiled == []
    with app.test_request_context():
        for _ in range(2):
            assert url_for("hosted_page.show_checkout", checkout_id="5", next="/ü") == "/checkout/5?next=/%C3%BC"
    assert compiled == ["/checkout/<checkout_id>"]


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
