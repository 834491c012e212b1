"""A customer changes a refund's destination while people decide: it goes only to the destination that was approved."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import count

import pytest

from tests.payouts.books import Books, Paid
from tests.payouts.claiming import Customer
from tests.payouts.shop import decides, payout, refunds, sends
from tests.races.interleaving import every_interleaving
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database

#: Account numbers, of which a person sees the last four digits.
FIRST, SECOND, THIRD = "400012341111", "400012342222", "400012343333"


class Refund:
    """Makes refunds to the first account, each of a new order."""

    def __init__(self, shop: Shop, books: Books) -> None:
        self.shop, self._books = shop, books
        self._numbers = count(1)
        self._customer = Customer(shop, "")
        #: The destination that the approver saw, once the approval was accepted.
        self._approved: str | None = None
        #: How the runs ended.
        self.ends: set[str] = set()

    def ask_anew(self) -> None:
        order_id = f"c-{next(self._numbers)}"
        self.shop.costs("12.50", order_id)
        reference = refunds(self.shop, self.shop.has_paid(order_id), "5.00").reference
        self._customer = Customer(self.shop, reference)
        self._approved = None
        self.claims(FIRST)

    def claims(self, number: str) -> None:
        assert self._customer.sends(account_number=number).status_code in (303, 409)

    def approves(self) -> None:
        """Approve exactly the shown destination, like the owner's view."""
        refund = self._customer.refund
        if decides(self.shop, "approve", refund.reference, seen=refund.revision):
            self._approved = refund.destination

    def cancels(self) -> None:
        decides(self.shop, "cancel", self._customer.reference)

    def sends(self) -> None:
        sends(self.shop)

    def check(self) -> None:
        """Check that it went to the approved destination, or, not approved or cancelled, was not sent."""
        self.sends()
        stored = payout(self.shop, self._customer.reference)
        paid = [payout for payout in self._books.paid if payout.reference == stored.service_reference]
        self.ends.add(stored.status if self._approved is None else f"approved {self._approved[-4:]}, {stored.status}")
        if stored.status in ("waiting", "cancelled"):
            assert paid == []
            assert stored.status == "cancelled" or self._approved is None
            return
        assert stored.status == "sent"
        assert [_shown(payout) for payout in paid] == [self._approved]


Act = Callable[[Refund], None]


def _shown(payout: Paid) -> str:
    return f"Name: Zoë Quist\nBank: First Bank\nNumber ends with: {payout.to[-4:]}"


def claim(number: str) -> Act:
    return lambda refund: refund.claims(number)


def approve_and_send(refund: Refund) -> None:
    refund.approves()
    refund.sends()


#: Acts, with some of the results of their different orders.
ACTS: dict[str, tuple[list[Act], set[str]]] = {
    "two changes and an approval": (
        [claim(SECOND), claim(THIRD), Refund.approves],
        {"waiting", "approved 1111, sent", "approved 3333, sent"},
    ),
    "a change, an approval and a sender": (
        [claim(SECOND), Refund.approves, Refund.sends],
        {"waiting", "approved 1111, sent", "approved 2222, sent"},
    ),
    "a change, an approval and a cancellation": (
        [claim(SECOND), approve_and_send, Refund.cancels],
        {"cancelled", "approved 1111, sent", "approved 1111, cancelled"},
    ),
}


@pytest.mark.parametrize("acts", ACTS.values(), ids=ACTS)
def test_a_refund_goes_only_where_the_approver_saw_it_going(
    shop: Shop, books: Books, acts: tuple[list[Act], set[str]]
) -> None:
    """The statements of the acts run in different orders."""
    (doing, ends), refund = acts, Refund(shop, books)

    def begin() -> dict[str, Callable[[], object]]:
        refund.ask_anew()
        return {f"{place}": partial(act, refund) for place, act in enumerate(doing)}

    assert every_interleaving(shop.engine, begin, refund.check, preemptions=1) > 5
    assert refund.ends >= ends, "both orders of what matters were among them"
