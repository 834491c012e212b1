"""With a hundred thousand rows, list, filter, page and due moves read an index, never the whole table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.accounts import USER_ID
from flask_paycheckout.sandbox.database import db, transaction
from flask_paycheckout.sandbox.disbursements.moves import settle_due
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import Payer

# One worker builds the world and asks all of the questions.
pytestmark = pytest.mark.xdist_group("disbursement-query-plans")

ROWS = 100_000
LAST_PAGE = ROWS // 10

_FILL = """
WITH RECURSIVE made(number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM made WHERE number < :rows)
INSERT INTO disbursement (number, id, kind, user_id, currency, amount, fee_amount, fee_percentage, reference, status,
                          created_at, updated_at)
SELECT number, printf('%024d', number), 'fiat', :user_id,
       CASE number % 3 WHEN 0 THEN 'USD' WHEN 1 THEN 'EUR' ELSE 'JPY' END, '12', '1', '0.1', 'r-' || number,
       CASE number % 4 WHEN 0 THEN 'pending' WHEN 1 THEN 'failed' ELSE 'completed' END,
       datetime('2026-01-01', (number / 5) || ' seconds') || '.000000',
       datetime('2026-02-01', (number % 1000) || ' seconds') || '.000000'
FROM made
"""
_TRANSFERS = """
INSERT INTO bank_transfer (disbursement_id, bank_name, account_name, bank_code)
SELECT id, 'Bank', 'Somebody', 'us_first_sandbox' FROM disbursement
"""


@pytest.fixture(scope="module")
def crowded() -> Flask:
    """A sandbox with many disbursements, which the tests only read."""
    app = create_sandbox()
    with app.app_context(), transaction() as session:
        session.execute(sa.text(_FILL), {"rows": ROWS, "user_id": USER_ID})
        session.execute(sa.text(_TRANSFERS))
    return app


def plans_of(app: Flask, action: Callable[[], object]) -> Iterator[str]:
    """How SQLite goes about every statement on disbursements that an action makes, a step at a time."""
    asked: list[tuple[str, Any]] = []

    def note(_c: Any, _cursor: Any, statement: str, parameters: Any, _x: Any, _many: bool) -> None:
        if "disbursement" in statement and statement.startswith(("SELECT", "UPDATE")):
            asked.append((statement, parameters))

    with app.app_context():
        engine = db.engine
        sa.event.listen(engine, "before_cursor_execute", note)
        try:
            action()
        finally:
            sa.event.remove(engine, "before_cursor_execute", note)
        assert asked
        with engine.connect() as connection:
            for statement, parameters in asked:
                for step in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters):
                    yield step.detail


def expect_indexes(app: Flask, action: Callable[[], object]) -> list[str]:
    steps = list(plans_of(app, action))
    tables = ("disbursement", "disbursement_activity", "bank_transfer")
    assert [step for step in steps if step.startswith(tuple(f"SCAN {table}" for table in tables))] == []
    return steps


FILTERS = ["", "status=pending", "currency=USD", "currency=USD&status=failed", f"disbursementId={7:024d}"]


@pytest.mark.parametrize("page", [1, LAST_PAGE, LAST_PAGE + 1])
@pytest.mark.parametrize("sort", ["createdAt", "-createdAt", "updatedAt", "-updatedAt"])
@pytest.mark.parametrize("wanted", FILTERS)
def test_every_list_is_answered_from_an_index_in_its_order(crowded: Flask, wanted: str, sort: str, page: int) -> None:
    payer = Payer(crowded)
    steps = expect_indexes(crowded, lambda: payer.lists(f"{wanted}&sort={sort}&page={page}".lstrip("&")))
    # The index narrows by every filter, and does not merely give the order in which all rows are looked at.
    columns = [name for name in ("status", "currency") if f"{name}=" in wanted]
    searches = [step for step in steps if step.startswith("SEARCH disbursement USING")]
    assert searches
    assert all(f"{column}=?" in step for step in searches for column in columns)
    # The number of rows is read off the index alone.
    assert "disbursementId" in wanted or any("SEARCH disbursement USING COVERING INDEX" in step for step in steps)
    # Only the history of a page's few rows is ever sorted.
    assert sum("TEMP B-TREE" in step for step in steps) <= sum("disbursement_activity" in step for step in steps)


def test_the_pages_hold_what_the_filters_say(crowded: Flask) -> None:
    payer = Payer(crowded)
    page = payer.lists(f"currency=USD&status=failed&limit=3&page={ROWS // 12 // 3}")
    assert page["totalDocs"] == len([n for n in range(1, ROWS + 1) if n % 3 == 0 and n % 4 == 1])
    assert {(record["currency"], record["status"]) for record in page["docs"]} == {("USD", "failed")}


def test_one_record_is_found_by_its_id(crowded: Flask) -> None:
    expect_indexes(crowded, lambda: Payer(crowded).sees(f"{7:024d}"))


def test_a_create_looks_references_up(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox()
    expect_indexes(app, lambda: Payer(app).pays_one(reference="r"))


def test_an_update_and_due_moves_find_their_rows(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(disbursement_progress="completed")
    made = Payer(app).pays_one()
    expect_indexes(app, lambda: Payer(app).forces(made))

    def settle() -> None:
        with transaction() as session:
            settle_due(session)

    steps = expect_indexes(app, settle)
    assert any("ix_disbursement_due" in step for step in steps)
