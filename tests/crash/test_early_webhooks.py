"""The webhook of a payment comes before the answer that names the checkout: the shop cannot know the id yet."""

from __future__ import annotations

from collections import Counter

from flask_paycheckout.testing import Sandbox, Signals
from tests.scripted import Shop

BY_PAGE = 20


def test_200_webhooks_that_overtake_the_answer_are_survived(
    sandbox_shop: Shop, paycheckout_sandbox: Sandbox, paycheckout_signals: Signals
) -> None:
    """Some payments are found by a customer who looks, all others by reconcile alone; each is told once."""
    shop = sandbox_shop
    made = starts_that_are_overtaken(shop, paycheckout_sandbox)
    with shop.app.app_context():
        pages = [shop.paycheckout.status_url(order_id) for order_id in list(made)[:BY_PAGE]]
    assert all(shop.browser.get(f"{page}/status").get_json()["status"] == "paid" for page in pages)
    assert shop.reconciles().changed == len(made) - BY_PAGE
    assert shop.reconciles().changed == 0

    attempts = [attempt for order_id in made for attempt in shop.attempts(order_id)]
    assert {attempt.order_id: attempt.checkout_id for attempt in attempts if attempt.status == "paid"} == made
    told = Counter(signalled.order_id for signalled in paycheckout_signals if signalled.name == "order_paid")
    assert told == dict.fromkeys(made, 1)


def starts_that_are_overtaken(shop: Shop, sandbox: Sandbox) -> dict[str, str]:
    """Starts every order, each paid before its own id was answered; gives their checkouts."""
    sandbox.deliver_to(shop.browser)
    sandbox.fault("webhook", "before_response", times=len(shop.totals))
    made = {order_id: shop.starts(order_id) for order_id in shop.totals}
    answers = [
        [attempt["answer"] and attempt["answer"]["status"] for attempt in webhook["attempts"]]
        for webhook in sandbox.webhooks
    ]
    assert answers == [[200]] * len(made), "each came once, and was answered as a stranger's is"
    assert {shop.attempt(checkout_id).webhooks for checkout_id in made.values()} == {0}
    return made
