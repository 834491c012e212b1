"""Webhooks: plausible ones about open checkouts are stored, and the sender never learns their effect."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from flask_paycheckout import order_paid
from flask_paycheckout.database.state_table import lines
from tests.conftest import OpenShop
from tests.scripted import Shop


@pytest.mark.parametrize("checkout_id", ["", "x" * 256, "a\x00b", "\ud800", "a\nb"])
def test_text_that_no_database_holds_is_not_even_looked_up(shop: Shop, checkout_id: str) -> None:
    with shop.app.app_context():
        shop.db.drop_all()
    shop.runtime.webhooks.receive(checkout_id)


def test_a_hint_about_an_abandoned_checkout_is_read(shop: Shop) -> None:
    checkout_id = shop.has_deposit("failed")
    shop.hears_of(checkout_id)
    assert shop.attempt(checkout_id).status == "abandoned"
    shop.service.says(checkout_id, "completed")
    shop.waits(seconds=5)
    shop.hears_of(checkout_id)
    assert shop.attempt(checkout_id).status == "paid"


def test_the_first_webhook_of_a_decided_checkout_is_counted_and_told(shop: Shop) -> None:
    """The orders that were paid without webhooks show whether webhooks arrive at all."""
    checkout_id = shop.has_paid()
    shop.hears_of(checkout_id)
    attempt = shop.attempt(checkout_id)
    assert (attempt.webhooks, attempt.status, attempt.next_read_at) == (1, "paid", None)
    assert attempt.history.count('"what":"webhook"') == 1


def test_a_hint_is_not_lost_to_a_move_made_since_the_checkout_was_loaded(shop: Shop) -> None:
    checkout_id = shop.starts()
    as_created = shop.attempt(checkout_id)
    shop.settles(checkout_id, says="pending")
    assert shop.runtime.checkouts.note_webhook(as_created, shop.clock(), timedelta(seconds=5))
    attempt = shop.attempt(checkout_id)
    assert (attempt.status, attempt.webhooks, attempt.next_read_at) == ("pending", 1, shop.clock())


@pytest.mark.parametrize("deferred", [False, True], ids=["read by the webhook", "deferred"])
def test_webhooks_and_reconcile_together_read_once_per_cool_down(open_shop: OpenShop, deferred: bool) -> None:
    """Reads because of webhooks happen once in five seconds, in any process, and none is lost."""
    shop = open_shop(PAYCHECKOUT_DEFER_WEBHOOKS=deferred)
    checkout_id = shop.has_deposit("pending")
    for second in range(40):
        # Each webhook arrives twice, as from a service that sends it to two addresses of the shop.
        shop.reconciles()
        for _ in range(2):
            shop.hears_of(checkout_id)
        shop.waits(seconds=1)
        assert len(shop.service.reads) <= second // 5 + 2, second
    assert 7 <= len(shop.service.reads) <= 9
    shop.service.says(checkout_id, "completed")
    shop.reconciles(seconds=5)
    assert shop.attempt(checkout_id).status == "paid"


# The hint is stored with the result of the read that it caused


def told(shop: Shop, checkout_id: str) -> list[str]:
    return [entry["what"] for entry in lines(shop.attempt(checkout_id).history)]


@pytest.mark.parametrize(
    ("says", "result"),
    [("completed", "not applied"), ("created", "moved"), (None, "read"), ("away", "no answer")],
)
def test_a_read_stores_its_webhook_whatever_its_result(shop: Shop, says: str | None, result: str) -> None:
    checkout_id = shop.starts()
    if says == "away":
        shop.service.fails(checkout_id)
    elif says is not None:
        shop.service.says(checkout_id, says)
    with shop.refusing(order_paid):
        shop.hears_of(checkout_id)
    attempt = shop.attempt(checkout_id)
    assert told(shop, checkout_id) == ["created", "webhook", result]
    assert (attempt.webhooks, attempt.webhook_read_at, attempt.webhook_due_at) == (1, shop.clock(), None)


def test_a_webhook_whose_read_somebody_else_forestalls_is_counted(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")

    shop.service.meets_once(lambda: shop.settles(checkout_id))
    shop.hears_of(checkout_id)
    assert told(shop, checkout_id) == ["created", "moved", "webhook"]
    assert shop.attempt(checkout_id).webhooks == 1


def test_webhooks_of_two_processes_that_read_at_once_both_count(open_shop: OpenShop) -> None:
    shop = open_shop()
    database = shop.app.config["SQLALCHEMY_DATABASE_URI"]
    other, third = (open_shop(SQLALCHEMY_DATABASE_URI=database) for _ in range(2))
    checkout_id = shop.has_deposit("pending")

    shop.service.meets_once(lambda: other.hears_of(checkout_id))
    shop.hears_of(checkout_id)
    assert told(shop, checkout_id) == ["created", "webhook", "moved"], "the other's answer may be newer"
    assert shop.attempt(checkout_id).webhooks == 2
    assert shop.attempt(checkout_id).webhook_due_at == shop.clock() + timedelta(seconds=5), "so it is asked again"
    # A process without reads of its own uses the stored times of reads.
    third.hears_of(checkout_id)
    assert len(shop.service.reads) == 2


@pytest.mark.parametrize(
    ("says", "status"), [("pending", "pending"), ("failed", "abandoned")], ids=["one move", "two moves"]
)
def test_a_webhook_that_comes_during_a_read_is_read_after_the_cool_down(shop: Shop, says: str, status: str) -> None:
    checkout_id = shop.has_deposit(says)

    def meanwhile() -> None:
        shop.hears_of(checkout_id)
        shop.service.says(checkout_id, "completed")

    shop.service.meets_once(meanwhile)
    shop.hears_of(checkout_id)
    due = shop.clock() + timedelta(seconds=5)
    attempt = shop.attempt(checkout_id)
    assert (attempt.status, attempt.webhooks) == (status, 2)
    assert (attempt.next_read_at, attempt.webhook_due_at) == (due, due)
    shop.reconciles(seconds=5)
    assert shop.attempt(checkout_id).status == "paid"


def test_a_webhook_that_was_read_long_ago_hurries_no_later_read(shop: Shop) -> None:
    """Reconcile does not run, so the third webhook makes the read that the second one requested."""
    checkout_id = shop.has_deposit("pending")
    shop.hears_of(checkout_id)
    shop.waits(seconds=1)
    shop.hears_of(checkout_id)
    shop.waits(seconds=5)

    shop.service.meets_once(lambda: shop.hears_of(checkout_id))
    shop.hears_of(checkout_id)
    assert (shop.attempt(checkout_id).webhooks, len(shop.service.reads)) == (4, 2)
    assert shop.attempt(checkout_id).next_read_at == shop.clock() + timedelta(seconds=5)


def test_while_no_result_can_be_stored_webhooks_cost_one_read_per_cool_down(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")

    def refuse(connection: object, cursor: object, statement: str, *rest: object) -> None:
        if statement.startswith("UPDATE"):
            raise OperationalError(statement, None, Exception("attempt to write a readonly database"))

    engine = shop.engine
    event.listen(engine, "before_cursor_execute", refuse)
    for _ in range(3):
        with pytest.raises(OperationalError):
            shop.runtime.webhooks.receive(checkout_id)
    assert len(shop.service.reads) == 1
    event.remove(engine, "before_cursor_execute", refuse)
    shop.waits(seconds=5)
    shop.runtime.webhooks.receive(checkout_id)
    assert shop.attempt(checkout_id).status == "paid"
