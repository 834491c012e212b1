"""With a hundred thousand rows, list, filter, page and due moves read an index, never the whole table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from flask import Flask

from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.disbursements.transitions import force_disbursement
from flask_paycheckout.sandbox.world.database import db
from flask_paycheckout.sandbox.world.transitions import move_due
from tests.sandbox.crowds import ROWS, id_of
from tests.sandbox.disbursements.payers import RECIPIENTS, Payer
from tests.sandbox.plans import Plan, plan_of

pytestmark = pytest.mark.slow("tables of thousands of rows")

# One worker builds the crowded worlds and asks all of the questions.

ITEM = {"recipientId": RECIPIENTS["USD"], "amount": 5}
LAST_PAGE = ROWS // 10
SORTS = ["createdAt", "-createdAt", "updatedAt", "-updatedAt"]
TABLES = ("disbursement", "disbursement_activity", "bank_transfer")
FILTERS = ["", "status=pending", "currency=USD", "currency=USD&status=failed", f"disbursementId={id_of(7)}"]


def expect_indexes(app: Flask, action: Callable[[], object]) -> Plan:
    plan = plan_of(app, action, *TABLES)
    assert plan.scanned(*TABLES) == []
    return plan


@pytest.mark.parametrize(("sort", "page"), [(sort, 1) for sort in SORTS] + [("createdAt", LAST_PAGE + 1)])
@pytest.mark.parametrize("wanted", FILTERS)
def test_every_list_is_answered_from_an_index_in_its_order(crowded: Flask, wanted: str, sort: str, page: int) -> None:
    payer = Payer(crowded)
    plan = plan_of(crowded, lambda: payer.lists(f"{wanted}&sort={sort}&page={page}".lstrip("&")), *TABLES)
    # Where nothing narrows the list, PostgreSQL counts the rows by looking at each of them.
    assert [statement for statement in plan.scanned(*TABLES) if wanted or "count(*)" not in statement] == []
    # The index narrows by every filter, and does not merely give the order in which all rows are looked at.
    searches = [read for read in plan.of("disbursement") if read.index is not None]
    columns = [name for name in ("status", "currency") if f"{name}=" in wanted]
    assert all(column in read.condition for read in searches for column in columns)
    # The number of rows is read off the index alone.
    if columns:
        assert any(read.is_covered and "count(*)" in read.statement for read in searches)
    # Only the history of a page's few rows is ever sorted, and the one row of an id.
    if "disbursementId" not in wanted:
        assert [sort.statement for sort in plan.sorts if "FROM disbursement_activity" not in sort.statement] == []


def test_the_pages_hold_what_the_filters_say(crowded: Flask) -> None:
    payer = Payer(crowded)
    page = payer.lists(f"currency=USD&status=failed&limit=3&page={ROWS // 12 // 3}")
    assert page["totalDocs"] == len([n for n in range(1, ROWS + 1) if n % 3 == 0 and n % 4 == 1])
    assert {(record["currency"], record["status"]) for record in page["docs"]} == {("USD", "failed")}


def test_one_record_is_found_by_its_id(crowded: Flask) -> None:
    expect_indexes(crowded, lambda: Payer(crowded).sees(id_of(7)))


def test_a_create_looks_references_up(crowded: Flask) -> None:
    def refused() -> None:
        answer = Payer(crowded).pays(*({**ITEM, "reference": f"r-{number}"} for number in range(1, 501)))
        assert answer.message.startswith("disburseData[0].reference was used before")

    expect_indexes(crowded, refused)


def test_an_update_finds_its_row(crowded: Flask) -> None:
    def update() -> None:
        session = db.session()
        assert force_disbursement(session, USER_ID, id_of(4), "completed")
        session.rollback()
        session.close()

    expect_indexes(crowded, update)


def test_due_moves_find_their_rows_in_the_order_of_their_creation(crowded: Flask) -> None:
    def move() -> None:
        session = db.session()
        # So late that all of them are due, and some are moved.
        moved = move_due(session, Disbursement, "pending", "completed", timedelta(days=-365 * 200))
        assert len(moved) == 500
        session.rollback()
        session.close()

    plan = expect_indexes(crowded, move)
    assert "ix_disbursement_due" in {read.index for read in plan.of("disbursement")}
    assert plan.sorts == []
