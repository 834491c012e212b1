"""The n-th call of the database fails, for every n: every answer "stored" is true, and nothing is lost.

A call or a commit fails with the driver's own error, either before it was executed, or after it was executed without
reporting its success. It fails once, and the process ends with its answer; of payouts each third call is tried, and on
PostgreSQL each fifth. Each time, a webhook is answered 200 only if it is stored, or if no read could change anything,
else 503; a customer is sent only to a stored page; and reconcile alone, run by the next process, brings every order to
its required state.
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
    results = tries(
        each_database, acts=acts, fate="one error", every=every if each_database.startswith("sqlite") else 5
    )
    assert results.wrong == []
    assert sum(results.points.values()) > 100
    assert results.left_behind[longest] >= 10, "errors that all leave the same would try nothing"


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
    """The connection breaks during a receiver's commit, which the database completes while the next receiver runs."""
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
    """Commit, on a separate connection, that this receiver ran."""
    done = json.dumps([f"{receiver.__module__}.{receiver.__qualname__}"])
    with shop.db.engine.begin() as connection:
        marked = text("UPDATE paycheckout_event SET receivers_done = :done WHERE name = 'order_paid'")
        connection.execute(marked, {"done": done})
