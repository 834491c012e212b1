"""Money that paid no order stays listed until refunds cover it, or a person records that it is kept."""

from __future__ import annotations

from typing import Any

import pytest

from flask_paycheckout import ByHand, RefundTooLarge, TransitionRefused, UnknownCheckout
from tests.alarming import examples, urgent
from tests.books.test_report import has_second
from tests.payouts.books import Books
from tests.payouts.paying import BANK
from tests.payouts.shop import decides, refunds, sends
from tests.scripted import Shop

pytestmark = pytest.mark.on_each_database


def keeps(shop: Shop, checkout_id: str) -> Any:
    return shop.calls.keep(checkout_id, by="Ada", why="the customer takes a voucher")


def waiting(shop: Shop) -> list[str]:
    return [line.split()[0] for line in examples(shop, "money-to-pay-back")]


def test_the_end_of_money_to_pay_back_is_recorded_with_person_and_reason(shop: Shop) -> None:
    rejected = shop.has_rejected("o-1")
    second = has_second("o-2", shop)
    shop.resolves(second, accept=True)
    assert waiting(shop) == [rejected, second]
    refunds(shop, rejected, to=ByHand(), why="transfer 17")
    assert keeps(shop, second).payback == "kept"
    assert waiting(shop) == []
    stories = [str(shop.calls.explain(order_id)) for order_id in ("o-1", "o-2")]
    assert "Ada gave the money back by hand: transfer 17" in stories[0]
    assert "Ada says that the money is kept: the customer takes a voucher" in stories[1]


def test_kept_money_may_be_given_back_later(shop: Shop) -> None:
    checkout_id = shop.has_rejected()
    keeps(shop, checkout_id)
    with pytest.raises(TransitionRefused, match="kept already"):
        keeps(shop, checkout_id)
    refunds(shop, checkout_id, to=ByHand())
    assert shop.attempt(checkout_id).payback == "refunded"


def test_only_decided_money_that_paid_no_order_is_kept(shop: Shop) -> None:
    paid, held_id = shop.has_paid("o-1"), shop.has_held("o-2")
    for checkout_id, message in ((paid, "paid its order"), (held_id, "is held; only a rejected payment")):
        with pytest.raises(TransitionRefused, match=message):
            keeps(shop, checkout_id)
        assert shop.attempt(checkout_id).payback is None
    with pytest.raises(UnknownCheckout):
        keeps(shop, "chk-404")


def test_money_of_an_unknown_amount_is_listed_too(shop: Shop) -> None:
    checkout_id = shop.has_rejected()
    shop.changes(checkout_id, payment_paid_amount=None)
    [money] = examples(shop, "money-to-pay-back")
    assert f"{checkout_id} of order o-1: an unknown amount arrived of 12.50 USD" in money


def test_refunds_that_cover_it_take_it_off_the_list_and_nobody_can_keep_it(shop: Shop) -> None:
    checkout_id = shop.has_rejected()
    refunds(shop, checkout_id, "0.40")
    assert waiting(shop) == [checkout_id]
    last = refunds(shop, checkout_id)
    assert (waiting(shop), shop.attempt(checkout_id).payback) == ([], "refunded")
    with pytest.raises(TransitionRefused, match="refunds cover it"):
        keeps(shop, checkout_id)
    assert decides(shop, "cancel", last.reference)
    assert waiting(shop) == [checkout_id]
    assert keeps(shop, checkout_id).payback == "kept"


def test_a_returned_refund_is_listed_again_beside_one_by_hand(shop: Shop, books: Books) -> None:
    rejected = shop.has_held()
    refund = refunds(shop, rejected, "0.40", to=BANK)
    sends(shop)
    books.finish()
    sends(shop, minutes=2)
    refunds(shop, rejected, to=ByHand())
    assert waiting(shop) == []
    assert decides(shop, "resolve", refund.reference, False)
    count, (money,) = shop.runtime.paybacks.listed(9)
    assert (count, money.checkout.checkout_id, str(money.left)) == (1, rejected, "0.40 USD")
    assert urgent(shop) >= {"failed-payouts"}
    assert waiting(shop) == [], "the refund that failed is told, and who followed both would refund it twice"
    with pytest.raises(RefundTooLarge):
        refunds(shop, rejected, "0.50", to=BANK)
    refunds(shop, rejected, "0.40", to=BANK)
    assert (shop.attempt(rejected).payback, waiting(shop)) == ("refunded", [])
