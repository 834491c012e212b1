"""Random histories of orders on two hosts whose clocks differ: the books equal an oracle that counts in whole cents.

A restored backup loses all changes since it was made.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any

import pytest

from flask_paycheckout import SETTINGS, Account, Pay, order_paid
from flask_paycheckout.books.audit import rechecks
from flask_paycheckout.payouts.payout_table import tries_of
from flask_paycheckout.testing import Sandbox
from tests.books.conftest import contents, restores
from tests.chance import seed_of, soak_count, stream
from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience
from tests.payouts.paying import BANK, FIAT, LIST, Payer
from tests.payouts.shop import refunds
from tests.test_cli import runs

# Seconds by which the clocks of the hosts differ.
AHEAD = 240
# Orders whose steps are done together; a backup is restored every second time.
BATCH = 6
# The sellers of half of the orders: one has its own keys, the other uses the keys of the settings.
OWN, HOSTED = "own", "hosted"


@dataclass
class Out:
    """A payout, and the bank's result for each try."""

    cents: int
    ends: list[Any]

    @property
    def amount(self) -> str:
        return f"{self.cents / 100:.2f}"

    @property
    def rests_as(self) -> str:
        return {"stays": "sent", "completed": "completed", "failed": "cancelled"}[self.ends[-1]]

    @staticmethod
    def drawn(chance: Random) -> Out:
        ends = chance.choices(["stays", "completed", "failed"], k=2)
        return Out(chance.randrange(200, 600), ends if ends[0] == "failed" and chance.random() < 0.5 else ends[:1])


@dataclass
class Story:
    """One order with all its planned events, which happen also after a restore."""

    order_id: str
    account: str
    cents: int
    accepted: bool | None
    refund: Out | None
    payout: Out | None
    checkout_id: str = ""

    @property
    def payment(self) -> str:
        return "payment" if self.cents == 1250 or self.accepted else "held"

    def count(self, oracle: Counter[str]) -> None:
        oracle[self.payment] += self.cents
        for kind, out in (("refund", self.refund), ("payout", self.payout)):
            if out is not None:
                oracle[kind] -= out.cents * len(out.ends)
                oracle[f"{kind}_returned"] += out.cents * out.ends.count("failed")


class Histories:
    """Two hosts of one shop, which are restarted with other keys or on a restored database."""

    def __init__(self, open_shop: OpenShop, database: str, chance: Random) -> None:
        self.sandbox = Sandbox()
        self.chance = chance
        self.oracle: Counter[str] = Counter()
        self.failing = False
        self.finished: set[str] = set()
        address = with_patience(database, 30)
        self._opens = partial(open_shop, sandbox=self.sandbox, SQLALCHEMY_DATABASE_URI=address)
        self.hosts: list[Payer] = []
        self.totals: dict[str, Any] = {}
        own = self.sandbox.account(OWN)
        own_keys = Account(own.client_id, own.client_secret, access_token=own.access_token)
        settings = self.sandbox.account("default")
        hosted = Account(settings.client_id, settings.client_secret, access_token=SETTINGS)
        self.keys = {OWN: own_keys, HOSTED: hosted}
        self.restarts()

    def restarts(self) -> None:
        for host in self.hosts:
            with host.shop.app.app_context():
                host.shop.db.engine.dispose()
        self.hosts = [Payer(self._opens(ahead=seconds), self.sandbox) for seconds in (0, AHEAD)]
        for host in self.hosts:
            shop = host.shop
            shop.totals = self.totals
            shop.paycheckout.order_total(self.totals.get)
            shop.paycheckout.account_of(lambda order_id: order_id.split("-")[0])
            shop.paycheckout.account(self.keys.get)
            shop.paycheckout.atomic(self.close)
            order_paid.connect(self.close, sender=shop.app)

    def close(self, app: object, **facts: object) -> None:
        if self.failing:
            raise RuntimeError("no such shelf")

    @property
    def host(self) -> Payer:
        return self.chance.choice(self.hosts)

    def batch(self, orders: range) -> None:
        stories = [self.drawn(number) for number in orders]
        began = self.sandbox.now
        self.begin(stories)
        steps: list[Callable[[list[Story]], None]] = [self.settle, self.ask, self.send, self.follow]
        backup_before = self.chance.randrange(len(steps))
        for number, step in enumerate(steps):
            if number == backup_before:
                backup = contents(self.hosts[0].shop)
            step(stories)
        if orders.start % (2 * BATCH) == 0:
            self.restore(backup, began)
            for step in steps:
                step(stories)
        for story in stories:
            story.count(self.oracle)

    def drawn(self, number: int) -> Story:
        chance = self.chance
        account = chance.choice(["", "", OWN, HOSTED])
        cents, accepted = chance.choice([1250, 1250, 1250, 700]), chance.choice([True, False, None])
        refund = Out.drawn(chance) if (cents == 1250 or accepted is not None) and chance.random() < 0.6 else None
        payout = Out.drawn(chance) if chance.random() < 0.4 else None
        return Story(f"{account}-{number}", account, cents, accepted, refund, payout)

    # Steps, each of which may be repeated after a restore

    def begin(self, stories: list[Story]) -> None:
        for story in stories:
            self.totals[story.order_id] = Pay("12.50", "USD")
            story.checkout_id = self.host.shop.starts(story.order_id)
            self.sandbox.pay(story.checkout_id, f"{story.cents / 100:.2f}")

    def settle(self, stories: list[Story]) -> None:
        for story in stories:
            shop = self.host.shop
            self.failing = self.chance.random() < 0.3
            shop.settles(story.checkout_id)
            self.failing = False
            status = shop.settles(story.checkout_id).status
            if status == "held" and story.accepted is not None:
                shop.resolves(story.checkout_id, accept=story.accepted)

    def ask(self, stories: list[Story]) -> None:
        for story in stories:
            shop = self.host.shop
            if story.refund is not None and not shop.runtime.payouts.of_checkout(story.checkout_id):
                refunds(shop, story.checkout_id, story.refund.amount, to=BANK)
            if story.payout is not None:
                self.host.owes(f"maker{story.order_id}", story.payout.amount, BANK, account=story.account)

    def send(self, stories: list[Story]) -> None:
        """Send payouts; some answers are lost, and the first lookup after them fails."""
        for kind in self.chance.choices(["lose_response", "drop", None], k=2):
            if kind is not None:
                self.sandbox.fault(FIAT, kind)
                self.sandbox.fault(LIST, "error", statusCode=403)
        self.host.sends()
        self.sandbox.control("DELETE", "faults")

    def follow(self, stories: list[Story]) -> None:
        """Let the bank act as planned, and people decide, until nothing waits."""
        for _ in range(20):
            # Payouts that are due for the host ahead become due for the other one, too.
            self.sandbox.advance(minutes=45)
            self.host.sends()
            rest = [self.rests(reference, out) for story in stories for reference, out in self.outs(story)]
            if all(rest):
                return
        raise AssertionError([self.host.payout(payout) for story in stories for payout, _ in self.outs(story)])

    def outs(self, story: Story) -> list[tuple[str, Out]]:
        payments_out = []
        if story.refund is not None:
            [refund] = self.host.shop.runtime.payouts.of_checkout(story.checkout_id)
            payments_out.append((refund.reference, story.refund))
        if story.payout is not None:
            payments_out.append((f"maker{story.order_id}", story.payout))
        return payments_out

    def rests(self, reference: str, out: Out) -> bool:
        payout = self.host.payout(reference)
        sent, number = payout.service_reference, len(tries_of(payout.earlier))
        if payout.status == out.rests_as and number >= len(out.ends) - 1:
            return True
        if payout.status == "unknown":
            is_there = any(payout.reference == sent for payout in self.sandbox.payouts)
            self.host.decides("resolve_payout", is_there, reference=reference)
        elif payout.status == "sent" and sent not in self.finished:
            self.sandbox.finish(payout, out.ends[number])
            self.finished.add(sent)
        elif payout.status == "failed":
            self.host.decides("retry_payout", reference=reference)
            if number + 1 == len(out.ends):
                self.host.decides("cancel_payout", reference=reference)
        return False

    # The database

    def restore(self, backup: list[tuple[Any, list[Any]]], since: datetime) -> None:
        """Set the database back, and run the commands of the page "After a restore"."""
        restores(self.hosts[0].shop, backup)
        self.restarts()
        for command in (["doctor"], ["reconcile"], ["audit", "--from", since.isoformat()], ["report"]):
            runs(self.hosts[0].shop, *command, catch_exceptions=False)

    def booked(self) -> Any:
        """The sums by kind, in cents."""
        shop = self.hosts[0].shop
        sums: Any = Counter()
        for line in shop.calls.books():
            gross, fee = line.gross or 0, line.fee or 0
            assert line.net == gross - fee
            sums[line.kind.value] += gross * 100
        return sums


@pytest.mark.on_each_database
@pytest.mark.parametrize("orders", [2 * BATCH, pytest.param(soak_count(1000), marks=pytest.mark.soak)])
def test_the_books_of_random_histories_equal_the_oracle(
    open_shop: OpenShop,
    new_database: NewDatabase,
    monkeypatch: pytest.MonkeyPatch,
    pytestconfig: pytest.Config,
    orders: int,
) -> None:
    monkeypatch.setattr(rechecks, "_CALM", 0.0)
    histories = Histories(open_shop, new_database("ledger"), stream(seed_of(pytestconfig), "ledger"))
    histories.host.shop.reconciles()
    for first in range(0, orders, BATCH):
        histories.batch(range(first, min(first + BATCH, orders)))
    assert histories.booked() == histories.oracle
    at_service = sum(Decimal(payout.amount) for payout in histories.sandbox.payouts if payout.status != "failed")
    out = sum(cents for kind, cents in histories.oracle.items() if kind not in ("payment", "held"))
    assert -at_service * 100 == out, "and the service's own books"
    histories.sandbox.advance(minutes=60)
    audit = runs(histories.hosts[0].shop, "audit")
    assert audit.exit_code == 0, audit.output
