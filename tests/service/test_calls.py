"""Limits on calls of web requests: a few seconds, few at once, and none while the service fails."""

from __future__ import annotations

import httpx
import pytest
from werkzeug.test import TestResponse

from flask_paycheckout import Pay
from flask_paycheckout.client import TransportFailed
from flask_paycheckout.service.calls import CREATE
from tests.conftest import OpenShop
from tests.scripted import Answer, Shop, garbage, refusal
from tests.views.pages import opens, presses_pay


def looks(shop: Shop, order_id: str = "o-1") -> str:
    """The JSON of the status page."""
    answer = opens(shop, order_id, "/status")
    assert answer.status_code == 200
    return str(answer.get_json()["status"])


def hears_of(shop: Shop, checkout_id: str) -> None:
    assert shop.browser.post("/paycheckout/webhook", json={"orderId": checkout_id}).status_code == 200


def fails_three_times(shop: Shop, answer: Answer | None = None, order_id: str = "o-1") -> None:
    """Customers press Pay while the service fails; afterwards it is well again, and nobody knows."""
    shop.service.instead_of_created = [answer or garbage()] * 3
    for _ in range(3):
        assert presses_pay(shop, order_id).status_code == 503
    assert shop.service.instead_of_created == []


# The breaker


@pytest.mark.parametrize("answer", [garbage(), refusal(500), refusal(401)], ids=["garbage", "500", "401"])
def test_after_three_failures_customers_are_told_at_once_until_a_probe_is_answered(shop: Shop, answer: Answer) -> None:
    fails_three_times(shop, answer)
    for _ in range(5):
        told = presses_pay(shop)
        assert (told.status_code, told.headers["Retry-After"]) == (503, "5")
    assert len(shop.service.created) == 3, "nothing was sent"
    shop.clock.advance(seconds=5)
    assert presses_pay(shop).status_code == 303
    assert presses_pay(shop, "o-2").status_code == 303


def test_refused_requests_are_answers_and_close_nothing(shop: Shop) -> None:
    for number in range(5):
        shop.clock.advance(seconds=61)
        shop.service.instead_of_created = [refusal(400, "Amount too small")]
        assert presses_pay(shop).status_code == 503, number
    assert len(shop.service.created) == 5


def test_status_page_and_webhook_do_not_ask_either_and_leave_the_read_to_reconcile(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")
    fails_three_times(shop, order_id="o-2")
    as_stored = shop.attempt(checkout_id)
    assert looks(shop) == "created"
    assert shop.attempt(checkout_id).next_read_at == as_stored.next_read_at, "not claimed for nothing"
    hears_of(shop, checkout_id)
    assert shop.service.reads == []
    attempt = shop.attempt(checkout_id)
    assert (attempt.webhooks, attempt.failed_reads, attempt.problem) == (1, 0, None)
    assert shop.reconciles().changed == 1, "reconcile has a brake of its own"


def test_reads_that_fail_stop_starts_and_a_read_that_is_answered_lets_them_go(shop: Shop) -> None:
    checkout_id = shop.starts()
    shop.service.fails(checkout_id)
    for _ in range(3):
        looks(shop)
        shop.clock.advance(seconds=60)
    assert len(shop.service.reads) == 3
    shop.clock.advance(seconds=-59)
    assert presses_pay(shop, "o-2").status_code == 503
    shop.clock.advance(seconds=59)
    shop.service.says(checkout_id, "pending")
    assert looks(shop) == "pending"
    assert presses_pay(shop, "o-2").status_code == 303


def test_programs_are_not_stopped_and_their_answer_lets_the_web_go(shop: Shop) -> None:
    fails_three_times(shop)
    assert shop.starts("o-2")
    assert presses_pay(shop).status_code == 303


def test_a_view_of_the_shop_that_starts_or_settles_is_a_web_request(shop: Shop) -> None:
    checkout_id = shop.starts("o-2")
    fails_three_times(shop)
    with shop.app.test_request_context("/orders/1"):
        for call, about in ((shop.paycheckout.start, "o-1"), (shop.paycheckout.settle, checkout_id)):
            with pytest.raises(TransportFailed, match="was not asked: it does not answer") as refused:
                call(about)
            assert (refused.value.request_sent, refused.value.retry_after) == (False, 5)
    assert shop.attempt(checkout_id).failed_reads == 0, "what was not read did not fail"


def test_refused_requests_are_one_log_line_a_minute(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    fails_three_times(shop)
    caplog.clear()
    for _ in range(40):
        presses_pay(shop)
    assert [record.getMessage().split(",")[0] for record in caplog.records] == [
        "1 web requests did not call the service"
    ]
    shop.clock.advance(seconds=60)
    shop.service.instead_of_created = [garbage()]
    presses_pay(shop)
    caplog.clear()
    presses_pay(shop)
    assert "40 web requests did not call the service" in caplog.text


# Time and places


def test_a_web_request_gives_the_service_its_seconds_once_and_a_program_the_clients(
    open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = open_shop(PAYCHECKOUT_WEB_TIMEOUT=2, PAYCHECKOUT_TIMEOUT=9)
    given: list[float] = []
    answer = httpx.MockTransport.handle_request

    def note(transport: httpx.MockTransport, request: httpx.Request) -> httpx.Response:
        given.append(request.extensions["timeout"]["read"])
        return answer(transport, request)

    monkeypatch.setattr(httpx.MockTransport, "handle_request", note)
    shop.starts()
    assert given[-1] == pytest.approx(9, abs=1)
    presses_pay(shop, "o-2")
    assert given[-1] == pytest.approx(2, abs=0.5)


def test_the_reads_of_one_visit_share_its_seconds(shop: Shop) -> None:
    for amount in range(3):
        shop.totals["o-1"] = Pay(10 + amount, "USD")
        shop.starts()
    shop.service.meanwhile = lambda: shop.clock.advance(seconds=3)
    looks(shop)
    assert len(shop.service.reads) == 2, "after six seconds nothing is left of five"


@pytest.mark.parametrize(("places", "sent"), [(1, 1), (2, 2)])
def test_no_more_requests_of_a_process_wait_than_may(open_shop: OpenShop, places: int, sent: int) -> None:
    shop = open_shop(PAYCHECKOUT_WEB_CALLS=places)
    checkout_id = shop.starts("o-2")
    shop.service.reads.clear()

    def meanwhile() -> None:
        shop.service.meanwhile = lambda: None
        assert looks(shop, "o-2") == "created"
        hears_of(shop, checkout_id)
        answers.append(presses_pay(shop, "o-2"))

    answers: list[TestResponse] = []
    shop.totals["o-2"] = shop.totals["o-1"] = Pay("13", "USD")
    shop.service.meanwhile = meanwhile
    assert presses_pay(shop).status_code == 303
    assert len(shop.service.created) == 1 + sent
    assert bool(shop.service.reads) == (places > 1)
    if places == 1:
        assert (answers[0].status_code, answers[0].headers["Retry-After"]) == (503, "2")
        assert shop.attempt(checkout_id).webhooks == 1


def test_what_a_receiver_does_with_the_answer_needs_no_place(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_WEB_CALLS=1)
    with shop.app.test_request_context(), shop.runtime.service.turn(CREATE) as turn:
        turn.create(Pay("12.50", "USD"))
        assert presses_pay(shop).status_code == 303
