"""Two acts on an order in parts at the same time: in each order of their statements it is paid once, in full."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Any

import pytest

from flask_paycheckout import TransitionRefused
from tests.carts import Carts
from tests.checkouts.test_requests import asks, withdraws
from tests.conftest import NewDatabase, OpenShop
from tests.payouts.shop import refunds
from tests.races.interleaving import every_interleaving
from tests.races.pages import Acts, Pages
from tests.races.test_changed_carts import open_carts
from tests.scripted import Shop, number

pytestmark = pytest.mark.on_each_database


class PartPages(Pages):
    """The acts of people on payments of such an order."""

    def hold(self, page: str) -> None:
        """Let its payment arrive while the shop accepts none."""
        total, self.shop.totals[self.order_id] = self.shop.totals[self.order_id], None
        self.shop.settles(page)
        self.shop.totals[self.order_id] = total

    def accepts(self, page: str) -> bool:
        """Accept it as a part, as a person; False if it is too much by now."""
        try:
            self.shop.resolves(page, True, as_part=True)
        except TransitionRefused:
            return False
        return True

    def balance(self) -> tuple[Decimal, Decimal]:
        balance = self.shop.calls.balance(self.order_id)
        assert balance is not None
        return balance.paid, balance.left


@pytest.fixture
def pages(shop: Shop) -> PartPages:
    return PartPages(shop)


@pytest.mark.parametrize(
    ("second", "expected"),
    [("5.00", {("part", "paid"), ("paid", "part")}), ("5.01", {("part", "held"), ("held", "part")})],
    ids=["reach the total", "are too much"],
)
def test_two_parts_that_come_at_once(shop: Shop, pages: PartPages, second: str, expected: set[tuple[str, str]]) -> None:
    ends = set()

    def begin() -> Acts:
        pages.open_parts("7.50", second)
        return pages.settled_at_once()

    def check() -> None:
        states = pages.states()
        ends.add(tuple(states))
        assert pages.told().count("order_paid") == states.count("paid")
        assert (pages.balance()[1] == 0) == ("paid" in states)

    assert every_interleaving(shop.engine, begin, check) > 5
    assert ends == expected


@pytest.mark.parametrize("held", [False, True], ids=["comes", "is accepted"])
def test_a_part_that_is_refunded_while_the_rest(shop: Shop, pages: PartPages, held: bool) -> None:
    ends = set()

    def begin() -> Acts:
        first, second = pages.open_parts("7.50", "5.00")
        shop.settles(first)
        refunded = {"refunds": lambda: refunds(shop, first, "1.00")}
        if held:
            pages.hold(second)
            return refunded | {"accepts": lambda: pages.accepts(second)}
        return refunded | {"settles": lambda: shop.settles(second)}

    def check() -> None:
        (_, second), (paid, left) = pages.states(), pages.balance()
        ends.add((second, paid, left))
        assert pages.told().count("order_paid") == (second == "paid")

    assert every_interleaving(shop.engine, begin, check) > 5
    assert ends == {("paid", Decimal("11.50"), 0), ("part", Decimal("11.50"), Decimal("1.00"))}


@pytest.mark.parametrize(("second", "end"), [("5.00", ["paid", "part"]), ("5.01", ["held", "part"])])
def test_two_payments_that_two_persons_accept_at_once(
    shop: Shop, pages: PartPages, second: str, end: list[str]
) -> None:
    def begin() -> Acts:
        held_pages = pages.open_parts("7.50", second)
        for page in held_pages:
            pages.hold(page)
        return {page: partial(pages.accepts, page) for page in held_pages}

    def check() -> None:
        assert sorted(pages.states()) == end
        assert pages.told().count("order_paid") == end.count("paid")

    assert every_interleaving(shop.engine, begin, check, preemptions=1) > 5


def test_a_part_that_a_person_accepts_while_another_comes(shop: Shop, pages: PartPages) -> None:
    """The decision turns an order without parts into one with parts, also if another payment arrives at that moment."""

    def accepts(page: str) -> None:
        assert pages.accepts(page) or "paid" in pages.states()

    def begin() -> Acts:
        held_page, late = pages.open_parts("7.50", "12.50")
        pages.hold(held_page)
        shop.costs("12.50", pages.order_id)
        return {"accepts": lambda: accepts(held_page), "settles": lambda: shop.settles(late)}

    ends = set()

    def check() -> None:
        ends.add(tuple(pages.states()))
        assert pages.told().count("order_paid") == pages.states().count("paid")

    assert every_interleaving(shop.engine, begin, check) > 5
    assert ends == {("part", "held"), ("held", "paid")}


@pytest.fixture
def carts(open_shop: OpenShop, new_database: NewDatabase) -> Iterator[Carts]:
    carts = open_carts(open_shop, new_database)
    carts.parts = True
    with carts.receiving():
        yield carts


@pytest.mark.parametrize("total", ["20.00", "7.50", "5.00"], ids=["more", "as paid", "less"])
def test_a_cart_that_changes_while_its_last_part_comes(carts: Carts, total: str) -> None:
    shop = carts.shop

    def begin() -> Acts:
        carts.fill()
        shop.settles(carts.checkout_id, "completed", inputAmount=number("7.50"))
        carts.checkout_id = shop.starts(carts.order_id)
        shop.service.says(carts.checkout_id, "completed", inputAmount=number("5.00"))
        return {"settles": carts.settle, "changes": lambda: carts.change(total=total)}

    def check() -> None:
        shop.reconciles()
        cart, paid = carts.cart, [checkout for checkout in shop.attempts(carts.order_id) if checkout.paid_order_id]
        assert len(paid) == (cart.state == "paid")
        if cart.state == "paid":
            # If changed before the second part, the earlier part pays the order; if too late, both parts do.
            assert (cart.total, carts.checkout.status) in {("12.50", "paid"), (total, "held")}
            assert Decimal(cart.shipped) <= Decimal("12.50")
        else:
            assert (cart.total, carts.checkout.status, cart.shipped) == ("20.00", "part", None)

    assert every_interleaving(shop.engine, begin, check) > 2


def test_a_total_that_comes_down_while_a_part_is_refunded(carts: Carts) -> None:
    """Either the part pays the remaining total, or it was refunded before, and more remains to be paid."""
    shop, ends = carts.shop, set()

    def begin() -> Acts:
        carts.fill()
        shop.settles(carts.checkout_id, "completed", inputAmount=number("7.50"))
        carts.change(total="7.50")
        return {"refunds": lambda: refunds(shop, carts.checkout_id, "1.00"), "settles": carts.settle}

    def check() -> None:
        shop.reconciles()
        cart, checkout = carts.cart, carts.checkout
        ends.add((checkout.status, cart.state, cart.shipped, checkout.excess))

    assert every_interleaving(shop.engine, begin, check, preemptions=1) > 5
    assert ends == {("paid", "paid", "7.50", "-1.00"), ("part", "open", None, None)}


def test_a_cart_that_changes_while_a_person_accepts_its_payment(carts: Carts) -> None:
    shop, ends = carts.shop, set()

    def begin() -> Acts:
        carts.parts = False
        carts.fill()
        shop.settles(carts.checkout_id, "completed", inputAmount=number("7.50"))
        accepts = partial(shop.resolves, carts.checkout_id, True, as_part=True)
        return {"accepts": accepts, "changes": lambda: carts.change(total="7.50")}

    def check() -> None:
        shop.reconciles()
        ends.add((carts.checkout.status, carts.cart.total, carts.cart.state, carts.cart.shipped))

    assert every_interleaving(shop.engine, begin, check) > 2
    assert ends == {("paid", "7.50", "paid", "7.50")}


# With two accounts, each order id would belong to one of them, and a request to another.
@pytest.mark.parametrize("accounts", [1])
def test_a_request_that_is_withdrawn_while_it_is_paid(shop: Shop) -> None:
    ends, requests = set(), list[Any]()

    def withdraws_it() -> None:
        with suppress(TransitionRefused):
            withdraws(shop, requests[-1].reference)

    def begin() -> Acts:
        requests.append(asks(shop))
        page = shop.has_deposit("completed", requests[-1].order_id)
        return {"withdraws": withdraws_it, "settles": lambda: shop.settles(page)}

    def check() -> None:
        [attempt] = shop.attempts(requests[-1].order_id)
        ends.add((attempt.status, shop.runtime.requests.require(requests[-1].reference).withdrawn_at is not None))

    assert every_interleaving(shop.engine, begin, check) > 2
    assert ends == {("paid", False), ("held", True)}
