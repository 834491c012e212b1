"""Limits on calls from web requests: a few seconds, a few at the same time, and none while the service fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import Mock

import httpx
import pytest
from werkzeug.test import TestResponse

from flask_paycheckout import Account, Pay
from flask_paycheckout.client import TransportFailed
from flask_paycheckout.service.calls import CREATE, PROOF, READ, RECIPIENT, NotAsked
from tests.conftest import OpenShop
from tests.scripted import Answer, Shop, garbage, refusal
from tests.views.pages import opens, presses_pay

SLOW = ("ada", "bea", "anna")


def looks(shop: Shop, order_id: str = "o-1") -> str:
    """Read the JSON of the status page."""
    answer = opens(shop, order_id, "/status")
    assert answer.status_code == 200
    return str(answer.get_json()["status"])


def reads_fail_three_times(shop: Shop) -> None:
    """Customers open their status pages three times while no deposit can be read."""
    for order_id in ("o-3", "o-4", "o-5"):
        shop.costs("12.50", order_id)
        shop.service.fails(shop.starts(order_id))
        looks(shop, order_id)
    assert len(shop.service.reads) == 3
    shop.service.reads.clear()


def fails_three_times(shop: Shop, answer: Answer | None = None, order_id: str = "o-1") -> None:
    """Customers press Pay three times while the service fails; it has recovered afterwards, unnoticed by the shop."""
    shop.service.instead_of_created = [answer or garbage()] * 3
    for _ in range(3):
        assert presses_pay(shop, order_id).status_code == 503
    assert shop.service.instead_of_created == []


# The breaker


@pytest.mark.parametrize("answer", [garbage(), refusal(500)], ids=["garbage", "500"])
def test_after_three_failures_customers_are_told_at_once_until_a_probe_is_answered(shop: Shop, answer: Answer) -> None:
    fails_three_times(shop, answer)
    for _ in range(5):
        pressed = presses_pay(shop)
        assert (pressed.status_code, pressed.headers["Retry-After"]) == (503, "5")
    assert len(shop.service.created) == 3, "nothing was sent"
    shop.waits(seconds=5)
    assert presses_pay(shop).status_code == 303
    assert presses_pay(shop, "o-2").status_code == 303


def test_a_probe_that_is_interrupted_while_it_waits_for_a_slot_leaves_its_place_to_another(shop: Shop) -> None:
    fails_three_times(shop)
    shop.waits(seconds=5)
    with pytest.MonkeyPatch.context() as patch, shop.app.test_request_context():
        patch.setattr(shop.runtime.service.limits(), "take", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            shop.paycheckout.start("o-2")
    assert presses_pay(shop).status_code == 303


@pytest.mark.parametrize("status_code", [400, 401, 403, 429])
def test_refused_requests_are_answers_and_close_nothing(shop: Shop, status_code: int) -> None:
    for number in range(5):
        # A refused request is not retried at once.
        shop.costs(10 + number)
        shop.service.instead_of_created = [refusal(status_code, "No")]
        assert presses_pay(shop).status_code == (422 if status_code == 400 else 503), number
    assert len(shop.service.created) == 5


def test_answers_that_come_late_are_failures(shop: Shop) -> None:
    shop.service.meanwhile = lambda: shop.waits(seconds=4)
    for number in range(3):
        shop.costs(10 + number)
        assert presses_pay(shop).status_code == 303
    assert presses_pay(shop, "o-2").status_code == 503
    assert len(shop.service.created) == 3


def test_status_page_and_webhook_do_not_ask_either_and_leave_the_read_to_reconcile(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")
    reads_fail_three_times(shop)
    as_stored = shop.attempt(checkout_id)
    assert looks(shop) == "created"
    assert shop.attempt(checkout_id).next_read_at == as_stored.next_read_at, "not claimed for nothing"
    assert shop.hears_of(checkout_id) == 200
    assert shop.service.reads == []
    attempt = shop.attempt(checkout_id)
    assert (attempt.webhooks, attempt.failed_reads, attempt.problem) == (1, 0, None)
    assert shop.reconciles(limit=1).changed == 1, "reconcile has a brake of its own"


def test_reads_that_fail_stop_no_starts_and_starts_that_fail_no_reads(shop: Shop) -> None:
    reads_fail_three_times(shop)
    assert presses_pay(shop).status_code == 303
    shop.waits(seconds=5)
    fails_three_times(shop, order_id="o-2")
    assert looks(shop) == "created"
    assert shop.service.reads == ["chk-4"]


def test_programs_are_not_stopped_and_their_answer_lets_the_web_go(shop: Shop) -> None:
    fails_three_times(shop)
    assert shop.starts("o-2")
    assert presses_pay(shop).status_code == 303


def test_a_view_of_the_shop_that_starts_or_settles_is_a_web_request(shop: Shop) -> None:
    checkout_id = shop.starts("o-2")
    reads_fail_three_times(shop)
    fails_three_times(shop)
    with shop.app.test_request_context("/orders/1"):
        for call, about in ((shop.paycheckout.start, "o-1"), (shop.paycheckout.settle, checkout_id)):
            with pytest.raises(TransportFailed, match="was not asked: it does not answer in time") as refused:
                call(about)
            assert (refused.value.request_sent, refused.value.retry_after) == (False, 5)
    assert shop.attempt(checkout_id).failed_reads == 0, "what was not read did not fail"


# Time and slots


def test_a_web_request_gives_the_service_its_seconds_once_and_a_program_the_clients(
    open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = open_shop(PAYCHECKOUT_WEB_TIMEOUT=2, PAYCHECKOUT_TIMEOUT=9)
    timeouts: list[float] = []
    answer = httpx.MockTransport.handle_request

    def note(transport: httpx.MockTransport, request: httpx.Request) -> httpx.Response:
        timeouts.append(request.extensions["timeout"]["read"])
        return answer(transport, request)

    monkeypatch.setattr(httpx.MockTransport, "handle_request", note)
    shop.starts()
    assert timeouts[-1] == pytest.approx(9, abs=1)
    presses_pay(shop, "o-2")
    assert timeouts[-1] == pytest.approx(2, abs=0.5)
    shop.waits(minutes=15)
    presses_pay(shop, "o-2")
    assert timeouts[-2:] == pytest.approx([1, 2], abs=0.5), "a read leaves half of them to the create"


def test_the_reads_of_one_visit_share_its_seconds(shop: Shop) -> None:
    for amount in range(3):
        shop.costs(10 + amount)
        shop.starts()
    shop.service.meanwhile = lambda: shop.waits(seconds=3)
    looks(shop)
    assert len(shop.service.reads) == 2, "after six seconds nothing is left of five"


@pytest.mark.parametrize(("slots", "sent"), [(1, 1), (2, 2)])
def test_no_more_requests_of_a_process_wait_than_may(open_shop: OpenShop, slots: int, sent: int) -> None:
    shop = open_shop(PAYCHECKOUT_WEB_CALLS=slots)
    checkout_id = shop.starts("o-2")
    shop.service.reads.clear()

    def meanwhile() -> None:
        shop.service.meanwhile = lambda: None
        assert looks(shop, "o-2") == "created"
        assert shop.hears_of(checkout_id) == 200
        answers.append(presses_pay(shop, "o-2"))

    answers: list[TestResponse] = []
    shop.totals["o-2"] = shop.totals["o-1"] = Pay("13", "USD")
    shop.service.meanwhile = meanwhile
    assert presses_pay(shop).status_code == 303
    assert len(shop.service.created) == 1 + sent
    assert bool(shop.service.reads) == (slots > 1)
    if slots == 1:
        assert (answers[0].status_code, answers[0].headers["Retry-After"]) == (503, "2")
        assert shop.attempt(checkout_id).webhooks == 1


def test_a_receiver_that_uses_the_answer_needs_no_slot(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_WEB_CALLS=1)
    with shop.app.test_request_context(), shop.runtime.service.permit(CREATE) as permit:
        permit.ask(lambda client: client.checkouts.create(Pay("12.50", "USD")))
        assert presses_pay(shop).status_code == 303


@contextmanager
def waiting(shop: Shop, *calls: tuple[str, str]) -> Iterator[None]:
    """Let a web request wait for the service for each of these calls, an operation and an account."""
    with shop.app.test_request_context(), ExitStack() as stack:
        for operation, account in calls:
            stack.enter_context(shop.runtime.service.permit(operation, account))
        yield


def test_while_calls_are_slow_few_requests_wait_for_that_operation_and_status_pages_sooner(shop: Shop) -> None:
    shop.starts("o-2")
    with waiting(shop, (CREATE, ""), (CREATE, ""), (READ, ""), (READ, "")):
        shop.waits(seconds=2)
        looks(shop, "o-2")
        assert shop.service.reads == []
        shop.waits(seconds=2)
        assert presses_pay(shop).status_code == 503
    with waiting(shop, (CREATE, ""), (CREATE, "")):
        shop.waits(seconds=4)
        looks(shop, "o-2")
        assert shop.service.reads == ["chk-1"]
    assert presses_pay(shop).status_code == 303


def test_an_account_has_less_than_half_of_the_slots_and_seldom_calls_a_third(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_WEB_CALLS=8)
    shop.paycheckout.account_of(lambda order_id: "ada" if order_id == "o-1" else "")
    shop.paycheckout.account(lambda name: Account("id-of-ada", "canary-secret-of-ada"))
    with waiting(shop, *[(CREATE, "ada")] * 3):
        assert presses_pay(shop).status_code == 503
        assert presses_pay(shop, "o-2").status_code == 303
    with (
        waiting(shop, (RECIPIENT, ""), (PROOF, "ada")),
        pytest.raises(NotAsked),
        shop.runtime.service.permit(RECIPIENT, "ada"),
    ):
        pass
    assert presses_pay(shop).status_code == 303


def gets_accounts(shop: Shop) -> None:
    """An order's account is the beginning of its id; "o" is the account of the settings."""
    shop.paycheckout.account_of(lambda order_id: order_id.split("-")[0].replace("o", ""))
    shop.paycheckout.account(lambda name: Account(f"id-of-{name}", "canary-secret-of-a-seller"))
    shop.totals |= {f"{name}-{number}": Pay("12.50", "USD") for name in SLOW for number in range(3)}


def test_slow_accounts_have_two_slots_of_an_operation_together(shop: Shop) -> None:
    gets_accounts(shop)
    with waiting(shop, *[(CREATE, name) for name in SLOW[:2]]):
        shop.waits(seconds=4)
        assert presses_pay(shop, "ada-1").status_code == 503
        assert presses_pay(shop, "o-1").status_code == 303


def test_probes_of_accounts_whose_service_hung_are_slow_from_their_beginning(shop: Shop) -> None:
    gets_accounts(shop)
    for name in SLOW:
        fails_three_times(shop, order_id=f"{name}-1")
    shop.waits(seconds=5)
    with waiting(shop, *[(CREATE, name) for name in SLOW[:2]]):
        assert presses_pay(shop, f"{SLOW[2]}-1").status_code == 503
        assert presses_pay(shop).status_code == 303


def test_customers_refused_although_the_service_answers_are_reported_until_an_hour_without(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_WEB_CALLS=1)

    def reported() -> str:
        return str(shop.runs("report").output)

    for _ in range(3):
        with waiting(shop, (CREATE, "")):
            assert presses_pay(shop).status_code == 503
        shop.waits(minutes=3)
    assert "Raise PAYCHECKOUT_WEB_CALLS" in reported()
    shop.waits(minutes=61)
    assert "PAYCHECKOUT_WEB_CALLS" not in reported()
    # Slow calls must not let more requests wait for the service.
    for _ in range(3):
        with waiting(shop, (CREATE, "")):
            shop.waits(seconds=4)
            assert presses_pay(shop).status_code == 503
        shop.waits(minutes=3)
    assert "PAYCHECKOUT_WEB_CALLS" not in reported()
