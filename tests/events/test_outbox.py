"""Events reach every receiver: each effect is stored once, in order, and only failed receivers run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from flask_paycheckout import order_paid
from tests.conftest import OpenShop
from tests.races.effects import add_effects, counts, writes
from tests.refusals import refuses
from tests.scripted import Shop

Receiver = Callable[..., object]

pytestmark = pytest.mark.on_each_database


@pytest.fixture
def noting_shop(open_shop: OpenShop) -> Shop:
    """A shop with a table that receivers write to."""
    return open_shop(prepare=add_effects)


@contextmanager
def receivers(shop: Shop, *connected: Receiver) -> Iterator[None]:
    with ExitStack() as stack:
        for receiver in connected:
            stack.enter_context(order_paid.connected_to(receiver, sender=shop.app))
        yield


def paid_event(shop: Shop) -> Any:
    (event,) = shop.events("order_paid")
    return event


class Recorder:
    """Named receivers that record their runs, and fail on request."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.failing: set[str] = set()

    def receiver(self, name: str) -> Receiver:
        def receive(app: object, **facts: object) -> None:
            self.ran.append(name)
            if name in self.failing:
                raise RuntimeError(f"{name} is down")

        receive.__qualname__ = name
        return receive


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def test_receivers_run_in_the_order_of_their_connection_with_the_events_facts(shop: Shop, recorder: Recorder) -> None:
    seen: list[Any] = []

    def keep(app: object, checkout: Any, **facts: Any) -> None:
        seen.append((app, checkout.checkout_id, checkout.status, facts))

    with receivers(shop, recorder.receiver("a"), recorder.receiver("b"), keep, recorder.receiver("c")):
        checkout_id = shop.has_paid()
    assert recorder.ran == ["a", "b", "c"]
    facts = {"order_id": "o-1", "event_id": paid_event(shop).event_id}
    assert seen == [(shop.app, checkout_id, "paid", facts)]


def test_only_the_receiver_that_failed_runs_again(shop: Shop, recorder: Recorder) -> None:
    recorder.failing = {"b"}
    with receivers(shop, *(recorder.receiver(name) for name in "abc")):
        shop.has_paid()
        assert recorder.ran == ["a", "b", "c"], "a failure stops nobody"
        assert paid_event(shop).delivered_at is None
        assert shop.reconciles().failed == 1
        recorder.failing = set()
        report = shop.reconciles(seconds=10)
    assert recorder.ran == ["a", "b", "c", "b", "b"]
    assert (report.delivered, report.failed) == (1, 0)
    assert paid_event(shop).delivered_at == shop.clock.now


def test_a_failing_receiver_is_tried_at_once_then_ever_more_rarely(shop: Shop, recorder: Recorder) -> None:
    recorder.failing = {"a"}
    waits = []
    with receivers(shop, recorder.receiver("a")):
        shop.has_paid()
        for _ in range(12):
            due = paid_event(shop).next_attempt_at
            waits.append((due - shop.clock.now).total_seconds())
            shop.clock.now = due - timedelta(seconds=1)
            assert shop.reconciles().failed == 0, "not before its time"
            shop.clock.now = due
            assert shop.reconciles().failed == 1
    assert waits == [0, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]
    assert "a is down" in paid_event(shop).last_error


def test_a_deliverer_that_lost_its_lease_writes_nothing(
    noting_shop: Shop, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A receiver takes longer than the lease, which is not renewed; another process delivers in the meantime."""
    monkeypatch.setattr(type(noting_shop.runtime.receiver_runs), "kept", lambda runs, events: nullcontext())
    runs: list[int] = []

    def slow(app: object, **facts: object) -> None:
        runs.append(1)
        if len(runs) == 1:
            assert noting_shop.reconciles(minutes=1).delivered == 1
        writes(noting_shop, f"run {len(runs)}", "o-1")

    with receivers(noting_shop, slow, recorder.receiver("after")):
        noting_shop.has_paid()
    assert counts(noting_shop, "o-1") == {"run 2": 1}, "the first run's effects were rolled back"
    assert recorder.ran == ["after"]
    assert paid_event(noting_shop).attempts == 2


@pytest.mark.parametrize("error", [SystemExit, GeneratorExit, StopIteration])
def test_a_receiver_that_wants_to_end_the_process_fails_like_any_other(
    shop: Shop, recorder: Recorder, error: type[BaseException]
) -> None:
    def leave(app: object, **facts: object) -> None:
        recorder.ran.append("leave")
        raise error

    with receivers(shop, leave, recorder.receiver("after")):
        shop.has_paid()
        assert recorder.ran == ["leave", "after"]
        assert shop.reconciles().failed == 1
    assert recorder.ran == ["leave", "after", "leave"]
    assert error.__name__ in paid_event(shop).last_error


def test_receivers_of_the_same_name_are_told_apart(shop: Shop, recorder: Recorder) -> None:
    with receivers(shop, *(recorder.receiver("twin") for _ in range(3))):
        shop.has_paid()
    assert recorder.ran == ["twin"] * 3
    assert [name.partition("twin")[2] for name in paid_event(shop).done if "twin" in name] == ["", "#2", "#3"]


def test_a_receiver_that_is_gone_is_not_waited_for(shop: Shop, recorder: Recorder) -> None:
    """A receiver that blinker connected weakly may be garbage-collected before the event's next attempt."""
    recorder.failing = {"a"}
    with receivers(shop, recorder.receiver("a")):
        shop.has_paid()
    assert shop.reconciles().delivered == 1
    assert paid_event(shop).delivered_at is not None


def test_an_outbox_that_cannot_be_reached_fails_no_settlement(
    shop: Shop, recorder: Recorder, caplog: pytest.LogCaptureFixture
) -> None:
    """The payment is stored; reconcile delivers the event once its lease has expired."""
    checkout_id = shop.has_deposit("completed")
    with receivers(shop, recorder.receiver("a")):
        with refuses(shop, "UPDATE", shop.runtime.models.events.name):
            assert shop.settles(checkout_id).status == "paid"
            assert "could not be delivered now; reconcile will try again" in caplog.text
        assert shop.reconciles().delivered == 0
        assert shop.reconciles(minutes=1).delivered == 1
    assert recorder.ran == ["a", "a"], "told twice with one event id, rather than never"


@pytest.mark.parametrize("batch", [1, 2, 5, 1000])
def test_one_round_delivers_every_event_that_is_due_once(open_shop: OpenShop, recorder: Recorder, batch: int) -> None:
    """A failing receiver makes its event due again at once, in the next round and not in this one."""
    shop = open_shop(hears=False)
    for number in range(5):
        shop.costs("12.50", f"o-{number}")
        shop.has_paid(f"o-{number}")
    recorder.failing, outbox = {"a"}, replace(shop.runtime.outbox, batch=batch)
    with receivers(shop, recorder.receiver("a")):
        assert outbox.deliver_due().failed == 5
        recorder.failing = set()
        assert outbox.deliver_due().delivered == 5
    assert len(recorder.ran) == 10
