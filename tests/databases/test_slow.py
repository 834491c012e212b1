"""A slow database: rows locked by another transaction, a statement limit, and a slow network."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import requests
from sqlalchemy import make_url

from flask_paycheckout.database import connections
from tests.availability.processes import gunicorn, running_sandbox
from tests.availability.test_hanging_service import visits
from tests.conftest import OpenShop
from tests.databases.conftest import WEBHOOK, Outage, outage_of, somebody_else
from tests.scripted import SAME_SITE
from tests.shop_app import create_shop
from tests.waiting import eventually

# Generous, since the machine may be busy; without a limit each of these would wait for ever.
_SOON = 20.0
# For whoever waits for nothing: below the ten seconds after which a statement gives up.
_QUICK = 9.0


@contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


def test_a_row_that_another_transaction_holds_delays_nobody_for_long(
    outage: Outage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_LIMIT", connections._LIMIT.replace("{0}ms", "300ms"))
    with outage.beside() as other:
        with other.transaction():
            other.execute("SELECT 1 FROM paycheckout_checkout WHERE order_id = 'o-1' FOR UPDATE")
            with within(_SOON):
                assert outage.hook().status_code == 503
            with within(_SOON):
                # A page waits for nobody, and shows what is stored.
                page = outage.status()
            assert (page.status_code, "Waiting for your payment" in page.text) == (200, True)
            with within(_SOON):
                assert outage.pays().status_code == 303, "another order"
            with within(_SOON):
                assert outage.says("reconcile")[0] == 0, "the row is left to whoever holds it"
        outage.heals()


def _waits_for_a_lock(database: str) -> bool:
    with somebody_else(database) as looking:
        waiting = looking.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()
    return waiting is not None and waiting[0] > 0


def test_a_held_row_slows_no_other_page(postgres_database: str) -> None:
    """Four threads: two webhooks wait for the row, and its status pages and everything else have the other two."""
    options = ("--workers", "1", "--threads", "4")
    settings = {"SQLALCHEMY_DATABASE_URI": postgres_database, "MAKES_TABLES": "true"}
    with (
        running_sandbox() as (service, _),
        gunicorn("tests.shop_app:create_app()", *options, PAYCHECKOUT_BASE_URL=service, **settings) as address,
    ):
        pay = requests.get(f"{address}/link/o-1", timeout=60).text.removeprefix("http://127.0.0.1")
        started = requests.post(address + pay, headers=SAME_SITE, allow_redirects=False, timeout=60)
        checkout_id = started.headers["Location"].rsplit("/", 1)[1]
        shop = create_shop(None, PAYCHECKOUT_BASE_URL=service, **settings)
        with shop.app.app_context():
            status = shop.paycheckout.status_url("o-1").removeprefix("http://127.0.0.1")

        def hook() -> tuple[int, float]:
            began = time.monotonic()
            answer = requests.post(address + WEBHOOK, json={"orderId": checkout_id}, timeout=60)
            return answer.status_code, time.monotonic() - began

        def page() -> float:
            began = time.monotonic()
            assert requests.get(address + status, timeout=60).status_code == 200
            return time.monotonic() - began

        with ThreadPoolExecutor(3) as threads, somebody_else(postgres_database) as other:
            with other.transaction():
                other.execute("SELECT 1 FROM paycheckout_checkout FOR UPDATE")
                hooks = [threads.submit(hook) for _ in range(2)]
                eventually(lambda: _waits_for_a_lock(postgres_database))
                pages = threads.submit(lambda: [page() for _ in range(5)])
                others = visits(address, 1)
                taken = [*pages.result(), *others]
            for waiting in hooks:
                status_code, took = waiting.result()
                # 503 where the machine is so busy that the limit of ten seconds came first.
                assert status_code in (200, 503)
                assert took > 1, "it did not wait for the row"
        assert max(taken) < _QUICK
        assert hook()[0] == 200


def test_a_locked_table_ends_at_the_limit_of_the_database_role(open_shop: OpenShop, postgres_database: str) -> None:
    """As docs/production.md sets it, for the role; here for the connections."""
    address = make_url(postgres_database).update_query_dict({"options": "-cstatement_timeout=400ms"})
    for outage in outage_of(open_shop(SQLALCHEMY_DATABASE_URI=address.render_as_string(hide_password=False))):
        with outage.beside() as other:
            with other.transaction():
                other.execute("SET statement_timeout = 0")
                other.execute("LOCK TABLE paycheckout_checkout IN ACCESS EXCLUSIVE MODE")
                with within(_SOON):
                    told_slow(outage)
            outage.heals()


def told_slow(outage: Outage) -> None:
    assert outage.hook().status_code == 503
    page = outage.status()
    assert page.status_code == 503
    assert "This page cannot be shown right now" in page.text
    assert "please do not pay again" in page.text
    assert page.headers["Retry-After"] == "10"
    assert page.headers["Cache-Control"] == "no-store"
    polled = outage.status("/status")
    assert (polled.status_code, polled.is_json) == (503, True)
    assert outage.pays().status_code == 503
    words = "the database took longer than its statement_timeout allows"
    owner = outage.owner()
    assert owner.status_code == 503
    assert words in owner.text
    assert "Nothing was recorded" in owner.text
    for command in ("doctor", "report", "reconcile"):
        code, output = outage.says(command)
        assert code == 1, command
        assert words in output, command
