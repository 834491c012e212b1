"""Receivers of payouts' signals: effects in the shop's database exactly once, others at least once with one event_id.

As with `order_paid`: a receiver that fails for a while or for ever keeps no other one waiting, and an atomic one is
committed with the move, or neither is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from sqlalchemy import select

from flask_paycheckout import payout_completed, payout_failed, payout_sent, payout_unknown
from flask_paycheckout.signals import Signal
from tests.payouts.books import Books
from tests.payouts.shop import TOKEN, WALLET, comes_to_rest, payout, pays_out, sends
from tests.races.crowds import crowd
from tests.races.effects import writes
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database

SIGNALS = (payout_sent, payout_completed, payout_failed, payout_unknown)
DELIVERERS, ROUNDS = 4, 14


class Receivers:
    """Receivers of each signal, of which two fail: one five times for each event, one for ever."""

    def __init__(self, shop: Shop) -> None:
        self._shop = shop
        self.runs: Counter[tuple[str, str]] = Counter()
        #: The ids under which the one outside heard of each signal of each payout.
        self.outside: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def named(self, who: str, signal: Signal, failures: int = 0) -> Callable[..., object]:
        """A receiver that leaves its row, and then fails so many times for each event."""

        def receive(app: object, *, payout: Any, event_id: str, **facts: object) -> None:
            writes(self._shop, f"{who} {signal.name}", payout.reference)
            self.runs[who, event_id] += 1
            if self.runs[who, event_id] <= failures:
                raise RuntimeError(f"{who} is down")

        receive.__qualname__ = who
        return receive

    def tells(self, signal: Signal) -> Callable[..., object]:
        """A receiver that tells somebody outside, who is told again when the commit is not a fact."""

        def outside(app: object, *, payout: Any, event_id: str, **facts: object) -> None:
            self.outside[signal.name, payout.reference][event_id] += 1
            if self.outside[signal.name, payout.reference][event_id] == 1:
                raise ConnectionError("told, and then the process died")

        return outside

    @contextmanager
    def connected(self) -> Iterator[None]:
        with ExitStack() as stack:
            for signal in SIGNALS:
                for receiver in (
                    self.named("first", signal),
                    self.named("five times", signal, 5),
                    self.named("for ever", signal, 10**6),
                    self.tells(signal),
                    self.named("last", signal),
                ):
                    stack.enter_context(signal.connected_to(receiver, sender=self._shop.app))
            yield


def effects(shop: Shop) -> dict[str, Counter[str]]:
    """How many committed rows each receiver left for each payout."""
    table = shop.db.metadata.tables["effect"]
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    with shop.runtime.engine().connect() as connection:
        for who, reference in connection.execute(select(table.c.who, table.c.order_id)):
            found[reference][who] += 1
    return dict(found)


def test_effects_of_each_move_are_there_once_whoever_fails(shop: Shop, books: Books) -> None:
    """Several senders and reconcilers drive the deliveries at once."""
    receivers = Receivers(shop)
    with receivers.connected(), crowd(DELIVERERS) as deliverers:
        pays_out(shop, "completed")
        pays_out(shop, "failed")
        pays_out(shop, "unknown", "8.00", to=WALLET, currency=TOKEN)
        sends(shop)
        failing = next(one for one in books.paid if one.reference.startswith("failed"))
        books.paper.add("finished", id=failing.id, status="failed")
        books.finish()
        for _ in range(ROUNDS):
            shop.clock.advance(hours=2)
            deliverers.does([lambda: sends(shop), shop.reconciles] * (DELIVERERS // 2))

    ways = {"completed": ["sent", "completed"], "failed": ["sent", "failed"], "unknown": ["sent"]}
    expected = {
        reference: {f"{who} payout_{state}": 1 for who in ("first", "five times", "last") for state in states}
        for reference, states in ways.items()
    }
    assert effects(shop) == expected
    assert {runs for (who, _), runs in receivers.runs.items() if who == "five times"} == {6}
    assert {len(ids) for ids in receivers.outside.values()} == {1}, "each event has one id, however often it is told"
    assert {count for ids in receivers.outside.values() for count in ids.values()} == {2}
    assert set(receivers.outside) == {
        (f"payout_{state}", reference) for reference, states in ways.items() for state in states
    }


def test_an_atomic_receiver_is_committed_with_the_completion_or_not_at_all(shop: Shop, books: Books) -> None:
    down, heard = True, list[str]()

    @shop.paycheckout.atomic
    def book(app: object, *, payout: Any, event_id: str, **facts: object) -> None:
        assert payout.status == "completed"
        heard.append(event_id)
        writes(shop, "book", payout.reference)
        if down:
            raise RuntimeError("the ledger is closed")

    with payout_completed.connected_to(book, sender=shop.app), crowd(DELIVERERS) as threads:
        pays_out(shop, "p-1")
        sends(shop)
        books.finish()
        for _ in range(3):
            shop.clock.advance(hours=2)
            threads.does([lambda: sends(shop)] * DELIVERERS)
            assert payout(shop, "p-1").status == "sent"
            assert effects(shop) == {}
        down = False
        shop.clock.advance(hours=2)
        threads.does([lambda: sends(shop)] * DELIVERERS)
        assert payout(shop, "p-1").status == "completed"
        assert effects(shop) == {"p-1": {"book": 1}}
        comes_to_rest(shop, books)
    (event,) = (event for event in shop.events() if event.name == "payout_completed")
    assert set(heard) == {event.event_id}, "in each try"
