"""How orders stand, asked for one or for many."""

from __future__ import annotations

import pytest
from sqlalchemy import event

from flask_paycheckout import Pay
from tests.scripted import Shop
from tests.views.pages import STATUSES, reach

pytestmark = pytest.mark.on_each_database


@pytest.mark.parametrize("status", STATUSES)
def test_one_order(shop: Shop, status: str) -> None:
    reach(shop, status)
    with shop.app.app_context():
        assert shop.paycheckout.order_status("o-1") == status
        assert shop.paycheckout.order_statuses(["o-1", "o-2"]) == {"o-1": status, "o-2": "unpaid"}


def test_an_order_stands_as_the_best_of_its_attempts(shop: Shop) -> None:
    first = shop.starts()
    shop.totals["o-1"] = Pay("13.00", "USD")
    shop.starts()
    shop.service.says(first, "failed")
    shop.settles(first)
    with shop.app.app_context():
        assert shop.paycheckout.order_status("o-1") == "created"


def test_many_orders_cost_a_statement_for_every_500(shop: Shop) -> None:
    shop.has_paid()
    statements: list[str] = []
    engine = shop.runtime.engine()
    event.listen(engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    with shop.app.app_context():
        found = shop.paycheckout.order_statuses(f"o-{number}" for number in range(1200))
    assert (len(found), found["o-1"], found["o-999"], len(statements)) == (1200, "paid", "unpaid", 3)


def test_what_is_no_order_id_is_refused(shop: Shop) -> None:
    with shop.app.app_context(), pytest.raises(TypeError, match="order_id must be a string"):
        shop.paycheckout.order_statuses([7])  # type: ignore[list-item]
