"""The pages while the database cannot serve them; tests/databases/ has real servers, disks and locks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from sqlalchemy import Connection, event
from sqlalchemy.exc import ProgrammingError, TimeoutError as NoFreeConnection

from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.views.pages import heading, opens, presses_pay
from tests.views.test_templates import writes
from tests.views.test_webhook import database_down

HOOK = "/paycheckout/webhook"


@pytest.fixture
def full(open_shop: OpenShop) -> Shop:
    """A shop with a paid deposit that was not read; every further change of a checkout needs another database page."""
    shop = open_shop()
    shop.has_deposit("completed")
    engine = shop.runtime.engine()
    with engine.begin() as connection:
        connection.exec_driver_sql("CREATE TABLE audit (change BLOB)")
        for change in ("INSERT", "UPDATE"):
            note = "BEGIN INSERT INTO audit VALUES (zeroblob(9000)); END"
            connection.exec_driver_sql(f"CREATE TRIGGER at_{change} AFTER {change} ON paycheckout_checkout {note}")
    event.listen(engine, "begin", at_most(1))
    return shop


def at_most(pages: int) -> Callable[[Connection], object]:
    return lambda connection: connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")


def test_a_full_database_loses_nothing_and_is_told_in_plain_words(full: Shop) -> None:
    assert full.browser.post(HOOK, json={"orderId": "chk-1"}).status_code == 503
    page = opens(full)
    assert page.status_code == 200
    assert "cannot record payments at the moment" in page.text
    assert "please do not pay again" in page.text
    assert presses_pay(full, "o-2").status_code == 503
    report = full.runs("doctor")
    assert report.exit_code == 1
    assert "the disk of the database is full, so no payment can be recorded" in report.output
    assert "Make room" in report.output
    failed = full.runs("reconcile")
    assert (failed.exit_code, "the disk of the database is full" in failed.output) == (1, True)
    event.listen(full.runtime.engine(), "begin", at_most(1_000_000))
    full.clock.advance(seconds=5)
    assert full.browser.post(HOOK, json={"orderId": "chk-1"}).status_code == 200
    assert full.attempt("chk-1").status == "paid"
    assert "cannot record" not in opens(full).text
    assert len(full.events("order_paid")) == 1


def test_customers_are_told_in_their_language_when_the_database_is_away(shop: Shop) -> None:
    with database_down(shop):
        page, polled = opens(shop, language="de"), opens(shop, suffix="/status")
        assert presses_pay(shop).status_code == 503
    assert (page.status_code, page.headers["Retry-After"]) == (503, "10")
    assert heading(page.text) == "Diese Seite kann gerade nicht angezeigt werden"
    assert 'data-retry-after="10"' in page.text
    assert "secret" not in page.text
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert (polled.status_code, polled.is_json, polled.headers["Retry-After"]) == (503, True, "10")


def test_a_page_about_the_database_needs_nothing_of_the_shops(shop: Shop) -> None:
    """The shop's layout, and a menu from a context processor, fail like the page itself."""
    shop.app.context_processor(lambda: {"menu": shop.db.session.execute(shop.db.text("SELECT 1")).all()})
    writes(shop, base="{{ menu }}")
    with database_down(shop):
        answers = opens(shop, language="de"), presses_pay(shop, language="de")
    assert [answer.status_code for answer in answers] == [503, 503]
    assert heading(answers[0].text) == "Diese Seite kann gerade nicht angezeigt werden"
    assert heading(answers[1].text) == "Bezahlen ist gerade nicht möglich"
    assert all("paycheckout.css" in answer.text for answer in answers)


def test_the_owner_is_told_what_is_wrong_and_a_stranger_is_not(shop: Shop) -> None:
    owner = ["Ada"]

    def who() -> str | None:
        return owner[0] if owner else str(shop.db.session.execute(shop.db.text("SELECT 1")).scalar())

    shop.app.register_blueprint(shop.paycheckout.owner_view(who))
    with database_down(shop, NoFreeConnection("QueuePool limit of size 5 overflow 10 reached")):
        page = shop.browser.get("/paycheckout/owner")
        owner.clear()
        of_stranger = shop.browser.get("/paycheckout/owner")
    assert (page.status_code, page.headers["Retry-After"]) == (503, "10")
    assert "no connection to the database is free" in page.text
    assert "owner.css" in page.text
    assert of_stranger.status_code == 503
    assert "no connection" not in of_stranger.text


def test_a_fault_of_a_statement_is_not_taken_for_an_outage(shop: Shop) -> None:
    shop.app.config["PROPAGATE_EXCEPTIONS"] = True
    fault = ProgrammingError("SELECT", None, Exception("no such column"))
    with database_down(shop, fault), pytest.raises(ProgrammingError):
        opens(shop)
