"""The owner's search: each id leads to its order or payout; titles, payees and amounts are searched among new rows."""

from __future__ import annotations

import pytest
from sqlalchemy import text

from flask_paycheckout import ByHand, Pay, ToBank
from flask_paycheckout.books.search import Hits, search
from tests.books.test_alarms import orders
from tests.checkouts.test_requests import asks
from tests.payouts.shop import MAKER, pays_out, refunds, stands
from tests.plans import plans, rows_taken
from tests.scripted import Shop
from tests.views.owner import opens, opens_view, text_of

pytestmark = pytest.mark.on_each_database


def finds(shop: Shop, words: str) -> tuple[list[str], list[str]]:
    hits = search(shop.engine, shop.runtime.models, words, shop.runtime.customers.find)
    return list(hits.orders), list(hits.payouts)


def test_each_id_finds_its_order_or_payout(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    refund = refunds(shop, checkout_id, "2.00", to=MAKER)
    payout = pays_out(shop, order_id="o-1")
    stands(shop, payout.reference, disbursement_id="d-1", earlier='[{"service_reference": "maker-1-0001"}]')
    request = asks(shop, title="Honey for 100%", total=Pay("7.00", "USD")).reference
    assert finds(shop, "o-1") == finds(shop, checkout_id) == (["o-1"], [])
    assert finds(shop, refund.reference) == finds(shop, refund.service_reference) == ([], [refund.reference])
    for id_ in (payout.reference, payout.service_reference, "d-1", "maker-1-0001"):
        assert finds(shop, id_) == ([], ["maker-1"])
    assert finds(shop, request) == finds(shop, f"request:{request}") == ([f"request:{request}"], [])
    assert finds(shop, "o-2") == ([], [])


def test_titles_payees_and_exact_amounts_are_found_without_case(shop: Shop) -> None:
    shop.has_paid()
    request = asks(shop, title="Honey for 100%", total=Pay("7.00", "USD")).reference
    pays_out(shop, "p-9", "80.00", to=ToBank("Ágata Quist", "40001234", "river", "River Bank"))
    assert finds(shop, "honey") == finds(shop, "0%") == ([f"request:{request}"], [])
    assert finds(shop, "quist") == finds(shop, "ágata") == finds(shop, "ÁGATA QUIST") == ([], ["p-9"])
    assert finds(shop, "12.5") == finds(shop, "12,50") == (["o-1"], [])
    assert finds(shop, "80") == ([], ["p-9"])
    assert finds(shop, "7") == ([f"request:{request}"], []), "nobody has begun to pay it"
    for nothing in ("12.51", "_", "", "x\0", "x" * 300, "12.50 jars", "1 2.50"):
        assert finds(shop, nothing) == ([], []), nothing


def test_an_amount_is_found_as_pages_write_it(shop: Shop) -> None:
    pays_out(shop, "p-1", "1234.50")
    pays_out(shop, "p-2", "1234", currency="JPY")
    for written in ("$1,234.50", "1.234,50 €", "1234.50 USD", "CHF\xa01\u2019234.50", "1\u202f234,50"):
        assert finds(shop, written) == ([], ["p-1"]), written
    assert finds(shop, "¥1,234") == finds(shop, "1234") == ([], ["p-2"])


def test_one_hit_is_opened_and_several_are_listed(shop: Shop) -> None:
    opens_view(shop)
    for order_id in orders(shop, 2):
        shop.has_paid(order_id)
    pays_out(shop, "p-9", "12.50")
    assert opens(shop, search="p-9").location.endswith("/payout?reference=p-9")
    answer = opens(shop, search="12.50")
    assert answer.status_code == 200
    assert all(
        f'<a href="/paycheckout/owner/{link}"' in answer.text
        for link in ("order?order_id=n-2", "order?order_id=n-3", "payout?reference=p-9")
    )
    answer = opens(shop, search="<b>nobody")
    assert (answer.status_code, "Nothing was found for “&lt;b&gt;nobody”" in answer.text) == (404, True)


def test_the_orders_of_one_customer_stand_with_what_they_come_to(shop: Shop) -> None:
    opens_view(shop)
    bought = orders(shop, 3)
    paid = shop.has_paid(bought[0])
    shop.settles(shop.has_deposit("pending", bought[1]))
    shop.has_paid(bought[2])
    refunds(shop, paid, "2.00", to=ByHand())
    refunds(shop, paid, "1.50")
    shop.paycheckout.find_orders(lambda text, limit: bought[:2])
    words = text_of(opens(shop, search="Ines"))
    assert "together: arrived $12.50; on its way $12.50; refunded $2.00; to be refunded $1.50." in words


def test_a_search_says_where_it_stopped_and_offers_no_choice_of_other_orders(shop: Shop) -> None:
    opens_view(shop)
    paid = shop.has_paid()
    shop.stores_like(paid, [{"checkout_id": "x", "order_id": "x", "paid_order_id": "x"}])
    words = text_of(opens(shop, search="12.50"))
    assert "All of these together: arrived $25.00." in words
    assert "This week" not in words
    shop.stores_like(paid, [dict.fromkeys(("checkout_id", "order_id", "paid_order_id"), f"x-{n}") for n in range(24)])
    assert "The first 25 together: arrived $312.50." in text_of(opens(shop, search="12.50"))


def test_ids_are_found_along_indexes(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    pays_out(shop)
    shop.stores_like(
        checkout_id, [{"checkout_id": f"x-{n}", "order_id": f"x-{n}", "paid_order_id": None} for n in range(2000)]
    )
    with shop.engine.begin() as connection:
        connection.execute(text("ANALYZE"))
    with plans(shop.engine) as explained:
        assert search(shop.engine, shop.runtime.models, checkout_id, shop.runtime.customers.find) == Hits(["o-1"], [])
    for statement, plan in explained:
        if shop.engine.dialect.name == "sqlite":
            assert "SCAN paycheckout_checkout" not in plan, statement
        else:
            assert rows_taken(plan) <= 1, statement
