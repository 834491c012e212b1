"""Receivers of payouts' signals: effects in the shop's database exactly once, others at least once with one event_id.

As with `order_paid`, a failing receiver delays no other one, and an atomic receiver is committed together with the
move, or neither is.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from itertools import product

import pytest

from flask_paycheckout import payout_completed, payout_failed, payout_sent, payout_unknown
from tests.payouts.books import Books
from tests.payouts.shop import TOKEN, WALLET, payout, pays_out, sends
from tests.races.crowds import crowd
from tests.races.effects import Writer, counts
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database

SIGNALS = (payout_sent, payout_completed, payout_failed, payout_unknown)
DELIVERERS, ROUNDS = 4, 14
#: The number of failures of each receiver for each event.
FAILURES = {"first": 0, "five times": 5, "for ever": 10**6, "once": 1, "last": 0}
ENDING = FAILURES.keys() - {"for ever"}


def test_effects_of_each_move_are_there_once_whoever_fails(shop: Shop, books: Books) -> None:
    """Several senders and reconcilers deliver at the same time; a completion waits for its atomic receiver."""
    receivers: dict[tuple[str, str], Writer] = {}
    books_it = Writer(shop, "book", failures=3)
    with ExitStack() as stack:
        for signal, (who, failures) in product(SIGNALS, FAILURES.items()):
            receiver = receivers[who, signal.name] = Writer(shop, f"{who} {signal.name}", failures)
            stack.enter_context(signal.connected_to(receiver, sender=shop.app))
        stack.enter_context(payout_completed.connected_to(shop.paycheckout.atomic(books_it), sender=shop.app))
        deliverers = stack.enter_context(crowd(DELIVERERS))
        pays_out(shop, "completed")
        pays_out(shop, "failed")
        pays_out(shop, "unknown", "8.00", to=WALLET, currency=TOKEN)
        sends(shop)
        failing = next(payout for payout in books.paid if payout.reference.startswith("failed"))
        books.paper.add("finished", id=failing.id, status="failed")
        books.finish()
        for _ in range(ROUNDS):
            shop.waits(hours=2)
            deliverers.does([lambda: sends(shop), lambda: shop.reconciles()] * (DELIVERERS // 2))
            is_booked = counts(shop, "completed").get("book", 0)
            assert is_booked == (payout(shop, "completed").status == "completed"), "both are committed, or neither is"

    ways = {"completed": ["sent", "completed"], "failed": ["sent", "failed"], "unknown": ["sent"]}
    for reference, states in ways.items():
        booked = {"book": 1} if "completed" in states else {}
        assert counts(shop, reference) == booked | {f"{who} payout_{state}": 1 for who in ENDING for state in states}
    told = [event for event in shop.events() if event.name in {signal.name for signal in SIGNALS}]
    assert len(told) == sum(map(len, ways.values()))
    for who in ENDING:
        runs = sum((writer.runs for (name, _), writer in receivers.items() if name == who), Counter[str]())
        assert runs == {event.event_id: FAILURES[who] + 1 for event in told}, "by one id, however often it is told"
    assert books_it.runs == {event.event_id: 4 for event in told if event.name == "payout_completed"}, "in each try"
