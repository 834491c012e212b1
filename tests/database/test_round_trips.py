"""The numbers of statements and commits that a shop's calls need on PostgreSQL, as the documentation gives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from sqlalchemy import event

from flask_paycheckout.security.signed_links import STATUS
from flask_paycheckout.testing import Sandbox
from tests.conftest import OpenShop
from tests.docs.test_facts import rows
from tests.locks import with_option
from tests.payouts.claiming import Customer
from tests.payouts.paying import Payer
from tests.payouts.shop import refunds
from tests.scripted import Shop


def cost(shop: Shop, call: Callable[[], object]) -> list[str]:
    """The numbers of statements and of commits of a call."""
    seen = Counter[str]()

    def execute(*facts: object) -> None:
        seen["statements"] += 1

    def commit(*facts: object) -> None:
        seen["commits"] += 1

    listeners: dict[str, Any] = {"before_cursor_execute": execute, "commit": commit}
    for name, listener in listeners.items():
        event.listen(shop.runtime.engine(), name, listener)
    call()
    for name, listener in listeners.items():
        event.remove(shop.runtime.engine(), name, listener)
    return [str(seen["statements"]), str(seen["commits"])]


def pays(shop: Shop, order_id: str) -> dict[str, list[str]]:
    """The cost of each call in the life of a payment."""

    def webhook(checkout_id: str) -> None:
        assert shop.browser.post("/paycheckout/webhook", json={"orderId": checkout_id}).status_code == 200

    costs = {"start": cost(shop, lambda: shop.starts(order_id))}
    checkout_id = str(shop.attempts(order_id)[0].checkout_id)
    shop.service.says(checkout_id, "completed")
    costs["settling webhook"] = cost(shop, lambda: webhook(checkout_id))
    assert shop.attempts(order_id)[0].status == "paid"
    costs["repeated webhook"] = cost(shop, lambda: webhook(checkout_id))
    path = f"/paycheckout/orders/{shop.runtime.signed_links.sign(STATUS, order_id)}/status"
    costs["status"] = cost(shop, lambda: shop.browser.get(path))
    customer = Customer(shop, refunds(shop, checkout_id, "5").reference)
    costs["claim"] = cost(shop, customer.sends)
    assert customer.refund.status == "waiting"
    return costs


def test_payments_cost_few_statements_on_sqlite(open_shop: OpenShop) -> None:
    shop = open_shop()
    shop.starts("o-2")
    assert pays(shop, "o-1") == {
        "start": ["3", "1"],
        "settling webhook": ["8", "2"],
        "repeated webhook": ["2", "1"],
        "status": ["1", "0"],
        "claim": ["9", "3"],
    }


def limited(address: str) -> str:
    return with_option(address, "lock_timeout=1s")


def test_payments_cost_what_the_documentation_says(open_shop: OpenShop, postgres_database: str) -> None:
    shop = open_shop(SQLALCHEMY_DATABASE_URI=limited(postgres_database))
    # A connection is asked for its own limit when it is first used.
    pays(shop, "o-2")
    costs = pays(shop, "o-1")
    table = rows("docs/outages.md")
    assert costs == {name: table[name] for name in costs}


def test_a_payout_costs_what_the_documentation_says(
    open_shop: OpenShop, paycheckout_sandbox: Sandbox, postgres_database: str
) -> None:
    shop = open_shop("shop", sandbox=paycheckout_sandbox, SQLALCHEMY_DATABASE_URI=limited(postgres_database))
    payer = Payer(shop, paycheckout_sandbox)
    payer.owes("p-0")
    payer.sends()
    payer.owes()
    assert cost(payer.shop, payer.sends) == rows("docs/outages.md")["send"]
    assert payer.status() == "sent"
