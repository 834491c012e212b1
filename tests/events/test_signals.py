"""Signals keep their receivers, also those from a factory; if a factory runs again, only the newest."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import PayCheckout, order_paid, payment_held
from flask_paycheckout.checkouts.ruling import ReadCause
from flask_paycheckout.checkouts.states import FoundBy
from flask_paycheckout.signals import Signal
from tests.alarming import urgent
from tests.conftest import OpenShop
from tests.scripted import Shop, make_app
from tests.test_bounds import statements


@pytest.fixture(autouse=True)
def only_these_receivers() -> Iterator[None]:
    """Remove the receivers that a test has connected."""
    before = list(order_paid.receivers_for(None))
    yield
    for receiver in list(order_paid.receivers_for(None)):
        if receiver not in before:
            order_paid.disconnect(receiver)


def test_receivers_of_a_factory_run_once_for_each_payment_however_often_it_ran(open_shop: OpenShop) -> None:
    """The factory connects its receivers inside."""
    heard: list[tuple[str, str]] = []

    def create_app(name: str) -> Shop:
        def prepare(db: object) -> None:
            @order_paid.connect
            def before_init_app(app: Flask, **facts: object) -> None:
                heard.append((name, "before"))

        shop = open_shop(name, prepare=prepare)

        @order_paid.connect
        def after_init_app(app: Flask, **facts: object) -> None:
            heard.append((name, "after"))

        for each in ("first", "second"):

            def in_a_loop(app: Flask, each: str = each, **facts: object) -> None:
                heard.append((name, each))

            order_paid.connect(in_a_loop)
        return shop

    for name in ("one", "two", "three"):
        shop = create_app(name)
        gc.collect()
        shop.has_paid()
        assert heard == [(name, "before"), (name, "after"), (name, "first"), (name, "second")]
        heard.clear()


def receivers(signal: Signal) -> list[Any]:
    return list(signal.receivers_for(None))


@pytest.fixture
def signal(monkeypatch: pytest.MonkeyPatch) -> Signal:
    """A signal in a process where no app was made yet."""
    monkeypatch.setattr("flask_paycheckout.signals._Apps.made", 0)
    signal = Signal("test")
    monkeypatch.setattr("flask_paycheckout.signals.BY_NAME", {"test": signal})
    return signal


def make_app_with_extension() -> Flask:
    app = make_app()
    PayCheckout(app, SQLAlchemy(app))
    return app


def logged(receiver: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*arguments: Any, **facts: Any) -> Any:
        return receiver(*arguments, **facts)

    return wrapper


def test_functions_with_the_same_decorator_are_different_receivers(signal: Signal) -> None:
    """Each wrapper has the same code. One is connected at import, the other one later."""
    kept = signal.connect(logged(lambda app, **facts: "ship"))
    make_app_with_extension()
    late = signal.connect(logged(lambda app, **facts: "mail"))
    make_app_with_extension()
    assert set(receivers(signal)) == {kept, late}


def test_with_a_single_app_nothing_connected_is_lost(signal: Signal) -> None:
    def maker(number: int) -> Callable[..., int]:
        return lambda app, **facts: number

    signal.connect(maker(1))
    make_app_with_extension()
    signal.connect(maker(2))
    gc.collect()
    assert sorted(receiver(None) for receiver in receivers(signal)) == [1, 2]


class Shipper:
    def ship(self, app: object, **facts: object) -> None: ...

    def __call__(self, app: object, **facts: object) -> None: ...


@pytest.mark.parametrize(
    "make", [lambda: Shipper().ship, Shipper, lambda: partial(Shipper().ship), lambda: partial(Shipper.ship, Shipper())]
)
def test_methods_objects_and_partials_of_an_earlier_run_give_way_too(
    signal: Signal, make: Callable[[], Callable[..., Any]]
) -> None:
    for _ in range(2):
        newest = signal.connect(make())
        make_app_with_extension()
        gc.collect()
    assert receivers(signal) == [newest]


def test_a_receiver_of_one_app_stays_as_long_as_the_app_and_no_longer(signal: Signal) -> None:
    apps = [make_app_with_extension() for _ in range(2)]
    for app in apps:

        @signal.connect_via(app)
        def closure(sender: Flask, app: Flask = app, **facts: object) -> None: ...

    gc.collect()
    assert [len(list(signal.receivers_for(app))) for app in apps] == [1, 1]
    gone = weakref.ref(apps.pop())
    del app, closure
    gc.collect()
    assert gone() is None, "a receiver that is closed over its app does not keep it"
    assert len(list(signal.receivers_for(apps[0]))) == 1


def test_a_receiver_that_is_connected_for_a_while_displaces_none_and_is_not_displaced(signal: Signal) -> None:
    def maker() -> Callable[..., None]:
        return lambda app, **facts: None

    kept = signal.connect(maker())
    with signal.connected_to(maker()):
        make_app_with_extension()
        make_app_with_extension()
        assert len(receivers(signal)) == 2
    assert receivers(signal) == [kept]
    signal.disconnect(kept)
    assert receivers(signal) == []


# Events that need a receiver


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    return open_shop(hears=False)


def write_down(into: list[str]) -> Callable[..., None]:
    def receive(app: object, *, order_id: str, **facts: object) -> None:
        into.append(order_id)

    return receive


@pytest.mark.on_each_database
def test_a_payment_that_nobody_hears_of_waits_for_a_process_that_listens(shop: Shop) -> None:
    shop.has_paid()
    [event] = shop.events("order_paid")
    assert (event.delivered_at, event.attempts) == (None, 0)
    for _ in range(3):
        assert shop.reconciles(minutes=1).delivered == 0
    [event] = shop.events("order_paid")
    assert (event.attempts, event.lease_token) == (0, None), "it costs nothing to leave it"
    ran = shop.runs("report")
    assert ran.exit_code == 1
    assert "nobody listens to order_paid in the process" in ran.output

    heard: list[str] = []
    with order_paid.connected_to(write_down(heard), sender=shop.app):
        assert shop.reconciles().delivered == 1
        assert shop.reconciles().delivered == 0
    assert heard == ["o-1"]


def test_a_listener_that_died_is_missed_by_a_process_without_one(shop: Shop) -> None:
    """The event was stored by a process with a receiver; the process that finds it has none."""
    with order_paid.connected_to(write_down([]), sender=shop.app):
        checkout_id = shop.starts()
        shop.service.says(checkout_id, "completed")
        settlement, cause = shop.runtime.settlement, ReadCause(FoundBy.SETTLE, shop.clock())
        settlement.apply(shop.attempt(checkout_id), settlement.reading(shop.attempt(checkout_id)), cause)
    shop.reconciles(minutes=1)
    [event] = shop.events("order_paid")
    assert event.delivered_at is None
    assert "nobody listens to order_paid" in event.last_error


@pytest.mark.on_each_database
def test_any_other_signal_may_go_unheard_until_a_process_listens(shop: Shop) -> None:
    shop.has_held()
    for _ in range(3):
        assert (shop.reconciles(minutes=5).failed, shop.reconciles().delivered) == (0, 0)
    waiting = {event.name: (event.attempts, event.next_attempt_at) for event in shop.events()}
    assert waiting == {"checkout_created": (0, None), "payment_held": (0, None)}, "no round looks at them"
    assert urgent(shop) == {"held-payments"}
    assert "nobody has listened to it so far" in shop.runs("show", "o-1").output
    heard: list[str] = []
    with payment_held.connected_to(write_down(heard), sender=shop.app):
        assert (shop.reconciles().delivered, shop.reconciles().delivered) == (1, 0)
    assert heard == ["o-1"]
    assert {event.name for event in shop.events() if event.delivered_at is None} == {"checkout_created"}


def test_a_round_costs_the_same_however_many_events_nobody_hears(shop: Shop) -> None:
    costs = list[int]()
    for started in (1, 2, 30):
        for number in range(started):
            shop.costs("12.50", f"o-{number}")
            shop.starts(f"o-{number}")
        with statements(shop) as executed:
            shop.reconciles(limit=0)
        costs.append(len(executed))
    assert costs[1] == costs[2]
