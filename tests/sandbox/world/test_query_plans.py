"""With many thousands of rows, what is asked often reads an index; what has to read everything is named here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial

import pytest
from flask import Flask

from flask_paycheckout.sandbox.control.sender import run_due
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.outgoing.webhooks import Webhook, _release_held
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import db, transaction
from flask_paycheckout.sandbox.world.transitions import BATCH, move_due
from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.crowds import FEWER, ROWS, id_of
from tests.sandbox.disbursements.payers import RECIPIENTS, Payer
from tests.sandbox.inspector.developer import Developer
from tests.sandbox.plans import plan_of

pytestmark = pytest.mark.slow("tables of thousands of rows")

# One worker builds the crowded worlds and asks all of the questions.

TABLES = {"/v1/recipient": "recipient", "/v2/payments": "payment", "/v1/disbursement/fiat": "disbursement"}
KINDS = ("deposit", "payment", "disbursement")
RECORDS = ("recipient", "bank_transfer", "checkout", "webhook", *KINDS, "activity")
ROWS_OF_PAGES = [f"sort={sort}&page=1" for sort in ("createdAt", "-createdAt", "updatedAt", "-updatedAt")]


@pytest.mark.parametrize("query", [*ROWS_OF_PAGES, f"sort=createdAt&page={FEWER // 10}", f"page={ROWS // 10 + 1}"])
@pytest.mark.parametrize("path", TABLES)
def test_a_page_comes_from_an_index_in_its_order(crowded: Flask, path: str, query: str) -> None:
    table = TABLES[path]
    plan = plan_of(crowded, lambda: Merchant(crowded).calls("GET", f"{path}?{query}"), table)
    # Where nothing narrows the list, PostgreSQL counts the rows by looking at each of them.
    assert [statement for statement in plan.scanned(table) if "count(*)" not in statement] == []
    assert plan.sorts == []


@pytest.mark.parametrize(
    ("query", "columns"),
    [
        ("/v1/recipient?country=France", ["country"]),
        ("/v1/recipient?currency=EUR", ["currency"]),
        ("/v1/recipient?currency=EUR&sort=-createdAt", ["currency"]),
        ("/v2/payments?status=pending", ["status"]),
        ("/v2/payments?status=pending&sort=-updatedAt", ["status"]),
        ("/v2/payments?reason=Rent", ["reason"]),
        ("/v2/payments?blockchain=stellar", ["blockchain"]),
        ("/v2/payments?organizationId=one", ["organization_id"]),
        ("/v2/payments?organizationName=One", ["organization_name"]),
        ("/v2/payments?receiverName=person%2077", ["receiver_key"]),
        ("/v1/disbursement/fiat?status=pending", ["status"]),
        ("/v1/disbursement/fiat?status=pending&sort=-updatedAt", ["status"]),
        ("/v1/disbursement/fiat?currency=USD", ["currency"]),
        ("/v1/disbursement/fiat?currency=USD&status=failed", ["currency", "status"]),
        (f"/v1/disbursement/fiat?currency=USD&status=failed&page={ROWS // 12 // 10}", ["currency", "status"]),
    ],
)
def test_a_filter_narrows_by_an_index(crowded: Flask, query: str, columns: list[str]) -> None:
    table = TABLES[query.partition("?")[0]]
    plan = plan_of(crowded, lambda: Merchant(crowded).calls("GET", query), table)
    assert plan.scanned(table) == []
    pages = [read for read in plan.of(table) if "ORDER BY" in read.statement and read.statement[:6] == "SELECT"]
    assert pages
    # The index narrows by every filter, and does not merely give the order in which all rows are looked at.
    assert all(column in read.condition for read in pages for column in columns)
    assert plan.sorts == []


@pytest.mark.parametrize(("bound", "key"), [("minInputAmount", "input_key"), ("minOutputAmount", "output_key")])
def test_an_amount_that_few_reach_is_looked_up(crowded: Flask, bound: str, key: str) -> None:
    query = f"/v2/payments?{bound}={1_000_000_000 + FEWER - 5}"
    plan = plan_of(crowded, lambda: Merchant(crowded).calls("GET", query), "payment")
    assert plan.scanned("payment") == []
    assert key in " ".join(read.condition for read in plan.of("payment"))


def refuses_references(app: Flask) -> None:
    items = ({"recipientId": RECIPIENTS["USD"], "amount": 5, "reference": f"r-{number}"} for number in range(1, 501))
    assert Payer(app).pays(*items).message.startswith("disburseData[0].reference was used before")


PATHS = (
    *(f"/v1/recipient/{id_of(500)}", f"/v1/deposit/{id_of(5000)}", "/v1/deposit/r-5000"),
    *(f"/v2/payment/detail/{id_of(5000)}", f"/v1/disbursement/fiat/{id_of(7)}"),
    f"/v1/disbursement/fiat?disbursementId={id_of(7)}",
)
PAGES = ("webhooks?state=waiting", f"webhooks?order={id_of(7)}", f"checkouts/{id_of(7)}", f"disbursements/{id_of(7)}")


def test_single_records_are_looked_up(crowded: Flask) -> None:
    actions: list[Callable[[], object]] = [partial(Merchant(crowded).calls, "GET", path) for path in PATHS]
    actions += [partial(Developer(crowded).opens, f"/inspector/{page}") for page in PAGES]
    actions.append(partial(refuses_references, crowded))
    for action in actions:
        assert plan_of(crowded, action, *RECORDS).scanned(*RECORDS) == []


def test_what_is_due_and_the_newest_webhooks_are_found_by_their_own_index(crowded: Flask) -> None:
    def passes() -> None:
        run_due()
        with transaction() as session:
            _release_held(session, Webhook(created_at=world().clock.now()))
        # As of the switch `disbursement_progress`; none of them is moved for the other tests.
        session = db.session()
        assert len(move_due(session, Disbursement, "pending", "completed", timedelta(days=-365 * 200))) == BATCH
        session.rollback()
        session.close()

    due = plan_of(crowded, passes, *KINDS, "webhook")
    assert due.scanned(*KINDS, "webhook") == []
    indexes = {"deposit_due", "payment_due", "ix_disbursement_due", "webhook_held", "webhook_due"}
    assert indexes <= {read.index for read in due.reads}
    newest = plan_of(crowded, lambda: Tester(crowded).webhooks(), "webhook")
    assert {read.index for read in newest.of("webhook")} == {"webhook_by_creation"}
