"""Random histories of orders, with receivers that fail, hang and die: each receives all events in order.

Superseded events are left out, and no effect is in the database twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any

import pytest
from sqlalchemy import Column, Integer, select

from flask_paycheckout.signals import BY_NAME
from tests.chance import seed_of, soak_count, stream
from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience
from tests.races.effects import add_effects, writes
from tests.scripted import Shop, number

_RECEIVERS = ("stock", "mail", "books")
_OVERTAKEN = {"order_pending", "order_abandoned"}


class Died(KeyboardInterrupt):
    """Simulates the death of a process: nothing is released."""


class Histories:
    """A shop whose receivers fail, hang and die until the test turns that off."""

    def __init__(self, shop: Shop, chance: Random) -> None:
        self.shop = shop
        self.chance = chance
        self.wild = True
        self.wrong: list[str] = []
        self.fates: list[str] = []
        self._hanging = False
        # A dying process does not release its event.
        object.__setattr__(shop.runtime.receiver_runs, "let_go", lambda event: None)

    def receiver(self, name: str, signal: str) -> Callable[..., None]:
        def receive(app: object, *, order_id: str, event_id: str, **facts: object) -> None:
            self._look(name, order_id, event_id)
            fate = self.chance.choice(["well"] * 4 + ["raises", "leaves", "hangs", "dies"]) if self.wild else "well"
            self.fates.append(f"{name} {signal} {fate}")
            if fate == "hangs" and not self._hanging:
                self._hang()
            if fate == "dies":
                raise Died
            writes(self.shop, f"{name} {event_id}"[:40], order_id)
            if fate == "raises":
                raise RuntimeError(name)
            if fate == "leaves":
                raise SystemExit(name)

        receive.__qualname__ = name
        return receive

    def _hang(self) -> None:
        """Let others take the event after the lease has expired, before the receiver continues."""
        self._hanging = True
        try:
            self.shop.waits(seconds=61)
            self._surviving(self.shop.reconciles)
        finally:
            self._hanging = False

    def _look(self, name: str, order_id: str, event_id: str) -> None:
        """Check that a receiver has got all earlier events of the order, except superseded ones."""
        for event in self.events(order_id):
            if event.event_id == event_id:
                return
            if not (event.delivered_at or event.superseded_at or name in event.receivers_done):
                self.wrong.append(f"{name} of {order_id} hears of {event_id} before {event.name}")

    def events(self, order_id: str) -> list[Any]:
        table = self.shop.runtime.models.events
        with self.shop.engine.connect() as connection:
            return list(connection.execute(select(table).where(table.c.order_id == order_id).order_by(table.c.id)))

    def _surviving(self, act: Callable[[], Any]) -> Any:
        try:
            return act()
        except Died:
            return None

    def happens_to(self, order_id: str) -> None:
        """Make a random history of seven steps."""
        self.shop.costs("12.50", order_id)
        for _ in range(7):
            attempts = self.shop.attempts(order_id)
            step = self.chance.choice(["starts", "picks", "fails", "fails", "pays", "pays wrong", "waits"])
            if step == "starts" or not attempts:
                if not {attempt.status for attempt in attempts} & {"paid", "held"}:
                    self.shop.waits(minutes=16 if attempts else 0)
                    self._surviving(lambda: self.shop.starts(order_id))
            elif step == "waits":
                self.shop.waits(seconds=self.chance.choice([1, 30, 61, 600]))
                self._surviving(self.shop.reconciles)
            else:
                self._settles(self.chance.choice(attempts).checkout_id, step)

    def _settles(self, checkout_id: str, step: str) -> None:
        status = {"picks": "pending", "fails": "failed"}.get(step, "completed")
        wrong = {"inputAmount": number("1")} if step == "pays wrong" else {}
        self.shop.service.says(checkout_id, status, **wrong)
        self._surviving(lambda: self.shop.settles(checkout_id))

    def comes_to_rest(self) -> None:
        self.wild = False
        for _ in range(40):
            self.shop.waits(minutes=70)
            self.shop.runtime.outbox.deliver_due()
            if not [event for event in self.shop.events() if event.next_attempt_at]:
                return
        self.wrong.append("events still wait")

    def check(self, order_id: str) -> None:
        """Check that each receiver wrote all events, in order."""
        table = self.shop.db.metadata.tables["effect"]
        events = self.events(order_id)
        written = select(table.c.who).where(table.c.order_id == order_id).order_by(table.c.id)
        with self.shop.engine.connect() as connection:
            rows = [row.split() for row in connection.execute(written).scalars()]
        for name in _RECEIVERS:
            heard = [event_id for who, event_id in rows if who == name]
            happened = [
                event.event_id[: 39 - len(name)]
                for event in events
                if event.superseded_at is None or event.event_id[: 39 - len(name)] in heard
            ]
            if heard != happened:
                self.wrong.append(f"{name} of {order_id} heard {heard}, but there happened {happened}")
        for event in events:
            if event.superseded_at is not None and event.name not in _OVERTAKEN:
                self.wrong.append(f"{event.name} of {order_id} was superseded")


@contextmanager
def connected(histories: Histories) -> Iterator[None]:
    with ExitStack() as stack:
        for signal in BY_NAME.values():
            for name in _RECEIVERS:
                receiver = histories.receiver(name, signal.name)
                stack.enter_context(signal.connected_to(receiver, sender=histories.shop.app))
        yield


@pytest.mark.on_each_database
def test_each_receiver_hears_what_happened_in_order_less_what_was_superseded(
    open_shop: OpenShop, new_database: NewDatabase, database_kind: str, pytestconfig: pytest.Config
) -> None:
    chance = stream(seed_of(pytestconfig), "histories")
    database = with_patience(new_database("histories"), 30)

    def add(db: Any) -> None:
        add_effects(db)
        effect = db.metadata.tables["effect"]
        effect.append_column(Column("id", Integer, primary_key=True))

    shop = open_shop(prepare=add, SQLALCHEMY_DATABASE_URI=database, PAYCHECKOUT_RECONCILE_READERS=1)
    histories = Histories(shop, chance)
    orders = [f"h-{n}" for n in range(soak_count(60 if database_kind == "sqlite" else 20))]
    with connected(histories):
        for order_id in orders:
            histories.happens_to(order_id)
        histories.comes_to_rest()
    for order_id in orders:
        histories.check(order_id)
    assert histories.wrong == []
    superseded = [event for event in shop.events() if event.superseded_at]
    assert superseded, "else nothing of it was tried"
    assert {fate.split()[2] for fate in histories.fates} == {"well", "raises", "leaves", "hangs", "dies"}
