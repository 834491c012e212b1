"""An order in parts, of which two acts come at once: in each order of their statements it is paid once, never short."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import count

import pytest

from flask_paycheckout import Pay, TransitionRefused
from tests.carts import Carts
from tests.conftest import NewDatabase, OpenShop
from tests.races.interleaving import every_interleaving
from tests.races.test_changed_carts import open_carts
from tests.races.two_pages import Acts
from tests.scripted import Shop, number

pytestmark = pytest.mark.on_each_database


class PartPages:
    """An order of 12.50 USD in parts with two open pages, each time a new one."""

    def __init__(self, shop: Shop) -> None:
        self.shop, self.pages = shop, list[str]()
        self._numbers, self.order_id = count(1), ""

    def open_anew(self, *sums: str) -> list[str]:
        """Pages on which these sums have come, which nobody has read."""
        self.order_id = f"parts-{next(self._numbers)}"
        self.pages = []
        for amount in sums:
            # Another amount each time, so that it is another page.
            self.shop.totals[self.order_id] = Pay("12.50", "USD", now=amount)
            page = self.shop.starts(self.order_id)
            self.shop.service.says(page, "completed", inputAmount=number(amount))
            self.pages.append(page)
        return self.pages

    def states(self) -> list[str]:
        return [self.shop.attempt(page).status for page in self.pages]

    def told(self) -> list[str]:
        names = [event.name for event in self.shop.events() if event.order_id == self.order_id]
        return sorted(name for name in names if name != "checkout_created")

    def rest(self) -> tuple[Decimal, Decimal]:
        with self.shop.app.app_context():
            rest = self.shop.paycheckout.rest(self.order_id)
        assert rest is not None
        return rest.paid, rest.left


@pytest.fixture
def pages(shop: Shop) -> PartPages:
    return PartPages(shop)


def test_two_parts_that_reach_the_total_at_once(shop: Shop, pages: PartPages) -> None:
    ends = set()

    def begin() -> Acts:
        first, second = pages.open_anew("7.50", "5.00")
        return {"first": lambda: shop.settles(first), "second": lambda: shop.settles(second)}

    def check() -> None:
        ends.add(tuple(pages.states()))
        assert pages.told() == ["order_paid", "order_part_paid"]
        assert pages.rest() == (Decimal("12.50"), Decimal(0))

    assert every_interleaving(shop.runtime.engine(), begin, check) > 5
    assert ends == {("part", "paid"), ("paid", "part")}


def test_two_parts_that_are_together_too_much(shop: Shop, pages: PartPages) -> None:
    def begin() -> Acts:
        first, second = pages.open_anew("7.50", "5.01")
        return {"first": lambda: shop.settles(first), "second": lambda: shop.settles(second)}

    def check() -> None:
        assert sorted(pages.states()) == ["held", "part"]

    assert every_interleaving(shop.runtime.engine(), begin, check) > 5


def test_a_part_that_is_refunded_while_the_rest_comes(shop: Shop, pages: PartPages) -> None:
    def refunds(page: str) -> None:
        with shop.app.app_context():
            shop.paycheckout.refund(page, "1.00", by="Ada", why="one less")
            shop.db.session.commit()

    ends = set()

    def begin() -> Acts:
        first, second = pages.open_anew("7.50", "5.00")
        shop.settles(first)
        return {"refunds": lambda: refunds(first), "settles": lambda: shop.settles(second)}

    def check() -> None:
        (_, second), (paid, left) = pages.states(), pages.rest()
        ends.add((second, paid, left))
        assert pages.told().count("order_paid") == (second == "paid")

    assert every_interleaving(shop.runtime.engine(), begin, check) > 5
    assert ends == {("paid", Decimal("11.50"), 0), ("part", Decimal("11.50"), Decimal("1.00"))}


def test_a_part_that_a_person_accepts_while_another_comes(shop: Shop, pages: PartPages) -> None:
    """An order without parts becomes one by the decision, whatever comes at that moment."""

    def accepts(page: str) -> None:
        with shop.app.app_context():
            try:
                shop.paycheckout.resolve(page, True, "Ada", "a fee", as_part=True)
            except TransitionRefused:
                assert "paid" in pages.states()

    def begin() -> Acts:
        held, late = pages.open_anew("7.50", "12.50")
        shop.totals[pages.order_id] = None
        shop.settles(held)
        shop.totals[pages.order_id] = Pay("12.50", "USD")
        return {"accepts": lambda: accepts(held), "settles": lambda: shop.settles(late)}

    ends = set()

    def check() -> None:
        ends.add(tuple(pages.states()))
        assert pages.told().count("order_paid") == pages.states().count("paid")

    assert every_interleaving(shop.runtime.engine(), begin, check) > 5
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
        cart, paid = carts.cart, [one for one in shop.attempts(carts.order_id) if one.paid_order_id]
        assert len(paid) == (cart.state == "paid")
        if cart.state == "paid":
            # Changed before the part came: the earlier part pays it. Or too late: both do.
            assert (cart.total, carts.checkout.status) in {("12.50", "paid"), (total, "held")}
            assert Decimal(cart.shipped) <= Decimal("12.50")
        else:
            assert (cart.total, carts.checkout.status, cart.shipped) == ("20.00", "part", None)

    assert every_interleaving(shop.runtime.engine(), begin, check) > 2
