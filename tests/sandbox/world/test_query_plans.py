"""With many thousands of rows, what is asked often reads an index; what has to read everything is named here."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.deposits.transitions import expire_due
from flask_paycheckout.sandbox.outgoing.webhooks import _claim_next, _release_held
from flask_paycheckout.sandbox.payments.transitions import progress_due
from flask_paycheckout.sandbox.world.database import db
from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.crowds import FEWER, id_of
from tests.sandbox.inspector.developer import Developer
from tests.sandbox.plans import plan_of

pytestmark = pytest.mark.slow("tables of thousands of rows")

LAST_PAGE = FEWER // 10
SORTS = ["createdAt", "-createdAt", "updatedAt", "-updatedAt"]


@pytest.mark.parametrize(("sort", "page"), [(sort, 1) for sort in SORTS] + [("createdAt", LAST_PAGE)])
@pytest.mark.parametrize(
    ("path", "table"), [("/v1/recipient", "recipient"), ("/v2/payments", "payment")], ids=["recipients", "payments"]
)
def test_a_page_comes_from_an_index_in_its_order(crowded: Flask, path: str, table: str, sort: str, page: int) -> None:
    plan = plan_of(crowded, lambda: Merchant(crowded).calls("GET", f"{path}?sort={sort}&page={page}"), table)
    # Where nothing narrows the list, PostgreSQL counts the rows by looking at each of them.
    assert [statement for statement in plan.scanned(table) if "count(*)" not in statement] == []
    assert plan.sorts == []


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("/v1/recipient?country=France", "country"),
        ("/v1/recipient?currency=EUR", "currency"),
        ("/v1/recipient?currency=EUR&sort=-createdAt", "currency"),
        ("/v2/payments?status=pending", "status"),
        ("/v2/payments?status=pending&sort=-updatedAt", "status"),
        ("/v2/payments?reason=Rent", "reason"),
        ("/v2/payments?blockchain=stellar", "blockchain"),
        ("/v2/payments?organizationId=one", "organization_id"),
        ("/v2/payments?organizationName=One", "organization_name"),
        ("/v2/payments?receiverName=person%2077", "receiver_key"),
    ],
)
def test_a_filter_narrows_by_an_index(crowded: Flask, query: str, column: str) -> None:
    table = "recipient" if "recipient" in query else "payment"
    plan = plan_of(crowded, lambda: Merchant(crowded).calls("GET", query), table)
    assert plan.scanned(table) == []
    pages = [read for read in plan.of(table) if "ORDER BY" in read.statement and read.statement[:6] == "SELECT"]
    assert pages
    assert all(column in read.condition for read in pages)
    assert plan.sorts == []


@pytest.mark.parametrize(("bound", "key"), [("minInputAmount", "input_key"), ("minOutputAmount", "output_key")])
def test_an_amount_that_few_reach_is_looked_up(crowded: Flask, bound: str, key: str) -> None:
    query = f"/v2/payments?{bound}={1_000_000_000 + FEWER - 5}"
    plan = plan_of(crowded, lambda: Merchant(crowded).calls("GET", query), "payment")
    assert plan.scanned("payment") == []
    assert key in " ".join(read.condition for read in plan.of("payment"))


@pytest.mark.parametrize(
    "path",
    [
        f"/v1/recipient/{id_of(500)}",
        f"/v1/deposit/{id_of(500)}",
        "/v1/deposit/r-500",
        f"/v2/payment/detail/{id_of(500)}",
    ],
)
def test_one_record_is_looked_up(crowded: Flask, path: str) -> None:
    def read() -> None:
        assert Merchant(crowded).calls("GET", path).code == 200

    tables = ("recipient", "deposit", "deposit_activity", "payment", "payment_activity")
    assert plan_of(crowded, read, *tables).scanned(*tables) == []


@pytest.mark.parametrize(
    "page",
    [
        "webhooks",
        "webhooks?state=waiting",
        f"webhooks?order={id_of(7)}",
        f"checkouts/{id_of(7)}",
        f"disbursements/{id_of(7)}",
    ],
)
def test_the_inspector_reads_what_it_shows(crowded: Flask, page: str) -> None:
    tables = ("checkout", "deposit", "deposit_activity", "disbursement", "disbursement_activity", "webhook")
    plan = plan_of(crowded, lambda: Developer(crowded).opens(f"/inspector/{page}"), *tables)
    assert plan.scanned(*tables) == []


def test_the_webhooks_of_the_control_interface_are_the_newest_by_an_index(crowded: Flask) -> None:
    plan = plan_of(crowded, lambda: Tester(crowded).webhooks(), "webhook")
    assert plan.scanned("webhook") == []
    assert {read.index for read in plan.of("webhook")} == {"webhook_by_creation"}


def undone(action: Callable[[Session], object]) -> Callable[[], None]:
    def act() -> None:
        session = db.session()
        action(session)
        session.rollback()
        session.close()

    return act


@pytest.mark.parametrize(
    ("action", "table", "index"),
    [
        pytest.param(undone(expire_due), "deposit", "deposit_due", id="deposits"),
        pytest.param(undone(progress_due), "payment", "payment_due", id="payments"),
        pytest.param(undone(_release_held), "webhook", "webhook_held", id="held-webhooks"),
        pytest.param(_claim_next, "webhook", "webhook_due", id="due-webhooks"),
    ],
)
def test_what_is_due_is_found_by_its_own_index(
    crowded: Flask, action: Callable[[], object], table: str, index: str
) -> None:
    plan = plan_of(crowded, action, table)
    assert plan.scanned(table) == []
    assert index in {read.index for read in plan.of(table)}
