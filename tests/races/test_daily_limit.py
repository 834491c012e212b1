"""Processes full of threads that approve and send at the daily limit: what fits is sent, and never more."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from sqlalchemy import select

from tests.conftest import NewDatabase
from tests.locks import with_patience
from tests.payouts.books import Books, Pages
from tests.payouts.shop import payouts, pays_out
from tests.races.approvers import LIMIT
from tests.races.crowds import run_together
from tests.races.test_payouts import SocketBooks
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database

PROCESSES, PAYOUTS, AMOUNT = 8, 24, Decimal("30.00")
MOST = Decimal(LIMIT["USD"])


def test_processes_that_approve_at_the_limit_send_what_fits_and_never_more(
    paying_shop: Shop, new_database: NewDatabase, host: str
) -> None:
    shop = paying_shop
    # The processes tell the time by themselves.
    shop.clock.now = datetime.now(UTC)
    references = [f"p-{number}" for number in range(PAYOUTS)]
    for reference in references:
        pays_out(shop, reference, AMOUNT, approve=True, account="")
    service = SocketBooks(Books(Pages(), unique=False))
    command, address = ["-m", "tests.races.approvers", *references], with_patience(new_database("crowded"), 120)
    with service.running():
        assert run_together(command, address, service.url, PROCESSES, host) == 0
    table = shop.runtime.models.days
    with shop.app.app_context(), shop.db.engine.connect() as connection:
        days = [Decimal(day.amount) for day in connection.execute(select(table).order_by(table.c.day))]
    sent = sum(one.amount for one in service.books.paid)
    # A run that goes on past midnight has two days.
    assert (days[0], max(days) <= MOST, sent) == (MOST // AMOUNT * AMOUNT, True, sum(days))
    left = [one for one in payouts(shop) if one.status == "waiting"]
    assert len(left) == PAYOUTS - sent / AMOUNT
    assert all("daily limit" in one.problem for one in left)
