"""Several processes on one PostgreSQL database are one sandbox: each gives the same answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from typing import Any

import pytest
from flask import Flask

from tests.postgres import empty_database
from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.stations import Shop, gunicorn
from tests.sandbox.world.test_databases import at_once
from tests.waiting import eventually

# The processes are started once for all of these tests.


@pytest.fixture(scope="module")
def shop() -> Iterator[Shop]:
    shop = Shop()
    with shop.running():
        yield shop


@pytest.fixture(scope="module")
def running(postgres_server: str, shop: Shop) -> Iterator[list[Flask]]:
    """Three workers of one server, started at once on an empty database."""
    with empty_database(postgres_server) as address, gunicorn(3, address, shop.url) as apps:
        yield apps


@pytest.fixture
def stations(running: list[Flask], shop: Shop) -> list[Flask]:
    """The running workers, with the sandbox in its start state."""
    Tester(running[0]).does("POST", "reset")
    shop.order_ids.clear()
    return running


def many_hands(job: Callable[[Flask], Any], stations: list[Flask], times: int) -> list[Any]:
    """Repeat a job at each of the stations, all at the same time."""
    return at_once(*(partial(job, where) for where in stations * times))


def test_time_is_one_and_not_lost_when_it_is_moved_everywhere_at_once(stations: list[Flask]) -> None:
    many_hands(lambda where: Tester(where).advances(seconds=10), stations, 8)
    times = many_hands(lambda where: Tester(where).does("GET", "clock"), stations, 4)
    assert {time["offsetSeconds"] for time in times} == {240}
    moments = [datetime.fromisoformat(time["now"]) for time in times]
    assert (max(moments) - min(moments)).total_seconds() < 60


@pytest.mark.parametrize("fault", [{"kind": "delay", "seconds": 600}, {"kind": "reorder"}], ids=["delay", "reorder"])
def test_every_webhook_is_sent_once_though_all_processes_send_what_is_due(
    stations: list[Flask], shop: Shop, fault: dict[str, Any]
) -> None:
    count = 33
    Tester(stations[0]).orders_fault("webhook", **fault, times=count)

    def pay(where: Flask) -> str:
        checkout = Merchant(where).makes_checkout()
        Tester(where).pays(checkout)
        return checkout

    paid = many_hands(pay, stations, 11)
    if fault["kind"] == "delay":
        assert shop.order_ids == []
    many_hands(lambda where: Tester(where).advances(seconds=601), stations, 3)
    eventually(lambda: [webhook["state"] for webhook in Tester(stations[0]).webhooks()] == ["delivered"] * count)
    assert sorted(shop.order_ids) == sorted(paid)
    states = [(webhook["state"], len(webhook["attempts"])) for webhook in Tester(stations[-1]).webhooks()]
    assert states == [("delivered", 1)] * count
