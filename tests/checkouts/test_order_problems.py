"""Orders that cannot be paid: a function of the shop fails, or the service refuses this very checkout."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import request, session, url_for

from flask_paycheckout import Account, AmountRefused, Described, Pay
from flask_paycheckout.checkouts.order_problems import ProblemKind
from flask_paycheckout.client import Invalid, PaymentsError
from tests.alarming import alarms_of, examples, text_of, urgent
from tests.conftest import OpenShop
from tests.scripted import Answer, Shop, garbage, raising, refusal
from tests.views.owner import opens_view
from tests.views.pages import fails_to_pay, heading, opens, pay_path, presses_pay

JSON = {"Accept": "application/json"}


fails = raising(LookupError("no such tax rate"))


def breaks_order_total(shop: Shop) -> Callable[[], object]:
    """Break it for "o-1" alone; returns the repair."""
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
    shop.reconciles(minutes=1)
    key = f"failing-functions:{function}"
    (alarm,) = alarms_of(shop).values()
    assert (alarm.key, alarm.severity) == (key, "now")
    assert "Order o-1" in examples(shop, key)[0]
    assert "LookupError" in examples(shop, key)[0]
    shown = shop.runs("show", "o-1").output
    assert "could not be started" in shown
    assert f"{function} fails" in shown
    repair()
    shop.reconciles(minutes=10)
    assert urgent(shop) == set()
    assert presses_pay(shop).status_code == 303


def test_a_payment_that_was_started_meanwhile_ends_the_alarm_at_once(shop: Shop) -> None:
    repair = breaks_order_total(shop)
    presses_pay(shop)
    shop.waits(minutes=6)
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
    shop.waits(minutes=6)
    assert f"failing-functions:{function}" in urgent(shop)


def test_code_of_the_shop_gets_its_own_error(shop: Shop) -> None:
    breaks_order_total(shop)
    with pytest.raises(LookupError, match="no such tax rate"):
        shop.starts()


@pytest.mark.parametrize("registered", ["order_total", "account_of", "account"])
def test_total_and_account_of_an_order_do_not_depend_on_a_request(shop: Shop, registered: str) -> None:
    """Otherwise a webhook or reconcile could get another answer than the visitor."""
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


@pytest.mark.parametrize(
    "order_url",
    [fails, lambda order_id: 7, lambda order_id: "javascript:alert(1)", lambda order_id: "//evil.example/"],
    ids=["raises", "is no string", "is a script", "is another host's path"],
)
def test_a_link_back_that_fails_is_an_alarm_until_it_can_be_made(shop: Shop, order_url: Any) -> None:
    shop.paycheckout.order_url(order_url)
    page = opens(shop)
    assert (page.status_code, "Back to your order" in page.text) == (200, False)
    shop.waits(minutes=6)
    assert urgent(shop) == {"failing-functions:order_url"}
    shop.paycheckout.order_url(lambda order_id: f"{request.host_url}own/{order_id}")
    shop.reconciles()
    assert urgent(shop) == set()


def test_functions_that_make_addresses_are_asked_again_at_a_host_that_the_shop_trusts(open_shop: OpenShop) -> None:
    shop = open_shop(TRUSTED_HOSTS=["shop.example"])
    shop.app.add_url_rule("/own/<order_id>", "own", str)
    shop.paycheckout.order_url(lambda order_id: url_for("own", order_id=order_id))
    shop.paycheckout.describe_orders(lambda ids: {each: Described(url=url_for("own", order_id=each)) for each in ids})
    for kind in ("order_url", "describe_orders"):
        shop.runtime.order_problems.record(ProblemKind(kind), "o-1", "failed once")
    shop.reconciles(minutes=6)
    assert urgent(shop) == set()


def test_a_permission_that_fails_lets_nobody_in_and_is_an_alarm_until_it_works(shop: Shop) -> None:
    names: list[str] = []
    opens_view(shop, lambda: names[0])
    assert shop.browser.get("/paycheckout/owner/").status_code == 503
    shop.reconciles(minutes=6)
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
    answer: Any = shop.browser.post(pay_path(shop), headers=JSON)
    assert (answer.status_code, answer.json["code"]) == (422, "amount_refused")
    assert len(shop.service.created) == 1, "it is not asked again a moment later"
    for _ in range(3):
        shop.waits(minutes=2)
        refuses(shop)
    assert urgent(shop) == {"refused-amounts"}
    assert alarms_of(shop)["refused-amounts"].severity == "today"
    assert "Order o-1, 12.50 USD" in examples(shop, "refused-amounts")[0]
    assert "Nobody can start a payment" not in text_of(shop)
    assert "refuses a checkout of 12.50 USD" in shop.runs("show", "o-1").output


@pytest.mark.parametrize("ends", ["another amount", "not payable", "paid"])
def test_the_alarm_of_a_refused_amount_ends_with_its_cause(shop: Shop, ends: str) -> None:
    refuses(shop)
    shop.reconciles(minutes=6)
    assert urgent(shop) == {"refused-amounts"}, "the amount is the same"
    if ends == "paid":
        shop.has_paid()
    else:
        shop.totals["o-1"] = Pay("20", "USD") if ends == "another amount" else None
        shop.reconciles(minutes=10)
    assert urgent(shop) == set()


def test_refused_checkouts_of_different_orders_keep_everybody_from_paying(shop: Shop) -> None:
    refuses(shop)
    shop.waits(minutes=6)
    assert urgent(shop) == {"refused-amounts"}
    refuses(shop, "o-2")
    assert urgent(shop) == {"refused-orders"}
    shop.costs("5", "o-3")
    shop.waits(seconds=1)
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


# A customer cannot pay, since the service fails


def is_down(shop: Shop, *order_ids: str, answer: Answer | None = None) -> None:
    """Let the service fail for 15 minutes, while the customers of these orders press the button."""
    for order_id in [*order_ids, *order_ids]:
        shop.service.instead_of_created = [answer or refusal(503, "closed")]
        assert presses_pay(shop, order_id).status_code == 503
        shop.waits(minutes=3)
    shop.service.instead_of_created.clear()
    shop.waits(minutes=3)


def could_not_pay(shop: Shop) -> list[str]:
    """The orders in the alarm about customers who could not pay during a past outage."""
    alarm = alarms_of(shop).get("failed-starts")
    return sorted(str(example.order_id) for example in alarm.examples) if alarm else []


@pytest.mark.parametrize(
    ("answer", "alarm"),
    [
        (refusal(503, "closed"), "failing-service"),
        (garbage(), "failing-service"),
        (refusal(401, "bad signature"), "refused-keys"),
    ],
    ids=["fails", "is away", "refuses the keys"],
)
def test_the_alarm_of_an_outage_names_who_could_not_pay_and_after_it_one_of_their_own_does(
    shop: Shop, answer: Answer, alarm: str
) -> None:
    shop.costs("5", "o-3")
    is_down(shop, "o-1", "o-2", answer=answer)
    assert urgent(shop) == {alarm}, "one trouble is one alarm"
    assert "; 2 customers could not pay" in alarms_of(shop)[alarm].what
    assert [each.split(",")[0] for each in examples(shop, alarm) if "Order" in each] == ["Order o-2", "Order o-1"]
    shop.waits(hours=2)
    assert "failed-starts" not in alarms_of(shop), "it does not come and go while nobody tries"
    shop.starts("o-3")
    assert urgent(shop) == {"failed-starts"}
    assert could_not_pay(shop) == ["o-1", "o-2"]
    told = alarms_of(shop)["failed-starts"]
    assert (told.severity, told.count, told.since.minute) == ("today", 2, 0)
    assert "2 customers could not pay between 2026-01-01 12:00:00Z and 2026-01-01 12:09:00Z" in text_of(shop)
    assert "The customer could not pay 12.50 USD since" in shop.runs("show", "o-1").output


def test_a_customer_whom_the_limit_of_web_requests_refuses_could_not_pay(shop: Shop) -> None:
    spent = {"flask_paycheckout.service_seconds": 60.0}
    with shop.app.test_request_context(environ_base=spent), pytest.raises(PaymentsError, match="all of its time"):
        shop.paycheckout.start("o-1")
    shop.waits(minutes=5)
    assert could_not_pay(shop) == ["o-1"]


@pytest.mark.on_each_database
@pytest.mark.parametrize("ends", ["starts", "an earlier page pays", "cancelled", "a week", "erased"])
def test_a_customer_who_could_not_pay_is_reported_until(shop: Shop, ends: str) -> None:
    earlier = shop.has_deposit("pending")
    shop.costs("20", parts=True)
    is_down(shop, "o-1", "o-2")
    shop.reconciles(hours=2)
    assert could_not_pay(shop) == ["o-1", "o-2"]
    if ends == "starts":
        shop.starts()
    elif ends == "an earlier page pays":
        shop.costs("12.50")
        assert shop.settles(earlier, "completed").status == "paid"
    elif ends == "a week":
        shop.waits(days=7)
    elif ends == "erased":
        shop.calls.erase("o-1", by="Ada", why="asked for it")
    else:
        shop.totals["o-1"] = None
        shop.reconciles(hours=2)
    assert could_not_pay(shop) == ([] if ends == "a week" else ["o-2"])
    shop.reconciles(hours=7)
    assert shop.calls.stored_about("o-1")["order_problems"] == [], "a round removes it"


@pytest.mark.on_each_database
def test_presses_of_one_order_cost_one_row_and_a_statement_a_minute(shop: Shop) -> None:
    for _ in range(5):
        fails_to_pay(shop)
    shop.waits(minutes=2)
    fails_to_pay(shop)
    (problem,) = shop.runtime.order_problems.of_order("o-1")
    assert (problem.since, problem.last_at) == (shop.clock() - timedelta(minutes=2), shop.clock())


@pytest.mark.on_each_database
def test_a_customer_who_could_not_pay_hides_no_other_problem(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flask_paycheckout.checkouts.order_problems._MOST", 1)
    refuses(shop)
    shop.waits(minutes=1)
    fails_to_pay(shop, "o-2")
    shop.waits(hours=2)
    assert urgent(shop) == {"refused-amounts"}


def test_a_single_failure_is_reported_after_an_hour_in_which_more_may_make_an_outage_of_it(shop: Shop) -> None:
    fails_to_pay(shop)
    shop.waits(minutes=59)
    assert urgent(shop) == set()
    shop.waits(minutes=1)
    assert urgent(shop) == {"failed-starts"}


@pytest.mark.on_each_database
def test_a_database_that_cannot_record_it_changes_nothing_for_the_customer(shop: Shop) -> None:
    answer = fails_to_pay(shop, "o-2")
    shop.runtime.models.order_problems.drop(shop.engine)
    page = fails_to_pay(shop)
    assert (page.status_code, heading(page.text)) == (answer.status_code, heading(answer.text))


def test_a_function_of_the_shop_that_fails_is_no_new_try_of_the_customer(shop: Shop) -> None:
    fails_to_pay(shop)
    failed_at = shop.clock()
    breaks_order_total(shop)
    shop.reconciles(minutes=10)
    (problem,) = shop.runtime.order_problems.of_order("o-1")
    assert problem.last_at == failed_at


@pytest.mark.on_each_database
def test_problems_are_stored_about_their_order_and_erased_with_it(shop: Shop) -> None:
    refuses(shop)
    with shop.app.app_context():
        (problem,) = shop.paycheckout.stored_about("o-1")["order_problems"]
        assert (problem["kind"], problem["due"]) == ("refused", "12.50 USD")
        shop.paycheckout.erase("o-1", by="Ada", why="asked for it")
        assert shop.paycheckout.stored_about("o-1")["order_problems"] == []
