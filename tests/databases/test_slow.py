"""A slow database: rows locked by another transaction, a statement limit, and a slow network."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import make_url

from flask_paycheckout.database import connections
from tests.conftest import OpenShop
from tests.databases.conftest import Outage, outage_of

# Seconds. Generous, since the machine may be busy; without a limit each call would wait for ever.
_SOON = 20.0


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
                # A page waits for no lock, and shows the stored state.
                page = outage.status()
            assert (page.status_code, "Waiting for your payment" in page.text) == (200, True)
            with within(_SOON):
                assert outage.pays().status_code == 303, "another order"
            with within(_SOON):
                assert outage.says("reconcile")[0] == 0, "the row is left to whoever holds it"
        outage.heals()


def test_a_locked_table_ends_at_the_limit_of_the_database_role(open_shop: OpenShop, postgres_database: str) -> None:
    """docs/outages.md sets the limit for the role; this test sets it for the connections."""
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
    owner = outage.owner()
    assert {outage.hook().status_code, outage.status().status_code, outage.pays().status_code} == {503}
    words = "the database took longer than its statement_timeout allows"
    assert (owner.status_code, words in owner.text) == (503, True)
    for command in ("doctor", "report", "reconcile"):
        code, output = outage.says(command)
        assert code == 1, command
        assert words in output, command
