"""Tries of a payout: an unknown result stays unknown until a lookup, and a new try looks up the earlier ones.

The service accepts a reference once, as documented, unless a test lets it pay every request.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from tests.conftest import OpenShop
from tests.payouts.books import NO_ANSWER, Books, Pages
from tests.payouts.conftest import CONFIG
from tests.payouts.shop import MAKER, WALLET, decides, payout, pays_out, refunds, sends
from tests.scripted import Answer, Clock, Shop, refusal, success


@pytest.fixture
def books(clock: Callable[[], Any]) -> Books:
    return Books(Pages(), clock=clock)


def late_list(times: int) -> list[Answer]:
    """The service's earlier list, for this number of lookups."""
    empty: dict[str, Any] = {"docs": [], "totalDocs": 0, "limit": 100, "totalPages": 1, "page": 1}
    return [success(empty | {"hasPrevPage": False, "hasNextPage": False})] * times


def later(shop: Shop, seconds: float = 61) -> str:
    sends(shop, seconds=seconds)
    return str(payout(shop).status)


# Once in doubt


def test_a_refusal_after_doubt_is_looked_up_again_and_then_unknown(shop: Shop, books: Books) -> None:
    pays_out(shop)
    books.instead = [NO_ANSWER, refusal(400, "reference must be unique")]
    sends(shop)
    assert later(shop) == "sending", "sent again, refused, and missed once"
    assert later(shop, 59) == "sending"
    assert later(shop, 1) == "unknown"
    assert "must be unique" in payout(shop).problem
    assert books.paid == []


@pytest.mark.parametrize("to", [MAKER, WALLET], ids=["bank", "token"])
def test_a_refusal_after_a_persons_not_sent_is_unknown_again_and_may_be_cancelled(
    shop: Shop, books: Books, to: Any
) -> None:
    pays_out(shop, to=to)
    books.instead = [NO_ANSWER, *[refusal(400, "no such account")] * 2]
    sends(shop)
    for _ in range(2):
        assert [later(shop) for _ in range(4)][-1] == "unknown"
        assert decides(shop, "resolve", "maker-1", False)
    assert decides(shop, "cancel", "maker-1")
    assert books.paid == []


def test_a_payout_that_a_late_list_hides_from_both_lookups_is_paid_once(shop: Shop, books: Books) -> None:
    pays_out(shop)
    books.lost, books.instead_of_reads = 1, late_list(3)
    sends(shop)
    assert later(shop) == "sending", "the service has refused the second send"
    assert later(shop) == "sent"
    assert len(books.paid) == 1


def test_a_refusal_without_doubt_whose_look_up_fails_is_failed_later(shop: Shop, books: Books) -> None:
    pays_out(shop)
    books.instead, books.instead_of_reads = [refusal(400, "no such bank")], [refusal(503)]
    sends(shop)
    assert later(shop, 3600) == "failed"


def test_an_answer_that_comes_after_a_person_resolved_it_is_kept_for_people(shop: Shop, books: Books) -> None:
    def meanwhile(references: object) -> None:
        sends(shop, minutes=5)

    pays_out(shop, to=WALLET)
    books.created = meanwhile
    sends(shop)
    stored = payout(shop)
    assert (stored.status, books.paid[0].id in stored.problem) == ("unknown", True)


@pytest.mark.parametrize("lag", [0, 2, 30])
def test_a_payout_that_a_refused_batch_sent_is_found_however_late_the_list_shows_it(
    shop: Shop, books: Books, lag: int
) -> None:
    """The service accepts a part of the batch before it refuses the rest."""

    def takes_a_part(references: Any) -> None:
        books.creating = lambda references: None
        item = {"id": "pay-0", "to": "rec_1", "kind": "recipientId", "amount": "80.00", "currency": "USD"}
        books.paper.add("asked to pay", items=[item | {"reference": references[0], "at": shop.clock().isoformat()}])
        books.instead = [refusal(400, "recipient not found")]
        books.instead_of_reads = late_list(2 if lag else 0)

    for reference in ("maker-1", "bad"):
        pays_out(shop, reference)
    books.creating = takes_a_part
    books.refused = {"bad"}
    sends(shop)
    for _ in range(3):
        sends(shop, seconds=61)
    assert (payout(shop).status, payout(shop, "bad").status, len(books.paid)) == ("sent", "failed", 1)


@pytest.mark.parametrize("to", [MAKER, WALLET], ids=["bank", "token"])
def test_a_refusal_that_says_that_the_reference_is_taken_fails_nothing(shop: Shop, books: Books, to: Any) -> None:
    """The database sent it before a failover, and the service's list is late."""
    pays_out(shop, to=to)
    books.instead = [refusal(400, "reference must be unique")]
    sends(shop)
    for status in ("sending", "unknown"):
        assert payout(shop).status == (status if to is MAKER else "unknown")
        later(shop)
    assert books.paid == []


# Clocks


def test_the_minute_between_two_look_ups_is_the_databases(open_shop: OpenShop, books: Books) -> None:
    behind, ahead = open_shop(**CONFIG), open_shop(ahead=70, **CONFIG)
    pays_out(behind)
    books.instead = [NO_ANSWER]
    sends(behind)
    for host in (behind, ahead, behind):
        sends(host)
    assert (payout(behind, "maker-1").status, books.paid) == ("sending", [])
    for _ in range(4):
        behind.clock.advance(seconds=61)
        sends(ahead)
    assert (payout(behind, "maker-1").status, len(books.paid)) == ("sent", 1)


@pytest.mark.parametrize("hours", [-48, -2, 2])
def test_no_clock_of_the_service_hides_a_payout_from_its_look_up(shop: Shop, books: Books, hours: int) -> None:
    books.unique, books._clock = False, lambda: shop.clock() + timedelta(hours=hours)
    pays_out(shop, "known")
    sends(shop)
    shop.waits(days=3)
    pays_out(shop)
    books.lost, books.instead_of_reads = 1, late_list(1)
    sends(shop)
    pays_out(shop, "recent")
    later(shop, 30)
    assert payout(shop, "recent").status == "sent"
    assert later(shop, 31) == "sent"
    assert len(books.paid) == 3


# A restored backup


@pytest.mark.on_each_database
def test_a_restored_database_asks_for_the_same_reference_again(open_shop: OpenShop, shop: Shop, books: Books) -> None:
    """This includes a database whose backup is older than the first payout."""
    shop.reconciles()
    models = shop.runtime.models
    with shop.app.app_context(), shop.db.engine.connect() as connection:
        backup = [dict(row) for row in connection.execute(models.installation.select()).mappings()]
    before = pays_out(shop).service_reference
    sends(shop)
    with shop.app.app_context(), shop.db.engine.begin() as connection:
        for table in (models.payouts, models.bookings, models.events, models.installation):
            connection.execute(table.delete())
        for row in backup:
            connection.execute(models.installation.insert(), row)
    again = open_shop(**CONFIG)
    assert pays_out(again).service_reference == before
    sends(again)
    assert (payout(again, "maker-1").status, len(books.paid)) == ("sent", 1)
    assert pays_out(open_shop("another", **CONFIG)).service_reference != before


def test_a_restored_shop_finds_what_it_asks_for_days_later(shop: Shop, books: Books, clock: Clock) -> None:
    """Other payouts were sent in the meantime."""
    pays_out(shop, "before")
    sends(shop)
    clock.advance(days=2)
    forgotten = pays_out(shop)
    sends(shop)
    table = shop.runtime.models.payouts
    shop.executes(table.delete().where(table.c.id == forgotten.id))
    clock.advance(hours=2)
    pays_out(shop, "since")
    sends(shop)
    books.finish()
    clock.advance(days=2)
    assert pays_out(shop).service_reference == forgotten.service_reference
    sends(shop)
    assert (payout(shop).status, len(books.paid)) == ("sent", 3)


# A new try


def fails(shop: Shop, books: Books) -> str:
    """Let a payout fail at the bank, and retry it as a person; returns its first service reference."""
    first = str(pays_out(shop).service_reference)
    sends(shop)
    books.finish("failed")
    assert later(shop, 3600) == "failed"
    assert decides(shop, "retry", "maker-1")
    return first


def test_a_retry_takes_an_earlier_try_that_was_carried_out_after_all(shop: Shop, books: Books) -> None:
    first = fails(shop, books)
    books.paper.add("finished", id=books.paid[0].id, status="completed")
    sends(shop)
    stored = payout(shop)
    assert (stored.status, stored.service_reference, stored.disbursement_id) == ("sent", first, books.paid[0].id)
    assert later(shop, 3600) == "completed"
    assert len(books.paid) == 1


def test_a_refund_in_place_of_one_that_was_paid_after_all_waits_until_it_is_cancelled(shop: Shop, books: Books) -> None:
    checkout_id = shop.has_paid()
    first = refunds(shop, checkout_id, to=MAKER).reference
    sends(shop)
    books.finish("failed")
    sends(shop, seconds=3600)
    second = refunds(shop, checkout_id, to=MAKER).reference
    books.paper.add("finished", id=books.paid[0].id, status="completed")
    for problem, answers in {"earlier refund could not be read": [refusal(503)] * 9, "was paid after all": []}.items():
        books.instead_of_reads = [*answers]
        sends(shop, seconds=7200)
        waits = payout(shop, second)
        assert (waits.status, problem in waits.problem) == ("ready", True), waits.problem
    for decision, reference in (("cancel", second), ("retry", first)):
        assert decides(shop, decision, reference)
    sends(shop, seconds=600)
    assert (payout(shop, first).status, len(books.paid)) == ("sent", 1)


def test_the_doubt_about_an_earlier_try_is_none_about_the_next(shop: Shop, books: Books) -> None:
    books.lost = 1
    fails(shop, books)
    assert decides(shop, "cancel", "maker-1")


def test_a_retry_waits_while_an_earlier_try_cannot_be_read(shop: Shop, books: Books) -> None:
    fails(shop, books)
    books.instead_of_reads = [refusal(503)] * 9
    for _ in range(3):
        sends(shop)
        stored = payout(shop)
        assert (stored.status, "earlier try could not be read" in stored.problem) == ("ready", True)
        shop.waits(hours=2)
    assert len(books.paid) == 1
    books.instead_of_reads = []
    assert later(shop) == "sent"
    assert len({payout.reference for payout in books.paid}) == 2


def test_a_refused_try_is_looked_up_by_its_reference(shop: Shop, books: Books) -> None:
    pays_out(shop)
    books.instead = [refusal(400, "no such bank")]
    sends(shop)
    assert decides(shop, "retry", "maker-1")
    books.lost = 1
    sends(shop)
    assert (payout(shop).status, len(books.paid)) == ("sent", 1)
