"""The webhook of a payment arrives before the answer with the checkout's id, which the shop cannot know yet."""

from __future__ import annotations

from collections import Counter

from flask_paycheckout import Pay
from flask_paycheckout.testing import Sandbox, Signals
from tests.conftest import OpenShop
from tests.views.pages import opens

ORDERS, BY_PAGE = [f"o-{number}" for number in range(1, 201)], 20


def test_200_webhooks_that_overtake_the_answer_are_survived(
    open_shop: OpenShop, paycheckout_sandbox: Sandbox, signals: Signals
) -> None:
    """A customer's visit finds some payments, reconcile all others; each is announced once."""
    shop = open_shop(sandbox=paycheckout_sandbox)
    shop.totals |= dict.fromkeys(ORDERS, Pay("12.50", "USD"))
    paycheckout_sandbox.deliver_to(shop.browser)
    paycheckout_sandbox.fault("webhook", "before_response", times=len(ORDERS))
    checkouts = {order_id: shop.starts(order_id) for order_id in ORDERS}
    answers = [attempt["answer"] for webhook in paycheckout_sandbox.webhooks for attempt in webhook["attempts"]]
    assert [answer and answer["status"] for answer in answers] == [200] * len(ORDERS), "as a stranger's is"
    assert {shop.attempt(checkout_id).webhooks for checkout_id in checkouts.values()} == {0}
    looked = [opens(shop, order_id, "/status").get_json()["status"] for order_id in ORDERS[:BY_PAGE]]
    assert looked == ["paid"] * BY_PAGE
    assert [shop.reconciles().changed for _ in range(2)] == [len(ORDERS) - BY_PAGE, 0]
    attempts = [attempt for order_id in ORDERS for attempt in shop.attempts(order_id)]
    assert {attempt.order_id: attempt.checkout_id for attempt in attempts if attempt.status == "paid"} == checkouts
    counts_by_order = Counter(signalled.order_id for signalled in signals if signalled.name == "order_paid")
    assert counts_by_order == dict.fromkeys(ORDERS, 1)
