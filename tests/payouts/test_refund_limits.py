"""The limit of refunds, compared after each statement with a calculation in whole minor units."""

from __future__ import annotations

from decimal import Decimal
from random import Random

import pytest
from sqlalchemy import Connection

from flask_paycheckout.errors import RefundTooLarge
from flask_paycheckout.payouts.paybacks import RefundLimits
from tests.chance import seed_of, stream
from tests.scripted import Shop, number

HISTORIES = 10_000


class Oracle:
    """The rule, on minor units: refunds that count, of what arrived."""

    def __init__(self, arrived: int) -> None:
        self.arrived = arrived
        self.refunds: list[int] = []

    def may_take(self, amount: int) -> bool:
        return sum(self.refunds) + amount <= self.arrived


def history(limits: RefundLimits, connection: Connection, key: str, oracle: Oracle, chance: Random, unit: int) -> None:
    """Some refunds and cancellations, each done or refused as the oracle says; in the end all are taken back."""
    for _ in range(chance.randint(1, 5)):
        rest = oracle.arrived - sum(oracle.refunds)
        if oracle.refunds and chance.random() < 0.3:
            taken = oracle.refunds.pop(chance.randrange(len(oracle.refunds)))
            limits.give_back(connection, key, Decimal(taken).scaleb(-unit))
            continue
        amount = max(1, chance.choice([rest, rest + 1, rest - 1, chance.randint(1, oracle.arrived + 1)]))
        try:
            limits.take(connection, limits.lock(connection, key), Decimal(amount).scaleb(-unit))
            assert oracle.may_take(amount), (oracle.refunds, amount)
            oracle.refunds.append(amount)
        except RefundTooLarge:
            assert not oracle.may_take(amount), (oracle.refunds, amount)
    table = limits.table
    stored = connection.execute(table.select().where(table.c.checkout_id == key)).mappings().one()
    assert Decimal(stored["refunded_amount"] or 0) == Decimal(sum(oracle.refunds)).scaleb(-unit)
    assert (stored["payback"] == "refunded") == (sum(oracle.refunds) == oracle.arrived)
    while oracle.refunds:
        limits.give_back(connection, key, Decimal(oracle.refunds.pop()).scaleb(-unit))


@pytest.mark.parametrize(("arrived", "unit"), [("12.50", 2), ("0.000000000000000007", 18), ("99999999999999", 0)])
def test_refunds_that_count_are_never_more_than_what_arrived(
    shop: Shop, pytestconfig: pytest.Config, arrived: str, unit: int
) -> None:
    chance = stream(seed_of(pytestconfig), f"refunds of {arrived}")
    key = shop.has_deposit("completed", inputAmount=number(arrived))
    shop.settles(key)
    limits = RefundLimits(shop.runtime.models)
    with shop.app.app_context(), shop.db.engine.begin() as connection:
        for _ in range(HISTORIES // 3):
            history(limits, connection, key, Oracle(int(Decimal(arrived).scaleb(unit))), chance, unit)
