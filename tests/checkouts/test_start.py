"""Start: one usable page per order, stored before the customer sees it, and none when no payment is wanted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from enum import Enum
from typing import Any

import httpx
import pytest

from flask_paycheckout import (
    Account,
    ConfigurationError,
    OrderNotPayable,
    OrderSettled,
    Pay,
    Receive,
    ReceiverFailed,
    StartContended,
    ToRecipient,
    checkout_created,
)
from flask_paycheckout.client import TransportFailed
from flask_paycheckout.testing import Signals
from tests.alarming import text_of, urgent
from tests.conftest import OpenShop
from tests.scripted import Shop, garbage, number, refusal, success


@pytest.mark.on_each_database
def test_a_start_stores_what_was_asked_for_and_hands_out_the_services_own_url(shop: Shop, signals: Signals) -> None:
    checkout = shop.calls.start("o-1")
    assert (checkout.checkout_id, checkout.order_id, checkout.status) == ("chk-1", "o-1", "created")
    assert checkout.url == "https://pay.example/checkout/chk-1"
    assert checkout.total == Pay("12.50", "USD")
    assert checkout.created_at == checkout.next_read_at == shop.clock.now
    assert [(event.name, event.order_id, event.checkout_id) for event in signals] == [
        ("checkout_created", "o-1", "chk-1")
    ]


@pytest.mark.on_each_database
def test_an_id_of_an_enumeration_is_written_by_its_text(shop: Shop) -> None:
    class Name(str, Enum):  # noqa: UP042 - as shops write it for an older Python
        FIRST = "o-1"
        SELLER = "second"

    ids: list[str] = []

    def keys(name: str) -> Account:
        ids.append(f"{name}")
        return Account("shop-2", "secret of the second")

    shop.paycheckout.account_of(lambda order_id: Name.SELLER)
    shop.paycheckout.account(keys)
    with shop.app.app_context():
        shop.paycheckout.start(Name.FIRST)
        assert str(shop.paycheckout.explain(Name.FIRST)).startswith("Order o-1: created.")
        payout = shop.paycheckout.pay_out(Name.FIRST, "1.00", "USD", ToRecipient("rec-1"), account=Name.SELLER)
        assert f"{payout.reference} {payout.account}" == "o-1 second"
    assert {*ids} == {"second"}


@pytest.mark.on_each_database
@pytest.mark.parametrize("end", ["commit", "rollback", "close"])
def test_an_order_total_that_ends_its_transaction_fails_before_anybody_can_pay(shop: Shop, end: str) -> None:
    """This includes a function that does so before it reads anything: the payment would be held."""

    def price(order_id: str) -> Pay:
        getattr(shop.paycheckout.session, end)()
        return Pay("12.50", "USD")

    shop.paycheckout.order_total(price)
    with shop.app.app_context(), pytest.raises(RuntimeError, match="ended the transaction that it was called in"):
        shop.paycheckout.start("o-1")
    assert shop.service.created == []


def test_a_usable_page_is_used_again(shop: Shop) -> None:
    checkout_id = shop.starts()
    shop.waits(minutes=14, seconds=29)
    assert shop.starts() == checkout_id
    assert len(shop.service.created) == 1


@pytest.mark.parametrize(
    ("minutes", "pages"), [(2, 1), (60, 2)], ids=["another host's clock", "the clock was set back"]
)
def test_a_host_whose_clock_is_late_uses_a_page_which_one_that_was_set_back_does_not(
    shop: Shop, minutes: int, pages: int
) -> None:
    shop.starts()
    shop.waits(minutes=-minutes, seconds=1)
    shop.starts()
    assert len(shop.service.created) == pages


@pytest.mark.on_each_database
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda shop: shop.waits(minutes=14, seconds=30), id="the page is about to end"),
        pytest.param(lambda shop: shop.totals.update({"o-1": Pay("13", "USD")}), id="dearer"),
        pytest.param(lambda shop: shop.totals.update({"o-1": Pay("12.50", "EUR")}), id="other currency"),
        pytest.param(lambda shop: shop.totals.update({"o-1": Receive("12.50", "USD", pay_in="USD")}), id="other side"),
        pytest.param(lambda shop: (shop.service.says("chk-1", "failed"), shop.settles("chk-1")), id="abandoned"),
    ],
)
def test_a_page_that_no_longer_fits_is_replaced_and_kept(shop: Shop, change: Callable[[Shop], object]) -> None:
    first = shop.starts()
    change(shop)
    second = shop.starts()
    assert second != first
    assert [(checkout.checkout_id, checkout.current_order_id) for checkout in shop.attempts()] == [
        (first, None),
        (second, "o-1"),
    ]
    assert f'"replaces":"{first}"' in shop.attempt(second).history
    assert shop.starts() == second


def test_a_paid_or_held_order_gets_no_other_page(shop: Shop) -> None:
    shop.has_paid("o-1")
    shop.has_held("o-2")
    for order_id, status in (("o-1", "paid"), ("o-2", "held")):
        with pytest.raises(OrderSettled) as refused:
            shop.starts(order_id)
        assert (refused.value.order_id, refused.value.status) == (order_id, status)
    assert len(shop.service.created) == 2


@pytest.mark.parametrize(
    ("total", "text"), [(None, "order_total returned None"), ("0.00", "costs nothing")], ids=["unwanted", "free"]
)
def test_an_order_that_is_not_payable_gets_no_page_and_is_told_why(shop: Shop, total: str | None, text: str) -> None:
    shop.paycheckout.order_total(lambda order_id: None if total is None else Pay(total, "USD"))
    with pytest.raises(OrderNotPayable, match=text):
        shop.starts()
    assert shop.service.created == []


@pytest.mark.parametrize("wrong", [Decimal("12.50"), "12.50", (1, "USD"), 12.5, True, {}], ids=repr)
def test_an_order_total_of_another_type_is_named(shop: Shop, wrong: Any) -> None:
    shop.totals["o-1"] = wrong
    with pytest.raises(TypeError, match="order_total must return Pay, Receive or None, not"):
        shop.starts()
    assert shop.service.created == []


class Price(Pay):
    """The shop's own class of totals."""

    def __init__(self, amount: str) -> None:
        super().__init__(amount, "USD")


def test_a_shops_own_class_of_totals_is_the_total_that_it_names(shop: Shop) -> None:
    shop.totals["o-1"] = Price("12.50")
    first = shop.starts()
    assert shop.starts() == first
    assert shop.settles(first, "completed").status == "paid"


def test_a_missing_order_total_is_named_with_the_remedy(shop: Shop) -> None:
    shop.runtime.callbacks.order_total = None
    with pytest.raises(ConfigurationError, match=r"no order_total is registered.*@paycheckout\.order_total"):
        shop.starts()


@pytest.mark.on_each_database
@pytest.mark.parametrize("before", [0, 1], ids=["a first page", "a page that is replaced"])
def test_a_page_that_another_thread_makes_while_the_shop_is_asked_is_used(shop: Shop, before: int) -> None:
    for _ in range(before):
        shop.starts()
        shop.waits(minutes=15)
    with ThreadPoolExecutor(1) as other:
        pages: list[str] = []

        @shop.paycheckout.order_total
        def order_total(order_id: str) -> Pay:
            if not pages:
                pages.append("")
                pages[0] = other.submit(shop.starts).result(60)
            return Pay("12.50", "USD")

        assert shop.starts() == pages[0]
    assert len(shop.service.created) == 1 + before


@pytest.mark.on_each_database
@pytest.mark.parametrize(("amount", "becomes"), [("12.50", "paid"), ("1", "held")])
def test_an_order_whose_money_arrives_while_its_new_page_is_made_gets_none(
    shop: Shop, amount: str, becomes: str
) -> None:
    first = has_page_that_is_over(shop)
    shop.service.meets_once(lambda: shop.settles(first, "completed", inputAmount=number(amount)))
    with pytest.raises(OrderSettled):
        shop.starts()
    assert len(shop.service.created) == 2
    assert [attempt.status for attempt in shop.attempts()] == [becomes]


def test_a_part_that_arrives_while_the_next_page_is_made_is_not_asked_for_again(shop: Shop) -> None:
    shop.costs("100", parts=True)
    first = has_page_that_is_over(shop)
    shop.service.meets_once(lambda: shop.settles(first, "completed", inputAmount=number("60")))
    assert shop.attempt(shop.starts()).due == Pay("40", "USD")
    assert [attempt.status for attempt in shop.attempts()] == ["part", "created"]


def has_page_that_is_over(shop: Shop) -> str:
    """Start "o-1", and read its deposit after its page's end; returns the checkout's id."""
    checkout_id = shop.starts()
    shop.waits(minutes=15)
    shop.settles(checkout_id)
    return checkout_id


def test_a_payment_that_nobody_has_read_is_found_before_its_page_is_replaced(shop: Shop) -> None:
    first = shop.has_deposit("completed")
    shop.waits(minutes=14, seconds=30)
    with pytest.raises(OrderSettled):
        shop.starts()
    assert (shop.service.reads, len(shop.service.created)) == ([first], 1)


@pytest.mark.parametrize("picked", [False, True])
@pytest.mark.parametrize("answer", [refusal(500), garbage()], ids=["the service fails", "no answer"])
def test_no_second_page_is_made_before_the_first_that_is_over_can_be_read(
    shop: Shop, answer: httpx.Response, picked: bool
) -> None:
    first = shop.starts()
    if picked:
        shop.settles(first, "pending")
    shop.service.fails(first, answer)
    assert shop.starts() == first, "the same page is no second one"
    shop.waits(minutes=15)
    for _ in range(2):
        with pytest.raises(TransportFailed, match="an earlier page"):
            shop.starts()
        shop.waits(seconds=1)
    assert len(shop.service.created) == 1
    shop.service.says(first, "completed")
    shop.waits(minutes=1)
    with pytest.raises(OrderSettled):
        shop.starts()


def test_keys_that_cannot_find_the_earlier_deposit_keep_nobody_from_paying(open_shop: OpenShop) -> None:
    open_shop(PAYCHECKOUT_CLIENT_ID="client-a").starts()
    other = open_shop(PAYCHECKOUT_CLIENT_ID="client-b")
    other.clock.advance(minutes=20)
    assert other.starts() == "chk-2"


@pytest.mark.on_each_database
def test_a_start_that_keeps_losing_gives_up_and_says_so(shop: Shop) -> None:
    """Every answer repeats a stored id: nothing can be stored, and no URL is given out."""
    shop.starts("o-2")
    shop.service.instead_of_created = [success({"id": "chk-1", "url": "https://pay.example/1"})] * 9
    with pytest.raises(StartContended, match=r"'o-1' changed while its checkout was being made; try again"):
        shop.starts("o-1")
    assert shop.attempts("o-1") == []


@pytest.mark.on_each_database
def test_the_page_is_stored_and_told_before_its_url_is_known_to_anybody(shop: Shop) -> None:
    stored: list[Any] = []

    def look(app: object, *, checkout: Any, **rest: object) -> None:
        stored.append((checkout.status, shop.attempt(checkout.checkout_id).url))

    with checkout_created.connected_to(look, sender=shop.app):
        shop.starts()
    assert stored == [("created", "https://pay.example/checkout/chk-1")]


@pytest.mark.on_each_database
def test_an_atomic_receiver_that_lets_nobody_begin_to_pay_is_reported_by_name(shop: Shop) -> None:
    with shop.refusing(checkout_created):
        for _ in range(3):
            with pytest.raises(ReceiverFailed):
                shop.starts()
            shop.waits(minutes=3)
    assert urgent(shop) == {"refused-starts"}
    assert "refuse of checkout_created failed" in text_of(shop)
    shop.starts()
    assert urgent(shop) == set()
