"""Suppliers get the earnings of their jars, once, and each in its own way."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from example_shop.payments import paycheckout
from example_shop.suppliers import SUPPLIERS
from flask_paycheckout.testing import Sandbox
from tests.example_shop.conftest import Payments, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask

#: The earnings from `sold`: Maren gets the whole price, the Highlands 45 %, Puddle 40 %.
EARNED = {"maren": Decimal("120.00"), "highland": Decimal("21.60"), "puddle": Decimal("15.36")}


@pytest.fixture
def paycheckout_sandbox() -> Iterator[Sandbox]:
    """A service whose banks complete a disbursement after ten minutes."""
    sandbox = Sandbox(unknowns={"disbursement_progress": "completed"})
    yield sandbox
    sandbox.transport.close()


@pytest.fixture
def sold(payments: Payments) -> str:
    return payments.buys(northern_lights=1, first_snow=2, small_rainbow=1)


def payouts(shop: Flask) -> dict[str, Any]:
    """Every payout, by its supplier."""
    stored = rows(shop, paycheckout.Payout)
    by_supplier = {row.reference.partition("-")[0]: row for row in stored}
    assert len(by_supplier) == len(stored)
    return by_supplier


def states(shop: Flask) -> dict[str, str]:
    return {supplier: payout.status for supplier, payout in payouts(shop).items()}


def test_suppliers_are_paid_their_shares_once_each_in_its_way_and_followed_to_the_end(
    shop: Flask, sold: str, payments: Payments, paycheckout_sandbox: Sandbox
) -> None:
    assert {supplier: payout.amount for supplier, payout in payouts(shop).items()} == EARNED
    assert states(shop) == dict.fromkeys(EARNED, "ready")
    payments.passes(1)
    assert states(shop) == dict.fromkeys(EARNED, "sent")
    payments.passes(60, 60)
    assert states(shop) == {"maren": "completed", "highland": "completed", "puddle": "sent"}
    paid = {(payout.amount, payout.currency, payout.to) for payout in paycheckout_sandbox.payouts}
    wallet = SUPPLIERS[-1].account
    assert paid == {
        (EARNED["maren"], "USD", "7700554411"),
        (EARNED["highland"], "USD", "4000987650"),
        (EARNED["puddle"], "usdc-polygon", getattr(wallet, "address", None)),
    }
    assert len(paycheckout_sandbox.payouts) == 3
