"""Leases are renewed while their holders work, by a thread that exists only then, also after a fork."""

from __future__ import annotations

import threading
from collections.abc import Callable
from threading import Event, Semaphore
from typing import Any

import pytest

from flask_paycheckout import order_paid
from flask_paycheckout.events.event_queue import EventQueue
from flask_paycheckout.events.events import HeldEvent
from flask_paycheckout.events.receiver_runs import LeaseRenewal
from flask_paycheckout.signals import BY_NAME
from tests.conftest import NewDatabase, OpenShop
from tests.races.crowds import PATIENCE
from tests.waiting import eventually

EVERY = 0.02


def reach(calls: Semaphore, count: int) -> None:
    """Wait for this number of further calls of `release`."""
    assert all(calls.acquire(timeout=PATIENCE) for _ in range(count))


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "paycheckout-leases"]


def test_a_lease_is_renewed_again_and_again_while_the_work_goes_on_and_the_thread_ends_with_it() -> None:
    renewal, calls = LeaseRenewal(EVERY), Semaphore(0)
    before = threads()
    with renewal.during(calls.release):
        reach(calls, 3)
        (thread,) = [thread for thread in threads() if thread not in before]
    thread.join(PATIENCE)
    assert not thread.is_alive()
    again = Semaphore(0)
    with renewal.during(again.release):
        reach(again, 1)


def test_a_renewal_that_fails_stops_no_other() -> None:
    def fails() -> None:
        raise RuntimeError

    renewal, calls = LeaseRenewal(EVERY), Semaphore(0)
    with renewal.during(fails), renewal.during(calls.release):
        reach(calls, 3)


def test_work_that_hangs_loses_its_lease() -> None:
    renewal, renewed = LeaseRenewal(EVERY, longest=0), Semaphore(0)
    with renewal.during(renewed.release), renewal.during(renewed.release):
        for thread in threads():
            thread.join(10 * EVERY)
    assert not renewed.acquire(blocking=False)


@pytest.mark.on_each_database
@pytest.mark.parametrize("name", ["order_paid", "checkout_created"], ids=["its own", "one that waited before it"])
def test_nobody_takes_an_event_from_a_receiver_that_works_longer_than_the_lease(
    open_shop: OpenShop, new_database: NewDatabase, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The event of a payment, or an earlier event of the order, which is delivered first."""
    shop, renewal = open_shop(SQLALCHEMY_DATABASE_URI=new_database("slow")), LeaseRenewal(EVERY)
    object.__setattr__(shop.runtime.receiver_runs, "renewal", lambda: renewal)
    runs: list[str] = []
    renewed = Event()
    waits_until_renewed(monkeypatch, renewed, name)

    def slow(app: object, *, order_id: str, **facts: object) -> None:
        runs.append(order_id)
        for _ in range(3):
            shop.waits(seconds=45)
            renewed.clear()
            assert renewed.wait(10), "nobody renews the lease"
            assert shop.reconciles().delivered == 0

    fails_first = iter([RuntimeError("not now")] * (name == "checkout_created"))

    def tell(app: object, **facts: Any) -> None:
        for failure in fails_first:
            raise failure
        slow(app, **facts)

    def ship(app: object, **facts: object) -> None:
        pass

    with BY_NAME[name].connected_to(tell, sender=shop.app), order_paid.connected_to(ship, sender=shop.app):
        shop.has_paid()
    # A running renewal would keep a connection beyond the test.
    eventually(lambda: renewal._thread is None)
    assert runs == ["o-1"]
    [event] = shop.events(name)
    assert (event.attempts, event.delivered_at) == (1 + (name == "checkout_created"), shop.clock.now)


def waits_until_renewed(monkeypatch: pytest.MonkeyPatch, renewed: Event, name: str) -> None:
    """Set `renewed` at each renewal of these events that began after the current one."""
    renew: Callable[..., None] = EventQueue.renew

    def noted(queue: object, events: list[HeldEvent], now: object) -> None:
        fresh = not renewed.is_set() and any(event.name == name for event in events)
        renew(queue, events, now)
        if fresh:
            renewed.set()

    monkeypatch.setattr(EventQueue, "renew", noted)


def test_an_in_memory_database_is_left_alone(open_shop: OpenShop) -> None:
    """All threads share its one connection: a renewal would run inside the receiver's transaction."""
    shop = open_shop(SQLALCHEMY_DATABASE_URI="sqlite://")
    before = threads()

    def look(app: object, **facts: object) -> None:
        assert [thread for thread in threads() if thread not in before] == []

    with order_paid.connected_to(look, sender=shop.app):
        shop.has_paid()
    assert shop.events("order_paid")[0].delivered_at is not None
