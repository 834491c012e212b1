"""Receivers of payouts' signals: effects in the shop's database exactly once, others at least once with one event_id.

As with `order_paid`: a receiver that fails for a while or for ever keeps no other one waiting, and an atomic one is
committed with the move, or neither is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from contextlib import ExitStack
from typing import Any

import pytest

from flask_paycheckout import payout_completed, payout_failed, payout_sent, payout_unknown
from tests.payouts.books import Books
from tests.payouts.shop import TOKEN, WALLET, comes_to_rest, payout, pays_out, sends
from tests.races.crowds import crowd
from tests.races.effects import Writer, counts, writes
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database

SIGNALS = (payout_sent, payout_completed, payout_failed, payout_unknown)
DELIVERERS, ROUNDS = 4, 14


class Outside:
    """A receiver that tells somebody outside, who is told again when the commit is not a fact."""

    __qualname__ = "outside"

    def __init__(self) -> None:
        #: The ids under which somebody heard of each payout.
        self.told: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def __call__(self, app: object, *, payout: Any, event_id: str, **facts: object) -> None:
        self.told[payout.reference][event_id] += 1
        if self.told[payout.reference][event_id] == 1:
            raise ConnectionError("told, and then the process died")


def test_effects_of_each_move_are_there_once_whoever_fails(shop: Shop, books: Books) -> None:
    """Several senders and reconcilers drive the deliveries at once."""
    outside, five_times = {signal.name: Outside() for signal in SIGNALS}, list[Writer]()
    with ExitStack() as stack:
        for signal in SIGNALS:
            first, five, for_ever, last = (
                Writer(shop, f"{who} {signal.name}", failures)
                for who, failures in (("first", 0), ("five times", 5), ("for ever", 10**6), ("last", 0))
            )
            five_times.append(five)
            for receiver in (first, five, for_ever, outside[signal.name], last):
                stack.enter_context(signal.connected_to(receiver, sender=shop.app))
        deliverers = stack.enter_context(crowd(DELIVERERS))
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
    for reference, states in ways.items():
        expected = {f"{who} payout_{state}": 1 for who in ("first", "five times", "last") for state in states}
        assert counts(shop, reference) == expected
    assert {runs for receiver in five_times for runs in receiver.runs.values()} == {6}
    told = {(name, reference): ids for name, one in outside.items() for reference, ids in one.told.items()}
    assert {len(ids) for ids in told.values()} == {1}, "each event has one id, however often it is told"
    assert {count for ids in told.values() for count in ids.values()} == {2}
    assert set(told) == {(f"payout_{state}", reference) for reference, states in ways.items() for state in states}


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
            assert counts(shop, "p-1") == {}
        down = False
        shop.clock.advance(hours=2)
        threads.does([lambda: sends(shop)] * DELIVERERS)
        assert payout(shop, "p-1").status == "completed"
        assert counts(shop, "p-1") == {"book": 1}
        comes_to_rest(shop, books)
    (event,) = (event for event in shop.events() if event.name == "payout_completed")
    assert set(heard) == {event.event_id}, "in each try"
