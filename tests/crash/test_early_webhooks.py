"""The webhook of a payment comes before the answer that names the checkout: the shop cannot know the id yet."""

from __future__ import annotations

from collections import Counter

import pytest

from flask_paycheckout import Pay
from flask_paycheckout.testing import Sandbox, Signals
from tests.conftest import OpenShop
from tests.scripted import Shop

BY_PAGE = 20


@pytest.fixture
def shop(open_shop: OpenShop, paycheckout_sandbox: Sandbox) -> Shop:
    """A shop beside the sandbox, with 200 orders of 12.50 USD."""
    shop = open_shop(sandbox=paycheckout_sandbox)
    shop.totals |= {f"o-{number}": Pay("12.50", "USD") for number in range(1, 201)}
    return shop


def test_200_webhooks_that_overtake_the_answer_are_survived(
    shop: Shop, paycheckout_sandbox: Sandbox, paycheckout_signals: Signals
) -> None:
    """Some payments are found by a customer who looks, all others by reconcile alone; each is told once."""
    paycheckout_sandbox.deliver_to(shop.browser)
    paycheckout_sandbox.fault("webhook", "before_response", times=len(shop.totals))
    made = {order_id: shop.starts(order_id) for order_id in shop.totals}
    answers = [
        [attempt["answer"] and attempt["answer"]["status"] for attempt in webhook["attempts"]]
        for webhook in paycheckout_sandbox.webhooks
    ]
    assert answers == [[200]] * len(made), "each came once, and was answered as a stranger's is"
    assert {shop.attempt(checkout_id).webhooks for checkout_id in made.values()} == {0}

    with shop.app.app_context():
        pages = [shop.paycheckout.status_url(order_id) for order_id in list(made)[:BY_PAGE]]
    assert all(shop.browser.get(f"{page}/status").get_json()["status"] == "paid" for page in pages)
    assert shop.reconciles().changed == len(made) - BY_PAGE
    assert shop.reconciles().changed == 0

    attempts = [attempt for order_id in made for attempt in shop.attempts(order_id)]
    assert {attempt.order_id: attempt.checkout_id for attempt in attempts if attempt.status == "paid"} == made
    told = Counter(signalled.order_id for signalled in paycheckout_signals if signalled.name == "order_paid")
    assert told == dict.fromkeys(made, 1)
