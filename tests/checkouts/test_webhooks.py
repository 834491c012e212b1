"""Webhooks: plausible ones about open checkouts are stored, and the sender never learns their effect."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy.exc import SQLAlchemyError

from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.test_bounds import statements


@pytest.mark.parametrize("checkout_id", ["", "x" * 256, "a\x00b", "\ud800", "a\nb"])
def test_text_that_no_database_holds_is_not_even_looked_up(shop: Shop, checkout_id: str) -> None:
    with shop.app.app_context():
        shop.db.drop_all()
    shop.runtime.webhooks.receive(checkout_id)


def test_an_id_that_could_be_one_is_looked_up(shop: Shop) -> None:
    with shop.app.app_context():
        shop.db.drop_all()
    with pytest.raises(SQLAlchemyError):
        shop.runtime.webhooks.receive("x" * 255)


def test_a_hint_about_an_abandoned_checkout_is_read(shop: Shop) -> None:
    checkout_id = shop.has_deposit("failed")
    shop.settles(checkout_id)
    shop.service.says(checkout_id, "completed")
    shop.runtime.webhooks.receive(checkout_id)
    assert shop.attempt(checkout_id).status == "paid"


def test_each_checkout_has_a_cool_down_of_its_own(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_WEBHOOK_COOLDOWN=60)
    first, second = shop.starts("o-1"), shop.starts("o-2")
    for checkout_id in (first, second, first, second):
        shop.runtime.webhooks.receive(checkout_id)
    assert shop.service.reads == [first, second]


def test_the_first_webhook_of_a_decided_checkout_is_counted_and_told(shop: Shop) -> None:
    """Whether webhooks arrive at all shows on the orders that were paid without them."""
    checkout_id = shop.has_paid()
    shop.runtime.webhooks.receive(checkout_id)
    attempt = shop.attempt(checkout_id)
    assert (attempt.webhooks, attempt.status, attempt.next_read_at) == (1, "paid", None)
    assert attempt.history.count('"what":"webhook"') == 1


def test_every_later_webhook_of_a_decided_checkout_costs_one_select(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    shop.runtime.webhooks.receive(checkout_id)
    with statements(shop) as seen:
        for _ in range(3):
            shop.runtime.webhooks.receive(checkout_id)
    assert [statement.split()[0] for statement in seen] == ["SELECT"] * 3
    assert shop.attempt(checkout_id).webhooks == 1


def test_a_webhook_counts_once_only_though_two_arrive_together_after_the_decision(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    as_loaded = shop.attempt(checkout_id)
    for _ in range(2):
        assert not shop.runtime.due_reads.note_webhook(as_loaded, shop.clock(), timedelta(seconds=5))
    assert shop.attempt(checkout_id).webhooks == 1


def test_a_hint_is_not_lost_to_a_move_made_since_the_checkout_was_loaded(shop: Shop) -> None:
    checkout_id = shop.starts()
    as_created = shop.attempt(checkout_id)
    shop.settles(checkout_id, says="pending")
    assert shop.runtime.due_reads.note_webhook(as_created, shop.clock(), timedelta(seconds=5))
    attempt = shop.attempt(checkout_id)
    assert (attempt.status, attempt.webhooks, attempt.next_read_at) == ("pending", 1, shop.clock())


def test_a_hint_that_comes_as_the_payment_is_found_is_counted(shop: Shop) -> None:
    checkout_id = shop.starts()
    as_created = shop.attempt(checkout_id)
    shop.settles(checkout_id, says="completed")
    assert not shop.runtime.due_reads.note_webhook(as_created, shop.clock(), timedelta(seconds=5))
    attempt = shop.attempt(checkout_id)
    assert (attempt.status, attempt.webhooks, attempt.next_read_at) == ("paid", 1, None)


@pytest.mark.parametrize("deferred", [False, True], ids=["read by the webhook", "deferred"])
def test_webhooks_and_reconcile_together_read_once_per_cool_down(open_shop: OpenShop, deferred: bool) -> None:
    """Whoever makes a read that webhooks asked for: it is one in five seconds, and none is lost."""
    shop = open_shop(PAYCHECKOUT_DEFER_WEBHOOKS=deferred)
    checkout_id = shop.has_deposit("pending")
    for second in range(120):
        # Each webhook comes twice, as from a service that sends it to two addresses of the shop.
        shop.reconciles()
        for _ in range(2):
            shop.runtime.webhooks.receive(checkout_id)
        shop.clock.advance(seconds=1)
        assert len(shop.service.reads) <= second // 5 + 2, second
    assert 20 <= len(shop.service.reads) <= 25
    shop.service.says(checkout_id, "completed")
    shop.clock.advance(seconds=5)
    shop.reconciles()
    assert shop.attempt(checkout_id).status == "paid"
