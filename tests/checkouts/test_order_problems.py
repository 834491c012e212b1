"""Orders that cannot be paid: a function of the shop fails, or the service refuses this very checkout."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from flask import request, session

from flask_paycheckout import Account, AmountRefused, Pay
from flask_paycheckout.client import Invalid, PaymentsError
from tests.alarming import alarms_of, examples, text_of, urgent
from tests.scripted import Shop, refusal
from tests.views.pages import heading, opens, pay_path, presses_pay
from tests.views.test_owner import opens_view

JSON = {"Accept": "application/json"}
pytestmark = pytest.mark.on_each_database


def fails(*asked: str) -> Any:
    raise LookupError("no such tax rate")


def breaks_order_total(shop: Shop) -> Callable[[], object]:
    """Break it for "o-1" alone; gives the repair."""
    shop.paycheckout.order_total(lambda order_id: fails() if order_id == "o-1" else shop.totals[order_id])
    return lambda: shop.paycheckout.order_total(lambda order_id: shop.totals[order_id])


def breaks_account_of(shop: Shop) -> Callable[[], object]:
    shop.paycheckout.account_of(fails)
    return lambda: shop.paycheckout.account_of(lambda order_id: "")


def breaks_account(shop: Shop) -> Callable[[], object]:
    shop.paycheckout.account_of(lambda order_id: "seller")
    shop.paycheckout.account(fails)
    return lambda: shop.paycheckout.account(lambda name: Account("client", "secret-of-a-seller"))


BREAKS = {"order_total": breaks_order_total, "account_of": breaks_account_of, "account": breaks_account}


@pytest.mark.parametrize("function", BREAKS)
def test_a_function_of_the_shop_that_fails_is_told_to_customers_and_owner_until_it_works(
    shop: Shop, function: str
) -> None:
    repair = BREAKS[function](shop)
    page = presses_pay(shop)
    assert (page.status_code, heading(page.text)) == (503, "The shop cannot take this payment")
    assert "Retry-After" not in page.headers
    assert "<form" not in page.text
    told: Any = shop.browser.post(pay_path(shop), headers=JSON)
    assert (told.status_code, told.mimetype, told.json["code"]) == (503, "application/problem+json", "shop_failed")
    assert "retryAfter" not in told.json
    assert urgent(shop) == set(), "one failure may be an accident"
    shop.clock.advance(minutes=1)
    shop.reconciles()
    key = f"failing-functions:{function}"
    (alarm,) = alarms_of(shop).values()
    assert (alarm.key, alarm.severity) == (key, "now")
    assert "Order o-1" in examples(shop, key)[0]
    assert "LookupError" in examples(shop, key)[0]
    shown = shop.runs("show", "o-1").output
    assert "could not be started" in shown
    assert f"{function} fails" in shown
    repair()
    shop.clock.advance(minutes=10)
    shop.reconciles()
    assert urgent(shop) == set()
    assert presses_pay(shop).status_code == 303


def test_a_payment_that_was_started_meanwhile_ends_the_alarm_at_once(shop: Shop) -> None:
    repair = breaks_order_total(shop)
    presses_pay(shop)
    shop.clock.advance(minutes=6)
    assert urgent(shop) == {"failing-functions:order_total"}
    repair()
    presses_pay(shop)
    assert urgent(shop) == set()


@pytest.mark.parametrize("function", BREAKS)
def test_the_status_page_says_that_the_shop_cannot_name_the_sum(shop: Shop, function: str) -> None:
    shop.starts()
    BREAKS[function](shop)
    page = opens(shop)
    assert page.status_code == 200
    assert "The shop cannot say at the moment what is to be paid" in page.text
    assert "<form" not in page.text
    shop.clock.advance(minutes=6)
    assert f"failing-functions:{function}" in urgent(shop)


def test_code_of_the_shop_gets_its_own_error(shop: Shop) -> None:
    breaks_order_total(shop)
    with pytest.raises(LookupError, match="no such tax rate"):
        shop.starts()


@pytest.mark.parametrize("registered", ["order_total", "account_of", "account"])
def test_what_an_order_costs_and_whose_it_is_does_not_depend_on_a_request(shop: Shop, registered: str) -> None:
    """A webhook, or reconcile, would get another answer than the visitor."""
    seen: list[bool] = []

    def asked(name: str) -> Any:
        seen.append(bool(request))
        return {"order_total": Pay("12.50", session["currency"]), "account_of": session["seller"]}.get(registered)

    if registered == "account":
        shop.paycheckout.account_of(lambda order_id: "seller")
    getattr(shop.paycheckout, registered)(asked)
    assert presses_pay(shop).status_code == 503
    with shop.app.test_request_context(), pytest.raises((RuntimeError, PaymentsError)):
        shop.paycheckout.start("o-1")
    assert not any(seen)
    assert seen
    assert shop.service.created == []


@pytest.mark.parametrize("order_url", [fails, lambda order_id: 7], ids=["raises", "is no string"])
def test_a_link_back_that_fails_is_an_alarm_until_it_can_be_made(shop: Shop, order_url: Any) -> None:
    shop.paycheckout.order_url(order_url)
    assert opens(shop).status_code == 200
    shop.clock.advance(minutes=6)
    assert urgent(shop) == {"failing-functions:order_url"}
    shop.paycheckout.order_url(lambda order_id: f"{request.host_url}own/{order_id}")
    shop.reconciles()
    assert urgent(shop) == set()


def test_a_permission_that_fails_lets_nobody_in_and_is_an_alarm_until_it_works(shop: Shop) -> None:
    names: list[str] = []
    opens_view(shop, lambda: names[0])
    assert shop.browser.get("/paycheckout/owner/").status_code == 503
    shop.clock.advance(minutes=6)
    shop.reconciles()
    assert "failing-functions:permission" in urgent(shop)
    names.append("Ada")
    assert shop.browser.get("/paycheckout/owner/").status_code == 200
    assert urgent(shop) == set()


# The service refuses a checkout


def refuses(shop: Shop, order_id: str = "o-1", status: int = 400) -> Any:
    shop.service.instead_of_created = [refusal(status, "The amount is outside the limits")]
    return presses_pay(shop, order_id)


def test_an_amount_that_the_service_refuses_is_one_orders_problem(shop: Shop) -> None:
    page = refuses(shop)
    assert (page.status_code, heading(page.text)) == (422, "This amount cannot be paid online")
    assert "Retry-After" not in page.headers
    told: Any = shop.browser.post(pay_path(shop), headers=JSON)
    assert (told.status_code, told.json["code"]) == (422, "amount_refused")
    assert len(shop.service.created) == 1, "it is not asked again a moment later"
    for _ in range(3):
        shop.clock.advance(minutes=2)
        refuses(shop)
    assert urgent(shop) == {"refused-amounts"}
    assert alarms_of(shop)["refused-amounts"].severity == "today"
    assert "Order o-1, 12.50 USD" in examples(shop, "refused-amounts")[0]
    assert "Nobody can start a payment" not in text_of(shop)
    assert "refuses a checkout of 12.50 USD" in shop.runs("show", "o-1").output


@pytest.mark.parametrize("ends", ["another amount", "not payable", "paid"])
def test_the_alarm_of_a_refused_amount_ends_with_its_cause(shop: Shop, ends: str) -> None:
    refuses(shop)
    shop.clock.advance(minutes=6)
    shop.reconciles()
    assert urgent(shop) == {"refused-amounts"}, "the amount is the same"
    if ends == "paid":
        shop.has_paid()
    else:
        shop.totals["o-1"] = Pay("20", "USD") if ends == "another amount" else None
        shop.clock.advance(minutes=10)
        shop.reconciles()
    assert urgent(shop) == set()


def test_refused_checkouts_of_different_orders_keep_everybody_from_paying(shop: Shop) -> None:
    refuses(shop)
    shop.clock.advance(minutes=6)
    assert urgent(shop) == {"refused-amounts"}
    refuses(shop, "o-2")
    assert urgent(shop) == {"refused-orders"}
    shop.totals["o-3"] = Pay("5", "USD")
    shop.clock.advance(seconds=1)
    shop.starts("o-3")
    assert urgent(shop) == {"refused-amounts"}, "others can pay"


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_refused_keys_and_a_service_that_fails_are_no_matter_of_the_amount(shop: Shop, status: int) -> None:
    assert refuses(shop, status=status).status_code == 503
    assert shop.runs("show", "o-1").output.count("refuses") == 0


def test_the_error_of_a_refused_amount_says_order_and_sum_and_travels(shop: Shop) -> None:
    shop.service.instead_of_created = [refusal(400, "The amount is outside the limits")]
    with pytest.raises(AmountRefused, match=r"no payment of 12\.50 USD for order 'o-1'.*outside the limits") as raised:
        shop.starts()
    assert isinstance(raised.value, (Invalid, ValueError))
    assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)  # noqa: S301 - made here


def test_problems_are_stored_about_their_order_and_erased_with_it(shop: Shop) -> None:
    refuses(shop)
    with shop.app.app_context():
        (problem,) = shop.paycheckout.stored_about("o-1")["order_problems"]
        assert (problem["kind"], problem["due"]) == ("refused", "12.50 USD")
        shop.paycheckout.erase("o-1", by="Ada", why="asked for it")
        assert shop.paycheckout.stored_about("o-1")["order_problems"] == []
