"""The cost of a stranger's request is independent of the order's history; starts of one order go one at a time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from flask import Flask
from sqlalchemy import event

from flask_paycheckout import CheckoutMixin, TooManyAttempts, order_paid, order_pending
from flask_paycheckout.client import Invalid, Unauthorized
from tests.races.crowds import crowd
from tests.scripted import Shop, refusal
from tests.views.pages import opens, presses_pay
from tests.views.test_headless import pays

pytestmark = pytest.mark.on_each_database


@contextmanager
def statements(shop: Shop) -> Iterator[list[str]]:
    seen: list[str] = []

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        seen.append(statement)

    event.listen(shop.engine, "before_cursor_execute", note)
    yield seen
    event.remove(shop.engine, "before_cursor_execute", note)


def has_attempts(shop: Shop, number: int, status: str = "abandoned", **columns: object) -> None:
    """Store this number of earlier checkouts of the order, all of them due."""
    first, table = shop.starts(), shop.runtime.models.checkouts
    own = {"current_order_id": None, "status": status, "next_read_at": shop.clock.now, **columns}
    rows = [own | {"checkout_id": f"chk-old-{place}"} for place in range(number)]
    rows[-1]["current_order_id"] = "o-1"
    shop.changes(first, current_order_id=None)
    shop.stores_like(first, rows)
    shop.executes(table.delete().where(table.c.checkout_id == first))


# The status page


@pytest.mark.parametrize("tail", ["", "/status"], ids=["page", "JSON"])
def test_a_visit_reads_three_attempts_at_most_and_asks_the_database_little(shop: Shop, tail: str) -> None:
    has_attempts(shop, 1000)
    for number in range(1000):
        # A change of each, because reads with changes need more statements.
        shop.service.says(f"chk-old-{number}", "processing")
    with statements(shop) as seen:
        assert opens(shop, suffix=tail).status_code == 200
    assert shop.service.reads == [f"chk-old-{1000 - back}" for back in (1, 2, 3)]
    assert len(seen) <= 30, "\n".join(seen)
    shop.service.reads.clear()
    with statements(shop) as seen:
        assert opens(shop, suffix=tail).status_code == 200
    assert shop.service.reads == []
    assert len(seen) <= 3


def test_waiting_events_of_earlier_pages_are_superseded_together(shop: Shop) -> None:
    def tell(app: Flask, *, checkout: CheckoutMixin, **facts: object) -> None:
        if checkout.status == "pending":
            raise RuntimeError("the mail server is away")

    with order_pending.connected_to(tell, shop.app), order_paid.connected_to(tell, shop.app):
        for _ in range(20):
            shop.settles(checkout_id := shop.starts(), says="pending")
            shop.waits(minutes=16)
        shop.service.says(checkout_id, "completed")
        with statements(shop) as seen:
            assert opens(shop).status_code == 200
    assert len(seen) <= 30, "\n".join(seen)
    assert [event.superseded_at for event in shop.events("order_pending")] == [shop.clock.now] * 20
    assert shop.events("order_paid")[0].delivered_at == shop.clock.now


def test_an_order_without_a_long_history_is_one_statement(shop: Shop) -> None:
    shop.starts()
    opens(shop, suffix="/status")
    with statements(shop) as seen:
        opens(shop, suffix="/status")
    assert len(seen) == 1


@pytest.mark.parametrize("status", ["paid", "held", "pending"])
def test_money_of_an_old_attempt_decides_though_the_attempt_is_not_read(shop: Shop, status: str) -> None:
    has_attempts(shop, 10)
    shop.changes("chk-old-0", status=status, next_read_at=None)
    assert opens(shop, suffix="/status").get_json()["status"] == status
    assert ("chk-old-0" in shop.service.reads) is False


# Start


def test_a_start_asks_the_database_as_little_after_a_thousand_attempts(shop: Shop) -> None:
    costs = []
    for attempts in (1, 1000):
        shop.executes(shop.runtime.models.checkouts.delete())
        has_attempts(shop, attempts)
        with statements(shop) as seen:
            assert presses_pay(shop).status_code == 303
        costs.append(len(seen))
    assert costs[0] == costs[1] <= 30


def test_an_order_has_so_many_pages_that_may_be_paid_and_no_more(shop: Shop) -> None:
    for amount in range(20):
        shop.costs(10 + amount)
        shop.starts()
    assert shop.starts(), "the page that is there is given as before"
    shop.costs("99")
    with pytest.raises(TooManyAttempts, match="o-1") as refused:
        shop.starts()
    assert (refused.value.open_attempts, refused.value.retry_after) == (20, 300)
    assert len(shop.service.created) == 20
    shop.waits(minutes=15)
    assert shop.starts(), "the other pages have expired"


def test_a_picked_page_is_used_again_while_it_is_valid_and_keeps_nobody_out_after_that(shop: Shop) -> None:
    for _ in range(25):
        checkout_id = shop.has_deposit("pending")
        shop.settles(checkout_id)
        shop.waits(minutes=14)
        assert shop.starts() == checkout_id
        shop.waits(minutes=1)
    assert [attempt.status for attempt in shop.attempts()] == ["pending"] * 25


def test_a_customer_of_an_order_with_too_many_pages_is_told_kindly(shop: Shop) -> None:
    has_attempts(shop, 20, "created", next_read_at=None, created_at=shop.clock.now - timedelta(minutes=10))
    shop.costs("99")
    answer = presses_pay(shop)
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "300")
    assert "in about 5 minutes" in answer.text
    assert pays(shop).get_json()["code"] == "too_many_attempts"
    assert "Many payment pages are open for this order" in opens(shop).text
    assert shop.service.created[1:] == []


def test_a_refused_call_is_not_repeated_for_a_while(shop: Shop) -> None:
    shop.service.instead_of_created = [refusal(400, "Amount too small")]
    with pytest.raises(Invalid, match="Amount too small"):
        shop.starts()
    for _ in range(5):
        with pytest.raises(Invalid, match="Amount too small"):
            shop.starts()
    assert len(shop.service.created) == 1
    shop.costs("13")
    assert shop.starts(), "another total is another question"
    shop.costs("12.50")
    shop.waits(seconds=5)
    assert shop.starts()


def test_an_order_can_be_paid_at_once_when_refused_keys_were_replaced(shop: Shop) -> None:
    shop.service.instead_of_created = [refusal(401, "Unknown client")]
    with pytest.raises(Unauthorized):
        shop.starts()
    assert shop.starts()


def test_sixteen_starts_of_one_order_make_one_checkout(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen customers press at once; the service answers no create before all sixteen are waiting."""
    join, waiting, all_wait = shop.runtime.starter._starting.join, list[str](), threading.Event()

    def waits(order_id: str) -> None:
        waiting.append(order_id)
        if len(waiting) == 16:
            all_wait.set()

    @contextmanager
    def joined(order_id: str) -> Iterator[object]:
        with join(order_id) as (flight, mine):
            if not mine:
                waits(order_id)
            yield flight, mine

    def hold() -> None:
        waits("the service")
        assert all_wait.wait(60)

    monkeypatch.setattr(shop.runtime.starter._starting, "join", joined)
    shop.service.meanwhile = hold
    with crowd(16) as threads:
        assert threads.does([shop.starts] * 16) == ["chk-1"] * 16
    assert len(shop.service.created) == 1
