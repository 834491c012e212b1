"""`GET /v1/recipient`: search and filters, the start state, and many thousands of rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import event, text

from flask_paycheckout.sandbox.accounts import USER_ID
from flask_paycheckout.sandbox.database import db, transaction
from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.world import world
from tests.sandbox.actors import Merchant
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.recipients.payees import START, adds, bank, found


def test_a_few_recipients_exist_from_the_start(merchant: Merchant) -> None:
    docs = merchant.calls("GET", "/v1/recipient").data["docs"]
    assert [doc["id"] for doc in docs] == START
    assert {doc["bank"][0]["currency"] for doc in docs} == {"USD", "GBP", "EUR", "IDR", "JPY"}
    assert {doc["recipientType"] for doc in docs} == {"Individual", "Business"}


@pytest.mark.parametrize(
    ("search", "names"),
    [
        pytest.param("Ada", ["Ada Example"], id="name"),
        pytest.param("ADA EX", ["Ada Example"], id="name-in-capitals"),
        pytest.param("accounts%40brunel", ["Brunel Works Ltd"], id="email"),
        pytest.param("%C3%A9milie", ["Émilie Exemple"], id="accent"),
        pytest.param("%E7%A0%82%E5%A0%B4", ["砂場商事株式会社"], id="other-script"),
        pytest.param("example.com", ["Ada Example"], id="part-of-email"),
        pytest.param("%25", [], id="percent-is-no-wildcard"),
        pytest.param("a_a", [], id="underscore-is-no-wildcard"),
        pytest.param("Bristol", [], id="not-the-city"),
    ],
)
def test_search_looks_into_name_and_email(merchant: Merchant, search: str, names: list[str]) -> None:
    assert found(merchant, f"search={search}") == names


@pytest.mark.parametrize(
    ("value", "hits"),
    [
        ("prefix", {"ada": 1, "ada@": 1, "example": 0, "ada example": 1}),
        ("exact", {"ada": 0, "ada@example.com": 1, "ADA example": 1}),
    ],
)
def test_unknown_recipient_search(make_sandbox: MakeSandbox, value: str, hits: dict[str, int]) -> None:
    merchant = Merchant(make_sandbox(recipient_search=value))
    for search, count in hits.items():
        assert len(found(merchant, f"search={search.replace(' ', '%20').replace('@', '%40')}")) == count, search


def test_country_filters_by_the_banks_country(merchant: Merchant) -> None:
    assert found(merchant, "country=France") == ["Émilie Exemple"]
    assert found(merchant, "country=United%20Kingdom") == ["Brunel Works Ltd"]
    assert found(merchant, "country=Atlantis") == []


def test_currency_filters_by_the_banks_currency(merchant: Merchant) -> None:
    assert found(merchant, "currency=JPY") == ["砂場商事株式会社"]
    assert found(merchant, "currency=CHF") == []


def test_filters_are_combined(merchant: Merchant) -> None:
    adds(merchant, name="Ada Second", bank=bank(currency="USD", country="Ecuador"))
    assert found(merchant, "search=ada&currency=USD") == ["Ada Example", "Ada Second"]
    assert found(merchant, "search=ada&currency=USD&country=Ecuador") == ["Ada Second"]


@pytest.mark.parametrize("name", ["search", "country", "currency"])
@pytest.mark.parametrize("value", ["", "%00", "x" * 300], ids=["empty", "nul", "long"])
def test_a_filter_is_a_short_printable_text(merchant: Merchant, name: str, value: str) -> None:
    refused = merchant.calls("GET", f"/v1/recipient?{name}={value}")
    assert refused.code == 400
    assert refused.message.startswith(f"{name} ")


@pytest.fixture
def statements(sandbox: Flask) -> Iterator[list[tuple[str, object]]]:
    """What the sandbox asks its database."""
    seen: list[tuple[str, object]] = []

    def note(conn: object, cursor: object, statement: str, parameters: object, *rest: object) -> None:
        seen.append((statement, parameters))

    with sandbox.app_context():
        engine = db.engine
    event.listen(engine, "before_cursor_execute", note)
    yield seen
    event.remove(engine, "before_cursor_execute", note)


@pytest.mark.parametrize(
    "query",
    [
        *("", "?sort=-createdAt&page=3", "?sort=updatedAt", "?sort=-updatedAt"),
        *("?country=France", "?currency=EUR", "?currency=EUR&sort=-createdAt"),
    ],
)
def test_a_page_is_found_by_an_index_and_nothing_is_sorted(
    sandbox: Flask, merchant: Merchant, statements: list[tuple[str, object]], query: str
) -> None:
    many(sandbox, 60)
    statements.clear()
    assert merchant.calls("GET", f"/v1/recipient{query}").code == 200
    asked = [(sql, values) for sql, values in statements if "FROM recipient" in sql]
    assert len(asked) == 2
    for sql, values in asked:
        plan = plan_of(sandbox, sql, values)
        assert "USING INDEX recipient_by" in plan or "USING COVERING INDEX recipient_by" in plan, plan
        assert "SCAN" not in plan
        assert "TEMP B-TREE" not in plan


def plan_of(sandbox: Flask, sql: str, values: object) -> str:
    with sandbox.app_context(), db.engine.connect() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)  # type: ignore[arg-type]
        return " | ".join(row[3] for row in rows)


def test_the_count_of_a_search_reads_the_index_only(
    sandbox: Flask, merchant: Merchant, statements: list[tuple[str, object]]
) -> None:
    merchant.calls("GET", "/v1/recipient?search=ada")
    (count,) = [(sql, values) for sql, values in statements if "count(*)" in sql and "FROM recipient" in sql]
    assert "USING COVERING INDEX recipient_by_text" in plan_of(sandbox, *count)


def many(sandbox: Flask, count: int) -> None:
    """Recipients by the thousand, put in place without the service."""
    with sandbox.app_context(), transaction() as session:
        start = world().clock.now()
        rows = [
            {
                **{"id": f"many-{number}", "user_id": USER_ID, "bank_id": f"bank-{number}"},
                **{"name": f"Person {number}", "email": f"p{number}@example.org"},
                **{"name_key": f"person {number}", "email_key": f"p{number}@example.org"},
                **{"address": "1 Road", "city": "Town", "post_code": "1", "account_name": "P"},
                **{"currency": "EUR" if number % 2 else "USD", "country": "France" if number % 3 else "Spain"},
                **{"created_at": start + timedelta(seconds=number), "updated_at": start + timedelta(seconds=number)},
            }
            for number in range(count)
        ]
        session.execute(Recipient.__table__.insert(), rows)  # type: ignore[attr-defined]
        session.execute(text("ANALYZE"))
