"""A reconcile round: all due work, once each; failures are counted and left for the next round."""

from __future__ import annotations

from datetime import timedelta
from threading import Barrier, get_ident
from typing import Any

import httpx
import pytest
from flask import Flask
from sqlalchemy.exc import OperationalError

from flask_paycheckout import Pay, ReconcileReport, order_paid
from flask_paycheckout.testing import Signals
from tests.conftest import OpenShop
from tests.scripted import Service, Shop, refusal

pytestmark = pytest.mark.on_each_database


def stores_many(shop: Shop, count: int) -> list[str]:
    """Store copies of one checkout, each of another order, due one after the other as with a real clock."""
    first, table = shop.starts(), shop.runtime.models.checkouts
    due_times = {f"many-{number}": shop.clock.now - timedelta(microseconds=count - number) for number in range(count)}
    shop.stores_like(
        first,
        [
            {"checkout_id": name, "order_id": name, "current_order_id": name, "next_read_at": due}
            for name, due in due_times.items()
        ],
    )
    shop.executes(table.delete().where(table.c.checkout_id == first))
    shop.totals |= dict.fromkeys(due_times, shop.totals["o-1"])
    return list(due_times)


def test_a_round_settles_what_is_due_and_delivers_what_came_of_it(shop: Shop, signals: Signals) -> None:
    paid, pending, nothing = stores_many(shop, 3)
    shop.service.says(paid, "completed")
    shop.service.says(pending, "pending")
    report = shop.reconciles()
    assert report == ReconcileReport(checked=3, changed=2, delivered=2, failed=0)
    assert report.clean
    # Threads settle different orders, so their sequence is undefined.
    assert sorted(signals.names[1:]) == ["order_paid", "order_pending"]
    assert shop.attempt(nothing).reads == 1


def test_a_limit_bounds_the_checkouts_that_are_read(shop: Shop) -> None:
    stores_many(shop, 3)
    wrong: Any
    for wrong in (-1, 1.5, "10", True):
        with pytest.raises(ValueError, match="limit must be a whole number from 0 on"):
            shop.reconciles(wrong)
    assert [shop.reconciles(limit).checked for limit in (0, 2, None)] == [0, 2, 1]


def test_a_failed_read_is_counted_and_stops_nothing(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    unread, refused, fine = stores_many(shop, 3)

    @order_paid.connect_via(shop.app)
    @shop.paycheckout.atomic
    def close(app: Flask, *, order_id: str, **extra: object) -> None:
        assert order_id != refused

    shop.service.fails(unread)
    shop.service.says(refused, "completed")
    shop.service.says(fine, "completed")
    report = shop.reconciles()
    assert (report.checked, report.changed, report.failed, report.clean) == (3, 1, 2, False)
    assert shop.reconciles().checked == 0, "what failed waits its turn"
    order_paid.disconnect(close)
    assert f"checkout {unread} of order {unread} could not be read" in caplog.text
    assert f"checkout {refused} of order {refused} could not be settled" in caplog.text


def claimed_now(shop: Shop) -> int:
    table = shop.runtime.models.checkouts
    with shop.engine.connect() as connection:
        waiting = table.c.next_read_at == shop.clock.now + shop.runtime.claim
        return len(connection.execute(table.select().where(waiting)).all())


def test_reads_run_at_once_and_never_more_than_allowed(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_RECONCILE_READERS=4)
    stores_many(shop, 40)
    # New reads begin by two: a fourth one may have ended just before these three met.
    full = Barrier(3, timeout=60)
    under_way, most, claimed = set[int](), [0], [0]

    def meanwhile() -> None:
        under_way.add(get_ident())
        most[0] = max(most[0], len(under_way))
        claimed[0] = max(claimed[0], claimed_now(shop))
        if len(shop.service.reads) > 20 and not full.broken and not met:
            full.wait()
            met.append(True)
        under_way.discard(get_ident())

    met: list[bool] = []
    shop.service.meanwhile = meanwhile
    assert shop.reconciles().checked == 40
    assert met, "three reads waited for each other"
    assert most[0] in (3, 4)
    assert claimed[0] <= 4, "what a process that dies has claimed must not be more than it reads"


def test_the_shops_code_runs_in_few_threads_and_on_sqlite_in_the_callers(shop: Shop) -> None:
    threads = set[int]()

    @shop.paycheckout.order_total
    def order_total(order_id: str) -> Pay:
        threads.add(get_ident())
        return Pay("12.50", "USD")

    def receive(app: object, **facts: object) -> None:
        threads.add(get_ident())

    for checkout_id in stores_many(shop, 20):
        shop.service.says(checkout_id, "completed")
    threads.clear()
    with order_paid.connected_to(receive, sender=shop.app):
        assert shop.reconciles() == ReconcileReport(checked=20, changed=20, delivered=20)
    assert threads == {get_ident()} if shop.engine.dialect.name == "sqlite" else 1 <= len(threads) <= 2


def test_a_claim_that_fails_loses_no_read_that_is_under_way(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    for checkout_id in stores_many(shop, 30):
        shop.service.says(checkout_id, "completed")
    claims = iter(range(100))
    claim_due = shop.runtime.checkouts.claim_due

    def claims_four_times(checkouts: Any, *args: Any, **kwargs: Any) -> Any:
        if next(claims) == 4:
            raise OperationalError("UPDATE", {}, Exception("the server closed the connection"))
        return claim_due(*args, **kwargs)

    monkeypatch.setattr(type(shop.runtime.checkouts), "claim_due", claims_four_times)
    with pytest.raises(OperationalError, match="closed the connection"):
        shop.reconciles()
    assert claimed_now(shop) == 0
    settled = list(shop.service.reads)
    assert {shop.attempt(checkout_id).status for checkout_id in settled} == {"paid"}
    assert shop.reconciles().changed == 30 - len(settled)


def fails_whole(shop: Shop) -> None:
    """Let the service be down: it answers no read."""

    def down() -> None:
        raise httpx.ConnectError("refused")

    shop.service.meanwhile = down


def comes_back(shop: Shop) -> None:
    shop.service.meanwhile = lambda: None


@pytest.fixture
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own retries of a read take time and are tested elsewhere."""
    monkeypatch.setattr("flask_paycheckout.client.waiting._WORTH_REPEATING", ())


@pytest.mark.usefixtures("no_retries")
def test_a_service_that_is_down_is_probed_and_not_flooded(shop: Shop) -> None:
    ids = stores_many(shop, 300)
    fails_whole(shop)
    assert shop.reconciles() == ReconcileReport(checked=3, failed=3)
    for round_number in range(1, 6):
        assert shop.reconciles(hours=1) == ReconcileReport(checked=1, failed=1)
        assert len(set(shop.service.reads)) == 3 + round_number, "a probe of what did not fail before"
    assert {shop.attempt(checkout_id).status for checkout_id in ids} == {"created"}
    comes_back(shop)
    shop.waits(hours=1)
    for checkout_id in ids:
        shop.service.says(checkout_id, "completed")
    assert shop.reconciles() == ReconcileReport(checked=300, changed=300, delivered=300)


@pytest.mark.usefixtures("no_retries")
def test_a_payment_is_found_although_all_other_reads_fail_for_ever(shop: Shop) -> None:
    """Each round begins with one probe: the failed read that has waited longest."""
    ids = stores_many(shop, 6)
    fails_whole(shop)
    for _ in range(6):
        shop.reconciles(hours=1)
    comes_back(shop)
    for checkout_id in ids:
        shop.service.fails(checkout_id)
    shop.service.says(ids[0], "completed")
    for _ in range(6):
        shop.reconciles(hours=1)
    assert shop.attempt(ids[0]).status == "paid"


@pytest.mark.usefixtures("no_retries")
def test_checkouts_that_the_service_cannot_tell_about_keep_no_other_waiting(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_RECONCILE_READERS=8)
    ids = stores_many(shop, 120)
    broken, fine = ids[:60], ids[60:]
    for checkout_id in broken:
        shop.service.fails(checkout_id)
    for checkout_id in fine:
        shop.service.says(checkout_id, "completed")
    assert shop.reconciles() == ReconcileReport(checked=120, changed=60, delivered=60, failed=60)
    shop.waits(hours=1)
    shop.service.reads.clear()
    new = shop.starts("o-2")
    shop.reconciles()
    assert shop.service.reads[0] == new, "what failed last time comes after all that did not"


def test_a_round_reads_what_was_due_as_it_began(shop: Shop) -> None:
    """If a shop sells faster than the service answers, a round must still end."""
    first = shop.starts("o-1")

    def sells() -> None:
        shop.waits(seconds=1)
        shop.starts("o-2")

    shop.service.meets_once(sells)
    assert shop.reconciles().checked == 1
    assert shop.service.reads == [first]


class Refused:
    """Signs like a host whose clock is so far ahead that the service refuses its signatures."""

    client_id = "shop-1"

    def sign(self, method: str, target: str, body: bytes, timestamp: int) -> dict[str, str]:
        return {"X-Client-ID": self.client_id, "X-Refused": "1"}


def test_a_host_whose_clock_is_ahead_keeps_no_read_from_the_others(
    open_shop: OpenShop, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a host claims every read too early, fails, and plans the next read in the other hosts' future."""
    answers = Service.__call__

    def called(self: Service, request: httpx.Request) -> httpx.Response:
        return refusal(401) if "X-Refused" in request.headers else answers(self, request)

    monkeypatch.setattr(Service, "__call__", called)
    shop, ahead = open_shop(), open_shop(ahead=7200, PAYCHECKOUT_SIGNER=Refused())
    checkout_id, pending = shop.has_deposit("completed"), shop.has_deposit("pending", "o-2")
    shop.settles(pending)
    service.says(pending, "completed")
    shop.waits(seconds=10)
    assert ahead.reconciles().failed == 2
    shop.reconciles()
    assert [shop.attempt(each).status for each in (checkout_id, pending)] == ["paid", "paid"]


def test_a_checkout_that_a_fast_clock_abandoned_is_read_when_the_clock_is_right_again(shop: Shop) -> None:
    checkout_id = shop.starts()
    shop.waits(days=1)
    for _ in range(2):
        shop.reconciles()
        shop.waits(minutes=1)
    assert shop.attempt(checkout_id).status == "abandoned"
    shop.waits(days=-1)
    shop.service.says(checkout_id, "completed")
    shop.reconciles()
    assert shop.attempt(checkout_id).status == "paid"
