"""An atomic receiver that holds its transaction for over a second is named by the doctor of any process, and logged."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from flask_paycheckout import order_paid
from tests.alarming import alarms_of
from tests.conftest import OpenShop
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database

KIND = "slow-atomic-receivers"
NAME = f"{__name__}.atomic.<locals>.close"


@contextmanager
def atomic(shop: Shop, seconds: float, fails: bool = False) -> Iterator[None]:
    """An atomic receiver of order_paid that takes so long."""

    @shop.paycheckout.atomic
    def close(app: Flask, **facts: object) -> None:
        shop.clock.advance(seconds=seconds)
        if fails:
            raise LookupError

    with order_paid.connected_to(close, sender=shop.app):
        yield


def named(shop: Shop) -> list[str]:
    return [alarm.what for alarm in alarms_of(shop).values() if alarm.kind == KIND]


def stored(shop: Shop) -> list[Any]:
    with shop.runtime.engine().connect() as connection:
        return list(connection.execute(shop.runtime.models.services.select()))


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


def test_a_slow_receiver_is_named_by_the_doctor_of_another_process(
    open_shop: OpenShop, caplog: pytest.LogCaptureFixture
) -> None:
    shop, other = open_shop(), open_shop()
    with atomic(shop, seconds=2.4):
        shop.has_paid()
    ran = other.runs("doctor", "--json")
    [check] = [check for check in json.loads(ran.stdout)["checks"] if check["about"] == KIND]
    assert check["found"].startswith(
        f"{NAME} is atomic and held its transaction for 2.4 s; what it locks waited as long, since 2026-01-01 12:00"
    )
    assert (check["level"], bool(check["remedy"])) == ("warning", True)
    assert warned(caplog) == [f"the atomic receiver {NAME} held its transaction for 2.4 s, and what it locks with it"]


def test_a_quick_receiver_costs_no_statement_and_no_line(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    with atomic(shop, seconds=1):
        shop.has_paid()
    assert (stored(shop), named(shop), warned(caplog)) == ([], [], [])


def test_a_receiver_that_is_slow_and_raises_is_named_too(shop: Shop) -> None:
    with atomic(shop, seconds=3, fails=True):
        shop.settles(shop.has_deposit("completed"))
    assert ["for 3.0 s" in what for what in named(shop)] == [True]


def test_it_is_told_until_it_was_quick_for_a_day(shop: Shop) -> None:
    shop.totals["n-1"] = shop.totals["o-1"]
    for order, seconds in {"o-1": 2, "n-1": 5}.items():
        with atomic(shop, seconds):
            shop.has_paid(order)
    assert ["for 5.0 s" in what for what in named(shop)] == [True]
    assert len(stored(shop)) == 1
    shop.clock.advance(days=1)
    assert named(shop) == []


def test_it_is_stored_after_the_payment_is_committed(shop: Shop) -> None:
    seen: list[str] = []
    engine = shop.runtime.engine()

    def executed(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
        if "paycheckout_service" in statement:
            seen.append(statement.split()[0])

    sa.event.listen(engine, "before_cursor_execute", executed)
    sa.event.listen(engine, "commit", lambda connection: seen.append("COMMIT"))
    checkout_id = shop.has_deposit("completed")
    seen.clear()
    with atomic(shop, seconds=2):
        shop.settles(checkout_id)
    assert (seen[0], seen[-2:]) == ("COMMIT", ["INSERT", "COMMIT"])


def test_a_record_that_cannot_be_stored_loses_no_payment(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    shop.executes(sa.text("DROP TABLE paycheckout_service"))
    with atomic(shop, seconds=2):
        shop.has_paid()
    assert "the record of failing calls could not be stored" in {line.split(":")[0] for line in warned(caplog)}


def test_two_processes_may_store_the_same_receiver_at_once(
    open_shop: OpenShop, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = open_shop(), open_shop()
    engine = first.runtime.engine()
    moments = iter([lambda: second.has_paid("o-2")])

    def executed(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
        if statement.startswith("INSERT INTO paycheckout_service"):
            next(moments, lambda: "")()

    sa.event.listen(engine, "before_cursor_execute", executed)
    with atomic(first, seconds=2), atomic(second, seconds=2):
        first.has_paid("o-1")
    assert (len(named(first)), second.attempt("chk-2").status) == (1, "paid")
    assert not any("could not" in line for line in warned(caplog))
