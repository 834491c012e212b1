"""The doctor names each fault with a remedy, and reports nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
import time_machine
from flask import abort
from sqlalchemy import text

from flask_paycheckout import Account, order_paid
from tests.books.test_alarms import hears
from tests.conftest import OpenShop
from tests.doctor.examining import PUBLIC, about, answers, diagnosis, told_at, worst
from tests.scripted import Shop, refusal


@pytest.fixture
def well(open_shop: OpenShop, each_database: str) -> Shop:
    """A shop without faults."""
    shop = open_shop(SQLALCHEMY_DATABASE_URI=each_database, **PUBLIC)
    if each_database.startswith("sqlite"):
        shop.executes(text("PRAGMA journal_mode=WAL"))
    else:
        name = shop.engine.url.database
        shop.executes(text(f"ALTER DATABASE {name} SET synchronous_commit = on"))
    answers(shop, told_at())
    order_paid.connect(hears, sender=shop.app)
    return shop


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    return open_shop(**PUBLIC)


def test_a_shop_that_is_well_is_told_so_and_nothing_stays_changed(well: Shop) -> None:
    checks = diagnosis(well)
    complaints = [check for check in checks.checks if check.remedy and "fsync" not in check.found]
    assert complaints == [], "but for the test server, which keeps nothing"
    ran = well.runs("doctor")
    assert (ran.exit_code, "failure" in ran.output) == (0, False)
    assert ran.output.endswith(
        "\nWebhook URL to register: https://shop.example/paycheckout/webhook/canary-path-secret-1234\n"
    )
    for table in well.runtime.models.tables:
        assert well.runtime.checkouts.rows(table.select()) == []


def test_programs_are_told_the_same(well: Shop) -> None:
    well.executes(text("DROP TABLE paycheckout_event"))
    ran = well.runs("doctor", "--json")
    answer = json.loads(ran.stdout)
    assert (ran.exit_code, answer["failed"]) == (1, True)
    assert {"about", "level", "found", "remedy", "account"} == set(answer["checks"][0])
    assert answer["webhook_url"].startswith("https://shop.example/")


# The service

SERVICE = {
    "401": (refusal(401, "Unauthorized"), "failure", "refused: GET /v1/deposit"),
    "a gateway's 404": (refusal(404, "no Route matched"), "failure", "but not as the service does"),
    "429": (refusal(429, "Slow down"), "warning", "not checked"),
    "HTML": (httpx.Response(200, text="<html>"), "failure", "not a JSON object"),
}


@pytest.mark.parametrize(("answer", "level", "text"), SERVICE.values(), ids=SERVICE)
def test_the_services_answer_to_a_signed_read(shop: Shop, answer: httpx.Response, level: str, text: str) -> None:
    answers(shop, answer)
    check = worst(shop, "credentials")
    assert (check.level, text in check.found) == (level, True)


@pytest.mark.parametrize(
    ("seconds", "level", "text"),
    [
        (-4, "ok", "agrees"),
        (-20, "warning", "ahead of"),
        (20, "warning", "behind"),
        (300, "failure", "behind"),
    ],
)
def test_clocks_that_differ(shop: Shop, seconds: int, level: str, text: str) -> None:
    answers(shop, told_at(seconds=seconds))
    [check] = about(shop, "clock")
    assert (check.level, text in check.found) == (level, True)


def test_an_answer_that_took_long_says_nothing_of_the_time_that_it_took(shop: Shop) -> None:
    """The service may have read its clock at any moment of the call, provided that there was only one call."""
    with time_machine.travel(datetime.now(UTC), tick=False) as now:

        def read(request: httpx.Request) -> httpx.Response:
            now.shift(300)
            return told_at()

        shop.service._read = read  # type: ignore[method-assign]
        assert [check.level for check in about(shop, "clock")] == ["ok"]


def test_a_service_that_fails_is_asked_once(shop: Shop) -> None:
    calls: list[httpx.Request] = []

    def read(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        return refusal(500)

    shop.service._read = read  # type: ignore[method-assign]
    assert worst(shop, "credentials").level == "warning"
    assert len(calls) == 1


@pytest.mark.parametrize("date", [None, "x" * 5000, "Thu, 99 Foo 2026 00:00:00 GMT"])
def test_an_answer_without_a_time(shop: Shop, date: str | None) -> None:
    answer = refusal(404, "Deposit not found")
    if date is not None:
        answer.headers["Date"] = date
    answers(shop, answer)
    assert worst(shop, "clock").level == "warning"


# The shop


def nothing(shop: Shop) -> None:
    """Change nothing else: the settings alone are wrong."""


def has_no_tables(shop: Shop) -> None:
    with shop.app.app_context():
        shop.db.drop_all()


def is_away() -> None:
    raise httpx.ConnectError("refused")


FAULTS: list[tuple[dict[str, Any], Callable[[Shop], object], str, str, str]] = [
    ({}, nothing, "SQLite", "journal mode is delete", "WAL"),
    (
        {"SQLALCHEMY_ENGINE_OPTIONS": {"connect_args": {"timeout": 1}}},
        lambda shop: shop.executes(text("PRAGMA journal_mode=WAL")),
        "SQLite",
        "waits only 1000 ms",
        "timeout",
    ),
    ({"SQLALCHEMY_DATABASE_URI": "sqlite://"}, nothing, "SQLite", "in memory", ""),
    ({}, lambda shop: setattr(shop.service, "meanwhile", is_away), "credentials", "no connection", ""),
    ({}, lambda shop: setattr(shop.runtime.callbacks, "order_total", None), "order_total", "is registered", ""),
    ({}, lambda shop: shop.paycheckout.order_total(lambda _: shop.totals["o-1"]), "order_total", "gave a price", ""),
    ({}, lambda shop: shop.paycheckout.order_total(dict[str, Any]().__getitem__), "order_total", "KeyError", ""),
    (
        {},
        lambda shop: shop.app.before_request(lambda: abort(400)),
        "webhook",
        "its route answered 400 to a well-formed webhook",
        "csrf.exempt",
    ),
    ({}, has_no_tables, "webhook", "answered 503", "See database and tables"),
    ({}, lambda shop: shop.app.before_request(is_away), "webhook", "its route raised ConnectError", ""),
    (
        {"PAYCHECKOUT_APROVE_OVER": {"USD": "500.00"}},
        nothing,
        "configuration",
        "PAYCHECKOUT_APROVE_OVER is no setting",
        "Did you mean PAYCHECKOUT_APPROVE_OVER?",
    ),
    (
        {"PAYCHECKOUT_FLAVOUR": "mint"},
        nothing,
        "configuration",
        "PAYCHECKOUT_FLAVOUR",
        "unless the shop itself uses it",
    ),
    ({"PAYCHECKOUT_DEFER_WEBHOOKS": True}, nothing, "tasks", "no Celery app", ""),
]


@pytest.mark.parametrize(
    ("settings", "breaks", "subject", "text", "remedy"),
    [pytest.param(*fault, id=f"{fault[2]}: {fault[3]}") for fault in FAULTS],
)
def test_each_fault_is_found_by_name_with_its_remedy(
    open_shop: OpenShop,
    settings: dict[str, Any],
    breaks: Callable[[Shop], object],
    subject: str,
    text: str,
    remedy: str,
) -> None:
    shop = open_shop(**PUBLIC | settings)
    breaks(shop)
    check = worst(shop, subject)
    assert text in check.found
    assert remedy in str(check.remedy)
    assert shop.runs("doctor").exit_code == (check.level == "failure")


def test_nobody_hears_of_payments(open_shop: OpenShop) -> None:
    shop = open_shop(**PUBLIC, hears=False)
    assert worst(shop, "order_paid").level == "failure"
    assert "@order_paid.connect" in str(worst(shop, "order_paid").remedy)


ADDRESSES = [
    pytest.param(None, "only requests know", id="none"),
    pytest.param("http://127.0.0.1:5000", "the service cannot send webhooks to 127.0.0.1", id="this machine"),
    pytest.param("http://shop.example", "plain http", id="http"),
]


@pytest.mark.parametrize(("public", "text"), ADDRESSES)
def test_an_address_that_will_not_do(open_shop: OpenShop, public: str | None, text: str) -> None:
    shop = open_shop(PAYCHECKOUT_PUBLIC_URL=public)
    assert text in worst(shop, "address").found
    expected = f"{public or chr(0)}/paycheckout/webhook".replace("\0", "https://<the shop's address>")
    assert diagnosis(shop).webhook_url == expected


def test_in_debug_beside_a_sandbox_the_address_is_the_one_where_flask_run_serves(
    open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command has no request, so the shop's address is unknown."""
    monkeypatch.delenv("FLASK_RUN_PORT", raising=False)
    shop = open_shop(TESTING=False, DEBUG=True, PAYCHECKOUT_BASE_URL="http://127.0.0.1:8790")
    (check,) = about(shop, "address")
    assert (check.level, "http://127.0.0.1:5000" in check.found) == ("ok", True)
    assert diagnosis(shop).webhook_url == "http://127.0.0.1:5000/paycheckout/webhook"
    monkeypatch.setenv("FLASK_RUN_PORT", "5050")
    assert diagnosis(shop).webhook_url == "http://127.0.0.1:5050/paycheckout/webhook"
    with shop.app.app_context():
        assert shop.paycheckout.webhook_url() == "http://127.0.0.1:5050/paycheckout/webhook"


def test_in_debug_a_service_elsewhere_cannot_reach_this_machine(open_shop: OpenShop) -> None:
    shop = open_shop(TESTING=False, DEBUG=True)
    assert worst(shop, "address").level == "warning"
    assert diagnosis(shop).webhook_url == "https://<the shop's address>/paycheckout/webhook"


def test_a_sandbox_and_a_short_secret_key_in_production(open_shop: OpenShop) -> None:
    shop = open_shop(
        PAYCHECKOUT_BASE_URL="http://127.0.0.1:8790",
        PAYCHECKOUT_ALLOW_SANDBOX=True,
        TESTING=False,
        SECRET_KEY="dev",
        PAYCHECKOUT_PUBLIC_URL="https://shop.example",
    )
    texts = [check.found for check in about(shop, "configuration")]
    assert texts[0] == "payments go to a sandbox, http://127.0.0.1:8790"
    assert texts[1].startswith("SECRET_KEY has 3 characters")


@pytest.mark.parametrize(("number", "text"), [(None, "1000 .the default"), (8, "8 .PAYCHECKOUT_WEB_CALLS")])
def test_the_web_requests_that_may_wait_and_who_says_so(open_shop: OpenShop, number: int | None, text: str) -> None:
    [check] = about(open_shop(PAYCHECKOUT_WEB_CALLS=number), "web calls")
    assert re.search(text, check.found)


@pytest.mark.parametrize("hosts", [["shop.example"], [".shop.example"], "shop.example"])
def test_trusted_hosts_do_not_refuse_the_doctor(open_shop: OpenShop, hosts: list[str] | str) -> None:
    shop = open_shop(TRUSTED_HOSTS=hosts)
    assert [check.level for name in ("webhook", "pages") for check in about(shop, name)] == ["ok"] * 3


def test_a_public_address_that_is_no_trusted_host_is_named(open_shop: OpenShop) -> None:
    """Each customer would be refused."""
    shop = open_shop(TRUSTED_HOSTS=["www.shop.example"], PAYCHECKOUT_PUBLIC_URL="https://shop.example")
    for name in ("webhook", "status page", "pay button"):
        assert "its route answered 400" in worst(shop, name).found


def test_connections_that_are_open_before_a_fork_are_warned_of(open_shop: OpenShop) -> None:
    shop = open_shop(TESTING=False, PAYCHECKOUT_ALLOW_SANDBOX=True, **PUBLIC)
    check = worst(shop, "forks")
    assert check.level == "warning"
    assert "opens 1 database connection while it is made" in check.found
    assert "dispose(close=False)" in (check.remedy or "")
    shop.engine.dispose()
    shop.paycheckout.account(lambda name: Account("id", "secret"))
    assert "forks" not in shop.runs("doctor", "--account", "ada").output, "the look for the account opens one itself"
    shop.engine.dispose()
    other = open_shop("other", TESTING=False, PAYCHECKOUT_ALLOW_SANDBOX=True, **PUBLIC)
    with other.app.app_context():
        other.db.engine.dispose()
    assert about(other, "forks") == [], "the extension's own first look at the database leaves no connection open"
