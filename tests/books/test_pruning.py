"""Pruning: removed rows, and above all kept rows; with a working shop, interrupted, and as a dry run."""

from __future__ import annotations

from dataclasses import astuple
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from flask_paycheckout import order_paid
from flask_paycheckout.books.lists import page_of_orders
from flask_paycheckout.books.pruning import Pruned, Pruning
from flask_paycheckout.text import plain
from tests.conftest import OpenShop
from tests.payouts.shop import pays_out, refunds, stands
from tests.scripted import Shop
from tests.test_cli import runs

AGES = timedelta(days=400)
DAYS = timedelta(days=365)
AGO = timedelta(days=366)

pytestmark = pytest.mark.on_each_database


def changes_events(shop: Shop, order_id: str, **columns: Any) -> None:
    table = shop.runtime.models.events
    shop.executes(table.update().where(table.c.order_id == order_id).values(columns))


def abandons(shop: Shop, order_id: str) -> str:
    """Make an order that was never paid and is no longer read."""
    shop.costs("12.50", order_id)
    checkout_id = shop.starts(order_id)
    shop.abandons(checkout_id)
    shop.changes(checkout_id, next_read_at=None)
    return checkout_id


def pays(shop: Shop, order_id: str) -> str:
    shop.costs("12.50", order_id)
    return shop.has_paid(order_id)


def completes(shop: Shop, reference: str, **columns: Any) -> None:
    """Make a payout that was paid long ago."""
    pays_out(shop, reference)
    moved = shop.clock() - AGO
    stands(shop, reference, **{"status": "completed", "moved_at": moved, "due_at": None} | columns)


def prunes(shop: Shop, *, dry_run: bool = False) -> Pruned:
    with shop.app.app_context():
        return shop.runtime.pruning.run(DAYS, dry_run=dry_run)


def counts(pruned: Pruned) -> tuple[int, ...]:
    """The numbers of removed histories of checkouts and payouts, events and checkouts, and of remaining rows."""
    return astuple(pruned)[2:]


def test_ended_rows_are_deleted_and_the_bookings_stay(shop: Shop) -> None:
    paid, abandoned = shop.has_paid("o-1"), abandons(shop, "o-2")
    pays_out(shop, order_id="o-1")
    shop.clock.now += AGES
    row_of, before, books = shop.runtime.models.row_of, shop.attempt(paid), shop.runs("export").stdout
    pruned = prunes(shop)
    assert counts(pruned) == (1, 0, 4, 1, 0)
    after = shop.attempt(paid)
    changed = dict(row_of(after).items() - row_of(before).items())
    assert changed == {"history": "", "pruned_at": shop.clock()}
    assert shop.runs("export").stdout == books
    assert shop.runtime.checkouts.find(abandoned) is None
    assert shop.events() == []


def test_of_abandoned_checkouts_only_those_that_nobody_can_pay_any_more_go(shop: Shop) -> None:
    """Each of these differs from a removable checkout in one fact only."""
    now = shop.clock() + AGES
    kept: dict[str, dict[str, Any]] = {
        "open deposit": {"deposit_status": "pending"},
        "closed deposit": {"deposit_status": "expired", "reason": "deposit_closed"},
        "money": {"payment_completed_at": now - AGO},
        "paid": {"payment_paid_amount": "12.50"},
        "refunded": {"refunded_amount": "1.00"},
        "payback": {"payback": "kept"},
        "watched": {"next_read_at": now + timedelta(hours=12)},
        "hinted": {"webhook_due_at": now},
        "webhook": {"webhooks": 1},
        "problem": {"problem": "ReadTimeout", "problem_since": now},
        "young": {"moved_at": now - timedelta(days=364)},
        "created": {"status": "created"},
        "pending": {"status": "pending"},
        "held": {"status": "held"},
        "rejected": {"status": "rejected"},
    }
    ids = {order_id: abandons(shop, order_id) for order_id in ("goes", *kept, "a refund", "told", "failed")}
    shop.clock.now = now
    for order_id, columns in kept.items():
        shop.changes(ids[order_id], **columns)
    changes_events(shop, "told", delivered_at=now - timedelta(days=364))
    changes_events(shop, "failed", delivered_at=None, next_attempt_at=now)
    pays_out(shop, "p-1")
    stands(shop, "p-1", refund_of=ids["a refund"])
    prunes(shop)
    left = {order_id for order_id, checkout_id in ids.items() if shop.runtime.checkouts.find(checkout_id)}
    assert left == set(ids) - {"goes"}


def test_an_order_with_another_checkout_stays_in_the_list_of_orders(shop: Shop) -> None:
    shop.changes(abandons(shop, "o-1"), webhooks=1)
    abandons(shop, "o-1")
    shop.clock.now += AGES
    prunes(shop)
    assert [order.order_id for order in page_of_orders(shop.runtime.checkouts).rows] == ["o-1"]


def test_a_checkout_stays_while_a_link_to_its_order_can_be_valid(open_shop: OpenShop) -> None:
    for days, goes in ((90, 1), (500, 0)):
        shop = open_shop(f"links-{days}", PAYCHECKOUT_TOKEN_MAX_AGE=days * 86_400)
        abandons(shop, "o-1")
        shop.clock.now += AGES
        pruned = prunes(shop)
        assert (pruned.checkouts, pruned.checkout_histories, pruned.events) == (goes, 1 - goes, 2)
        shop.clock.now += AGES
        assert prunes(shop).checkouts == 1 - goes


def test_histories_stay_of_what_is_not_decided(shop: Shop) -> None:
    now = shop.clock() + AGES
    kept: dict[str, dict[str, Any]] = {
        "young": {"moved_at": now - timedelta(days=364)},
        "held": {"status": "held", "paid_order_id": None},
        "second payment": {"paid_order_id": None},
        "rejected": {"status": "rejected", "paid_order_id": None},
        "abandoned with money": {"status": "abandoned", "paid_order_id": None, "deposit_status": "failed"},
    }
    decided: dict[str, dict[str, Any]] = {
        "paid": {"payback": None},
        "kept": {"paid_order_id": None, "payback": "kept"},
        "rejected and refunded": {"status": "rejected", "paid_order_id": None, "payback": "refunded"},
    }
    ids = {order_id: pays(shop, order_id) for order_id in (*kept, *decided, "not told")}
    shop.clock.now = now
    for order_id, columns in (kept | decided).items():
        shop.changes(ids[order_id], **columns)
    changes_events(shop, "not told", delivered_at=None, next_attempt_at=now)
    assert prunes(shop).checkout_histories == len(decided)
    whole = {order_id for order_id, checkout_id in ids.items() if shop.attempt(checkout_id).history}
    assert whole == {*kept, "not told"}
    # The events of kept checkouts are kept.
    assert {event.order_id for event in shop.events()} == whole


def test_events_stay_that_are_young_or_not_delivered(shop: Shop) -> None:
    pays(shop, "young")
    pays(shop, "superseded")
    shop.clock.now += AGES
    changes_events(shop, "young", delivered_at=shop.clock() - timedelta(days=364))
    changes_events(shop, "superseded", delivered_at=None, superseded_at=shop.clock() - AGO)
    assert counts(prunes(shop)) == (1, 0, 2, 0, 0)
    assert {event.order_id for event in shop.events()} == {"young"}
    # Old events are removed, together with the history.
    shop.waits(days=2)
    assert counts(prunes(shop)) == (1, 0, 2, 0, 0)


def test_histories_of_payouts_go_when_they_are_at_their_end(shop: Shop) -> None:
    shop.clock.now += AGES
    now = shop.clock()
    completes(shop, "completed")
    completes(shop, "cancelled", status="cancelled")
    completes(shop, "token sent", status="sent")
    kept: dict[str, dict[str, Any]] = {
        "sent": {"status": "sent", "due_at": now},
        "ready": {"status": "ready", "due_at": now},
        "failed": {"status": "failed"},
        "unknown": {"status": "unknown"},
        "young": {"moved_at": now - timedelta(days=364)},
        "problem": {"status": "sent", "problem": "an answer came late", "problem_since": now - AGO},
    }
    for reference, columns in kept.items():
        completes(shop, reference, **columns)
    assert counts(prunes(shop)) == (0, 3, 0, 0, 0)
    stored = {name: shop.runtime.payouts.require(name) for name in ("completed", "cancelled", "token sent", *kept)}
    assert {name for name, payout in stored.items() if payout.history} == set(kept)
    assert {name for name, payout in stored.items() if payout.pruned_at is None} == set(kept)


def test_money_that_comes_between_count_and_removal_is_kept(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A webhook's hint is stored before the deposit is read, and the payment afterwards."""
    checkout_id = abandons(shop, "o-1")
    other = abandons(shop, "o-2")
    shop.clock.now += AGES
    comes, removed = iter(["completed"]), Pruning._removed

    def after_money(self: Pruning, *arguments: Any) -> int:
        for status in comes:
            shop.settles(checkout_id, says=status)
        return removed(self, *arguments)

    monkeypatch.setattr(Pruning, "_removed", after_money)
    assert counts(prunes(shop)) == (0, 0, 2, 1, 1)
    assert shop.attempt(checkout_id).status == "paid"
    assert shop.attempt(checkout_id).payment is not None
    assert [event.name for event in shop.events()] == ["checkout_created", "order_abandoned", "order_paid"]
    assert shop.runtime.checkouts.find(other) is None


def test_rows_that_others_hold_are_left_without_waiting(shop: Shop) -> None:
    """PostgreSQL locks rows; SQLite has one writer."""
    locked, free = pays(shop, "held"), pays(shop, "free")
    shop.clock.now += AGES
    table = shop.runtime.models.checkouts
    with shop.engine.begin() as connection:
        connection.execute(table.update().where(table.c.checkout_id == locked).values(revision=table.c.revision))
        if shop.engine.dialect.name == "postgresql":
            assert counts(prunes(shop)) == (1, 0, 4, 0, 1)
            assert shop.attempt(locked).pruned_at is None
            assert shop.attempt(free).pruned_at
    assert prunes(shop).left == 0
    assert shop.attempt(locked).pruned_at
    assert not any(event.order_id == "held" for event in shop.events())


def test_a_row_that_the_database_cannot_change_is_named_and_stops_no_other(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    ids = [pays(shop, order_id) for order_id in ("a", "b", "c")]
    shop.clock.now += AGES
    bad = 987654
    shop.changes(ids[1], id=bad)

    def breaks(connection: Any, cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        if statement.startswith("UPDATE paycheckout_checkout") and str(bad) in str(parameters):
            raise sa.exc.InternalError(statement, None, Exception("the page is damaged"))

    sa.event.listen(shop.engine, "before_cursor_execute", breaks)
    pruned = prunes(shop)
    assert (pruned.checkout_histories, pruned.left) == (2, 1)
    assert pruned.events > 0
    assert f"row {bad} of paycheckout_checkout cannot be pruned" in caplog.text


def test_a_pruned_order_says_so_and_the_deeds_tell_who_decided(shop: Shop) -> None:
    held_id = shop.has_held("o-1")
    shop.resolves(held_id, accept=True)
    refund = refunds(shop, held_id, "0.50")
    shop.clock.now += AGES
    stands(shop, refund.reference, status="completed", moved_at=shop.clock() - AGO)
    assert runs(shop, "prune", "--older-than", "365").exit_code == 0
    text = runs(shop, "show", "o-1").output
    assert "The order is paid: a payment was held, and a person accepted it." in text
    assert text.count("PRUNED: the earlier history was removed") == 2
    assert text.endswith("Events:\n  PRUNED: earlier events were removed after their delivery\n")
    assert f"Ada decided {held_id} (call): seen on the statement" in runs(shop, "deeds").output


def test_the_command_counts_first_and_says_what_it_removed(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_PRUNE_AFTER=DAYS)
    order_paid.connect(lambda app, **extra: None, sender=shop.app)
    pays(shop, "a")
    abandons(shop, "b")
    shop.clock.now += AGES
    answer = shop.tells("prune", "--older-than", "365", "--dry-run")
    assert (answer["before"], answer["dry_run"], answer["events"]) == (plain(shop.clock() - DAYS), True, 4)
    assert shop.tells("prune") == answer | {"dry_run": False}
    assert runs(shop, "prune", "--older-than", "0").exit_code == 2
