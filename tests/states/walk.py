"""One checkout of a real shop, with its model: both get the same evidence, and can return to an earlier moment."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest

from flask_paycheckout.errors import TransitionRefused
from tests.scripted import Shop, number
from tests.states.model import LEGAL, Model
from tests.states.watching import MOVES, driver_of


class Walk:
    """
    :param shop: with an empty SQLite database in memory, whose moves are watched.
    :param accept: how a person decides when a payment is held.
    """

    def __init__(self, shop: Shop, *, accept: bool) -> None:
        self.shop = shop
        self.accept = accept
        self.model = Model()
        self.path: tuple[str, ...] = ()
        self.checkout_id = shop.starts()
        self._began = shop.clock.now
        with shop.app.app_context():
            self._raw = driver_of(shop.db.engine)

    def takes(self, kind: str) -> None:
        """Give one piece of evidence to the shop and the model, which must agree afterwards."""
        self.path += (kind,)
        KINDS[kind](self)
        story = ", ".join(self.path)
        moves = self._raw.execute(MOVES).fetchall()
        assert moves[-1][2] == self.model.state, f"{story}: {moves}, but the table says {self.model.state}"
        assert {(before, after) for _, before, after in moves} <= LEGAL, f"{story}: {moves}"
        signals = [row[0] for row in self._raw.execute("SELECT name FROM paycheckout_event ORDER BY id")]
        assert signals == self.model.signals, story

    # Moments

    def moment(self) -> Any:
        """A snapshot to return to: the database, the time, the service's answers, and the model."""
        service = dict(self.shop.service.deposits)
        return self._raw.serialize(), self.shop.clock.now, service, deepcopy(self.model), self.path

    def back_to(self, moment: Any) -> None:
        image, self.shop.clock.now, service, model, self.path = moment
        self._raw.deserialize(image)
        self.shop.service.deposits = dict(service)
        self.model = deepcopy(model)

    def content(self) -> Any:
        """The facts that the next read can depend on, with the time; the number of earlier reads is not one of them."""
        stored = self._raw.execute(
            "SELECT status, reason, paid_order_id, deposit_status, not_found_since FROM paycheckout_checkout"
        )
        return tuple(stored.fetchone()), self.shop.clock.now

    # Evidence

    @property
    def _age(self) -> float:
        return (self.shop.clock.now - self._began).total_seconds()

    def is_not_found(self) -> None:
        self.shop.service.deposits.pop(self.checkout_id, None)
        self._reads(None)

    def is_not_found_late(self) -> None:
        """The deposit is not found after the page's end."""
        self.shop.clock.now = max(self.shop.clock.now + timedelta(minutes=1), self._began + timedelta(minutes=17))
        self.is_not_found()

    def says(self, status: str, *, right: bool = True) -> None:
        self.shop.service.says(self.checkout_id, status, **({} if right else {"inputAmount": number("12.51")}))
        self._reads(status, right=right)

    def is_decided(self) -> None:
        """A person decides, which is possible for a held payment only."""
        possible = self.model.decides(accept=self.accept)
        with nullcontext() if possible else pytest.raises(TransitionRefused):
            self.shop.runtime.resolutions.resolve(self.checkout_id, self.accept, "Ada", "seen on the statement")

    def _reads(self, answer: str | None, *, right: bool = True) -> None:
        self.shop.runtime.settlement.settle(self.checkout_id)
        self.model.reads(answer, self._age, right=right)


KINDS: dict[str, Callable[[Walk], None]] = {
    "not found": Walk.is_not_found,
    "not found late": Walk.is_not_found_late,
    "pending": lambda walk: walk.says("pending"),
    "completed": lambda walk: walk.says("completed"),
    "completed wrong": lambda walk: walk.says("completed", right=False),
    "closed": lambda walk: walk.says("failed"),
    "decided": Walk.is_decided,
}
