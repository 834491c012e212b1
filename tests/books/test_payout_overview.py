"""Lists and counts of payouts cost little in a shop with many completed ones."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from flask_paycheckout.books.lists import page_of_payouts
from flask_paycheckout.books.periods import Period
from flask_paycheckout.books.report import find_alarms
from flask_paycheckout.payouts.payout_states import PayoutKind, PayoutStatus
from tests.payouts.shop import payout, pays_out, stands
from tests.plans import plans, rows_taken
from tests.scripted import Shop

MANY = 4000
DAY = timedelta(days=1)


@pytest.mark.on_each_database
def test_each_list_of_a_shop_with_many_payouts_reads_few_rows(shop: Shop) -> None:
    """Thousands of payouts are completed; each other state has one."""
    pays_out(shop)
    stands(shop, "maker-1", status="completed", state="completed", due_at=None)
    engine, row = shop.engine, shop.runtime.models.row_of(payout(shop))
    del row["id"]
    rows = [
        row
        | {"reference": f"c-{number}", "service_reference": f"c-{number}", "created_at": shop.clock() + number * DAY}
        for number in range(MANY)
    ]
    late = row | {"due_at": shop.clock(), "kind": "refund", "refund_of": "chk-1", "counts": "80.00"}
    for state in (state for state in PayoutStatus if state != PayoutStatus.COMPLETED):
        rows.append(late | {"reference": state, "service_reference": state, "status": state, "state": state})
    shop.executes(shop.runtime.models.payouts.insert(), rows)
    shop.executes(sa.text("ANALYZE"))
    shop.waits(minutes=6)
    with plans(engine) as seen:
        alarms = {alarm.key: alarm.count for alarm in find_alarms(shop.runtime.alarm_context())}
        page_of_payouts(shop.runtime.payouts, PayoutStatus.FAILED)
        page_of_payouts(shop.runtime.payouts, kind=PayoutKind.REFUND)
        page_of_payouts(shop.runtime.payouts)
        begun = shop.clock() + 100 * DAY
        period = Period(begun, begun + 10 * DAY)
        page = page_of_payouts(shop.runtime.payouts, period=period, limit=5)
        rest = page_of_payouts(shop.runtime.payouts, period=period, limit=5, place=page.next_place)
        listed = [payout.reference for payout in (*page.rows, *rest.rows)]
        assert (listed, rest.next_place) == ([f"c-{number}" for number in range(110, 100, -1)], None)
    assert {key: count for key, count in alarms.items() if "payout" in key} == {
        "failed-payouts": 1,
        "payouts-to-approve": 1,
        "payouts-without-access-token": 1,
        "payouts-not-followed": 2,
        "unknown-payouts": 1,
    }
    for statement, plan in [plan_ for plan_ in seen if "FROM paycheckout_payout" in plan_[0]]:
        if engine.dialect.name == "postgresql":
            assert rows_taken(plan) <= 30, f"{statement}\n{plan}"
        else:
            # Without a condition only the first rows are read.
            assert "SCAN paycheckout_payout" not in plan or "WHERE" not in statement, f"{statement}\n{plan}"
