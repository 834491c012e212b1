"""Random histories of orders on two hosts whose clocks differ: the books equal an oracle that counts in whole cents."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from flask_paycheckout import Pay, order_paid
from flask_paycheckout.books.audit import second_look
from flask_paycheckout.testing import Sandbox
from tests.chance import seed_of, soak_count, stream
from tests.conftest import NewDatabase, OpenShop
from tests.locks import with_patience
from tests.payouts.paying import ADA, Payer
from tests.test_cli import runs

AHEAD = timedelta(minutes=4)


class Ahead(httpx.BaseTransport):
    """Leads to the sandbox from a host whose clock is ahead of the sandbox's."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._transport: Any = sandbox.transport

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer: httpx.Response = self._transport.handle_request(request)
        return answer

    def clock(self) -> datetime:
        now: datetime = self._transport.clock()
        return now + AHEAD


class Histories:
    """Two hosts of one shop, and what each kind of line must come to, in cents."""

    def __init__(self, hosts: list[Payer], chance: Random) -> None:
        self.hosts = hosts
        self.sandbox = hosts[0].sandbox
        self.chance = chance
        self.oracle: Counter[str] = Counter()
        self.failing = False
        for host in hosts:
            host.shop.paycheckout.atomic(self.close)
            order_paid.connect(self.close, sender=host.shop.app)

    def close(self, app: object, **facts: object) -> None:
        if self.failing:
            raise RuntimeError("no such shelf")

    @property
    def host(self) -> Payer:
        return self.chance.choice(self.hosts)

    def happens_to(self, order_id: str) -> None:
        for host in self.hosts:
            host.shop.totals[order_id] = Pay("12.50", "USD")
        checkout_id = self.host.shop.starts(order_id)
        cents = self.chance.choice([1250, 1250, 1250, 700])
        self.sandbox.pay(checkout_id, f"{cents / 100:.2f}")
        self.failing = self.chance.random() < 0.3
        status = self.host.shop.settles(checkout_id).status
        self.failing = False
        status = self.host.shop.settles(checkout_id).status
        if status == "held" and self.chance.random() < 0.7:
            status = self.host.shop.resolves(checkout_id, accept=self.chance.random() < 0.5).status
        self.oracle["payment" if status == "paid" else "held"] += cents
        if status in ("paid", "rejected") and self.chance.random() < 0.6:
            self.goes_out("refund", self.refunds(checkout_id, back := self.chance.randrange(200, 600)), back)
        if self.chance.random() < 0.4:
            amount = self.chance.randrange(200, 900)
            self.goes_out("payout", self.host.owes(f"maker-{order_id}", f"{amount / 100:.2f}"), amount)

    def refunds(self, checkout_id: str, cents: int) -> str:
        shop = self.host.shop
        with shop.app.app_context():
            amount = f"{cents / 100:.2f}"
            made = shop.paycheckout.refund(checkout_id, amount, by="Ada", why="broken", to=ADA).reference
            shop.db.session.commit()
        return made

    def goes_out(self, kind: str, reference: str, cents: int) -> None:
        """It is sent, and may fail at the bank, and may then be sent again."""
        for _ in range(self.chance.choice([1, 1, 2])):
            # What the host ahead has made due is due for the other one, too.
            self.sandbox.advance(minutes=5)
            self.host.sends()
            assert self.host.status(reference) == "sent"
            self.oracle[kind] -= cents
            ends: Any = self.chance.choice(["stays", "completed", "failed"])
            if ends == "stays":
                return
            self.sandbox.finish(self.host.payout(reference), ends)
            self.sandbox.advance(minutes=45)
            self.host.sends()
            assert self.host.status(reference) == ends
            if ends == "completed":
                return
            self.oracle[f"{kind}_returned"] += cents
            self.host.decides("retry_payout", reference=reference)
        self.host.decides("cancel_payout", reference=reference)

    def booked(self) -> Counter[str]:
        shop = self.hosts[0].shop
        sums: Counter[str] = Counter()
        with shop.app.app_context():
            for line in shop.paycheckout.books():
                assert line.gross is not None
                assert line.fee is not None
                assert line.net == line.gross - line.fee
                cents = line.gross * 100
                assert cents == int(cents)
                sums[line.kind.value] += int(cents)
        return sums


def run(open_shop: OpenShop, database: str, chance: Random, orders: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_look, "_CALM", 0.0)
    sandbox = Sandbox()
    ahead: Any = SimpleNamespace(config=sandbox.config, transport=Ahead(sandbox))
    config = {"SQLALCHEMY_DATABASE_URI": with_patience(database, 30)}
    hosts = [Payer(open_shop(sandbox=one, **config), sandbox) for one in (sandbox, ahead)]
    histories = Histories(hosts, chance)
    for number in range(orders):
        histories.happens_to(f"h-{number}")
    assert {kind: cents for kind, cents in histories.booked().items() if cents} == dict(histories.oracle)
    at_service = sum(Decimal(one.amount) for one in sandbox.payouts if one.status != "failed")
    out = sum(cents for kind, cents in histories.oracle.items() if kind not in ("payment", "held"))
    assert -at_service * 100 == out, "and the service's own books"
    sandbox.advance(minutes=60)
    audit = runs(hosts[0].shop, "audit")
    assert audit.exit_code == 0, audit.output


@pytest.mark.on_each_database
def test_the_books_of_random_histories_equal_the_oracle(
    open_shop: OpenShop, new_database: NewDatabase, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    run(open_shop, new_database("ledger"), stream(seed_of(pytestconfig), "ledger"), 12, monkeypatch)


@pytest.mark.soak
@pytest.mark.on_each_database
def test_the_books_of_a_thousand_random_histories_equal_the_oracle(
    open_shop: OpenShop, new_database: NewDatabase, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    run(open_shop, new_database("ledger"), stream(seed_of(pytestconfig), "ledger"), soak_count(1000), monkeypatch)
