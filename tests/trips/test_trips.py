"""A press of a button passes few modules: each flow has a limit, so that a new detour makes a test fail."""

from __future__ import annotations

import html
import re

from flask import render_template_string
from werkzeug.test import TestResponse

from flask_paycheckout.sandbox.disbursements.banks import METHODS
from flask_paycheckout.testing import Sandbox
from tests.conftest import OpenShop
from tests.payouts.claiming import FORM, Customer
from tests.payouts.shop import refunds
from tests.scripted import SAME_SITE, Shop
from tests.trips.trip import Length, Trip
from tests.views.owner import decides, opens, opens_view

#: The longest trip of each flow, 5 % above the measured trip, because chance changes it by a few calls. The trip
#: "approval" is the page with its form. After shortening a trip, lower its figures.
LONGEST = {
    "button": Length(calls=55, modules=17, changes=27),
    "start": Length(calls=265, modules=44, changes=149),
    "webhook": Length(calls=540, modules=47, changes=240),
    "refund": Length(calls=155, modules=21, changes=68),
    "claim": Length(calls=522, modules=45, changes=210),
    "approval": Length(calls=1307, modules=51, changes=695),
    "payout": Length(calls=625, modules=42, changes=234),
    "completion": Length(calls=293, modules=38, changes=105),
    "explanation": Length(calls=91, modules=13, changes=39),
    "idle round": Length(calls=72, modules=18, changes=44),
    "list": Length(calls=1093, modules=36, changes=593),
}


def test_no_flow_takes_a_longer_way_than_its_longest(open_shop: OpenShop, paycheckout_sandbox: Sandbox) -> None:
    shop, sandbox = opens_view(open_shop(sandbox=paycheckout_sandbox)), paycheckout_sandbox
    shop.app.add_url_rule("/o/<order_id>", view_func=_page_of_an_order)
    trips = {flow: Trip() for flow in LONGEST}
    # Objects that are made at their first use are no part of a trip.
    sandbox.pay(first := _checkout(_presses(shop, shop.browser.get("/o/o-2"))))
    shop.hears_of(first)
    shop.runtime.banks.named("")
    _ = shop.runtime.reconciler

    with trips["button"]:
        page = shop.browser.get("/o/o-1")
    with trips["start"]:
        redirect = _presses(shop, page)
    checkout_id = _checkout(redirect)
    sandbox.pay(checkout_id)
    with trips["webhook"]:
        assert shop.hears_of(checkout_id) == 200
    with trips["refund"]:
        reference = refunds(shop, checkout_id).reference
    bank = next(method.bank_name for method in METHODS if method.currency == "USD")
    with trips["claim"]:
        Customer(shop, reference).sends(**FORM | {"account_number": "4000123412", "bank_name": bank})
    with trips["approval"]:
        decides(shop, reference, "approve")
    with shop.app.app_context():
        with trips["payout"]:
            assert shop.paycheckout.send_payouts().sent == 1
        sandbox.finish(sandbox.payouts[-1], "completed")
        sandbox.advance(minutes=30)
        with trips["completion"]:
            assert shop.paycheckout.send_payouts().completed == 1
        with trips["explanation"]:
            assert shop.paycheckout.explain("o-1").payouts
        with trips["idle round"]:
            shop.paycheckout.reconcile()
    with trips["list"]:
        assert opens(shop).status_code == 200

    lengths = {flow: trip.length for flow, trip in trips.items()}
    longer = {
        flow: length
        for flow, length in lengths.items()
        if any(figure > most for figure, most in zip(length, LONGEST[flow], strict=True))
    }
    assert not longer


def _page_of_an_order(order_id: str) -> str:
    return render_template_string("{{ paycheckout_button(order_id) }}", order_id=order_id)


def _presses(shop: Shop, page: TestResponse) -> TestResponse:
    address = re.search(r'action="([^"]+)"', page.text)
    assert address is not None
    return shop.browser.post(html.unescape(address[1]), headers=SAME_SITE)


def _checkout(redirect: TestResponse) -> str:
    return redirect.headers["Location"].rpartition("/")[2]
