"""Runs of the audit, and helpers for their findings."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from flask_paycheckout.books.audit import reading, rechecks
from flask_paycheckout.client import FiatItem
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.world.database import transaction
from tests.books.test_alarms import orders as new_orders, runs
from tests.payouts.paying import ADA, Payer
from tests.scripted import Shop


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pauses end at once."""
    monkeypatch.setattr(rechecks, "_CALM", 0.0)
    monkeypatch.setattr(reading, "_FIRST_PAUSE", 0.005)
    monkeypatch.setattr(reading, "_PATIENCE", 0.05)


def audits(shop: Shop, *arguments: str) -> tuple[int, Any]:
    """Run the audit; returns the exit code and the findings."""
    return runs(shop, "audit", *arguments)


def at_service(findings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The findings about deposits and disbursements, without those about the books."""
    return [finding for finding in findings if finding["kind"] != "booking"]


def named(findings: list[dict[str, Any]]) -> dict[str, str]:
    """The verdicts of all differences at the service, by the id of the checkout or disbursement."""
    verdicts = {
        finding["checkout_id"] or finding["disbursement_id"]: finding["verdict"] for finding in at_service(findings)
    }
    return {name: verdict for name, verdict in verdicts.items() if verdict != "agreed"}


def orders(shop: Shop, count: int) -> list[str]:
    """Start `count` orders; returns the ids of their checkouts."""
    return [shop.starts(order_id) for order_id in new_orders(shop, count)]


def paid(shop: Shop, count: int) -> list[str]:
    checkouts = orders(shop, count)
    for checkout_id in checkouts:
        assert shop.settles(checkout_id, says="completed").status == "paid"
    return checkouts


def stands_there(payer: Payer, reference: str = "p-1", /, **values: Any) -> None:
    """Change the disbursement of a payout at the service."""
    of = Disbursement.id == payer.payout(reference).disbursement_id
    with payer.sandbox.app.app_context(), transaction() as session:
        session.execute(sa.update(Disbursement).where(of).values(values))


def strangers(payer: Payer, count: int) -> None:
    """Make disbursements that the shop did not request, the first one without a reference."""
    items = [
        FiatItem(amount="1", recipient_id=ADA.recipient_id, reference=f"x-{n}" if n else None) for n in range(count)
    ]
    payer.shop.runtime.client.fiat_disbursements.create("USD", items)
