"""A transaction that loses a race at its COMMIT changes nothing, and no receiver runs for it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event

from flask_paycheckout import checkout_created, order_paid, payout_cancelled
from tests.payouts.shop import decides, payout, pays_out
from tests.scripted import Shop


class SerializationFailure(sqlite3.OperationalError):
    sqlstate = "40001"


@pytest.fixture(params=[False, True], ids=["own", "shop"], autouse=True)
def receiver(request: pytest.FixtureRequest, shop: Shop) -> Iterator[None]:
    """Changes are committed on our own connection, or, with an atomic receiver, in the shop's session."""

    def receives(app: object, **facts: object) -> None:
        pass

    if request.param:
        shop.paycheckout.atomic(receives)
    signals = checkout_created, order_paid, payout_cancelled
    for signal in signals:
        signal.connect(receives, sender=shop.app)
    yield
    for signal in signals:
        signal.disconnect(receives, sender=shop.app)


@contextmanager
def loses_once(shop: Shop, write: str) -> Iterator[None]:
    """The first COMMIT after a write of this kind fails: the database rolls the transaction back instead."""
    wrote, lost, dialect = list[str](), list[str](), shop.engine.dialect

    def execute(connection: object, cursor: object, statement: str, *rest: object) -> None:
        if statement.startswith(write):
            wrote.append(statement)

    def commit(driver: Any) -> None:
        if not wrote or lost:
            return driver.commit()  # type: ignore[no-any-return]
        lost.extend(wrote)
        driver.rollback()
        raise SerializationFailure("could not serialize access")

    event.listen(shop.engine, "before_cursor_execute", execute)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dialect, "do_commit", commit)
        yield
    event.remove(shop.engine, "before_cursor_execute", execute)
    assert lost


def test_a_start_gives_out_only_a_page_that_is_stored(shop: Shop) -> None:
    with loses_once(shop, "INSERT INTO paycheckout_checkout"):
        page = shop.starts()
    assert shop.attempt(page).status == "created"


def test_a_payment_is_settled_again(shop: Shop) -> None:
    page = shop.starts()
    shop.service.says(page, "completed")
    with loses_once(shop, "UPDATE paycheckout_checkout SET"):
        settled = shop.settles(page)
    assert settled.status == shop.attempt(page).status == "paid"


def test_a_person_is_told_of_a_decision_only_when_it_is_stored(shop: Shop) -> None:
    pays_out(shop)
    with loses_once(shop, "UPDATE paycheckout_payout SET"):
        is_told = decides(shop, "cancel", "maker-1")
    assert is_told == (payout(shop).status == "cancelled")
    assert decides(shop, "cancel", "maker-1") != is_told
