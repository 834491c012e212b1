"""The n-th call of the database fails, for every n: whoever is told "stored" was told the truth, and nothing is lost.

A call fails with the driver's own error before it was done, and after it was done but before anybody knew; so does a
commit that is a fact. It fails once, and the process ends with its answer; of money out each third call is tried, and
on PostgreSQL each fifth. What is asked of each: a webhook is answered 200 only when it is stored, or about nothing that
a read could change, else 503; a customer is sent only to a stored page; and reconcile alone, run by the next process,
brings every order to its proper end.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from sqlalchemy import text

from flask_paycheckout import order_paid
from tests.conftest import OpenShop
from tests.crash.acts import MONEY_IN, MONEY_OUT
from tests.crash.conftest import Try
from tests.scripted import Shop


@pytest.mark.parametrize(
    ("acts", "longest", "every"), [(MONEY_IN, "reconcile", 1), (MONEY_OUT, "send", 3)], ids=["paid in", "paid out"]
)
def test_any_call_of_the_database_fails_once(
    each_database: str, tries: Try, acts: list[str], longest: str, every: int
) -> None:
    found = tries(each_database, acts=acts, fate="one error", every=every if each_database.startswith("sqlite") else 5)
    assert found.wrong == []
    assert sum(found.points.values()) > 100
    assert found.left_behind[longest] >= 10, "errors that all leave the same would try nothing"


def test_a_receivers_commit_that_is_a_fact_though_it_failed_counts(open_shop: OpenShop) -> None:
    shop = open_shop()
    ran: list[str] = []

    def first(app: object, **facts: object) -> None:
        ran.append("first")
        _marks(shop, first)
        raise ConnectionError

    def second(app: object, **facts: object) -> None:
        ran.append("second")

    with order_paid.connected_to(first, sender=shop.app), order_paid.connected_to(second, sender=shop.app):
        shop.has_paid()
        assert shop.reconciles(limit=0).delivered == 1
    assert ran == ["first", "second"]


def test_a_mark_that_comes_late_is_not_overwritten(open_shop: OpenShop) -> None:
    """The connection breaks while a receiver's commit is under way, and it becomes a fact while the next one runs."""
    shop = open_shop()
    ran: list[str] = []

    def first(app: object, **facts: object) -> None:
        ran.append("first")
        raise ConnectionError

    def second(app: object, **facts: object) -> None:
        ran.append("second")
        if ran == ["first", "second"]:
            _marks(shop, first)

    with order_paid.connected_to(first, sender=shop.app), order_paid.connected_to(second, sender=shop.app):
        shop.has_paid()
        assert shop.reconciles(limit=0, minutes=6).delivered == 1
    assert ran == ["first", "second", "second"]


def _marks(shop: Shop, receiver: Callable[..., object]) -> None:
    """Commits, on a connection of its own, that this receiver ran."""
    done = json.dumps([f"{receiver.__module__}.{receiver.__qualname__}"])
    with shop.db.engine.begin() as connection:
        marked = text("UPDATE paycheckout_event SET receivers_done = :done WHERE name = 'order_paid'")
        connection.execute(marked, {"done": done})
