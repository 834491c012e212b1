"""The levers: clock, faults, webhooks sent again, and the reset that asks once more."""

from __future__ import annotations

import pytest

from tests.sandbox.actors import Merchant, Receiver, Tester
from tests.sandbox.inspector.developer import Developer


@pytest.mark.parametrize("seconds", [60, 960, 3600, 90000])
def test_the_clock_moves_by_the_offered_steps(tester: Tester, developer: Developer, seconds: int) -> None:
    assert f'name="amount" value="{seconds}"' in developer.opens("/inspector/levers")
    answer = developer.presses("clock", amount=str(seconds), unit="seconds")
    assert answer.status_code == 303
    assert tester.does("GET", "clock")["offsetSeconds"] == seconds
    assert "The clock was advanced" in developer.reads(answer.location)


@pytest.mark.parametrize(("unit", "seconds"), [("seconds", 1), ("minutes", 60), ("hours", 3600), ("days", 86400)])
def test_the_clock_moves_by_a_number_of_any_unit(tester: Tester, developer: Developer, unit: str, seconds: int) -> None:
    developer.presses("clock", amount=" 2.5", unit=unit)
    assert tester.does("GET", "clock")["offsetSeconds"] == 2.5 * seconds


@pytest.mark.parametrize("amount", ["", "x", "-1", "1e3", "nan", "3661", "9" * 30, "1.2345678"])
def test_what_is_no_number_of_at_most_ten_years_moves_nothing_and_stays_in_the_field(
    tester: Tester, developer: Developer, amount: str
) -> None:
    answer = developer.presses("clock", amount=amount, unit="days")
    assert answer.status_code == 400
    assert "the clock cannot go back" in answer.text
    assert f'value="{amount}"' in answer.text
    assert tester.does("GET", "clock")["offsetSeconds"] == 0


def test_an_unknown_unit_moves_nothing(tester: Tester, developer: Developer) -> None:
    assert developer.presses("clock", amount="1", unit="years").status_code == 400
    assert tester.does("GET", "clock")["offsetSeconds"] == 0


def test_advancing_sends_the_webhook_retries_that_fall_due(
    merchant: Merchant, tester: Tester, receiver: Receiver, developer: Developer
) -> None:
    receiver.answers = [500]
    checkout = merchant.makes_checkout()
    tester.pays(checkout)
    developer.presses("clock", amount="60", unit="seconds")
    assert receiver.order_ids == [checkout, checkout]


def test_a_fault_is_ordered_by_the_form_and_listed(merchant: Merchant, tester: Tester, developer: Developer) -> None:
    order = {"operation": "POST /v1/checkout", "kind": "error", "times": "2", "statusCode": "503", "retryAfter": "7"}
    answer = developer.presses("faults", **order, message="Closed", seconds="")
    assert (answer.status_code, "The fault is armed." in developer.reads(answer.location)) == (303, True)
    (fault,) = tester.does("GET", "faults")
    told = {"operation": "POST /v1/checkout", "kind": "error", "times": 2, "statusCode": 503, "retryAfter": 7}
    assert fault == {"id": fault["id"], "message": "Closed"} | told
    assert "error 503, Retry-After 7 Closed 2 more" in developer.reads("/inspector/levers")
    assert merchant.asks_checkout(inputCurrency="USD", inputAmount=5).code == 503


def test_a_fault_for_webhooks_strikes_once_unless_told_otherwise(tester: Tester, developer: Developer) -> None:
    developer.presses("faults", operation="webhook", kind="delay", seconds="1.5")
    (fault,) = tester.does("GET", "faults")
    assert (fault["kind"], fault["times"], str(fault["seconds"])) == ("delay", 1, "1.5")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"operation": ""}, "operation is required", id="operation-missing"),
        pytest.param({"times": "often"}, "times must be a number", id="times-no-number"),
        pytest.param({"kind": "delay"}, "seconds must be a number from 0 to 60", id="seconds-missing"),
        pytest.param({"message": "x" * 201}, "message must be a non-empty string of at most 200", id="message"),
    ],
)
def test_a_fault_that_could_never_strike_is_refused_and_what_was_typed_is_kept(
    tester: Tester, developer: Developer, changes: dict[str, str], problem: str
) -> None:
    order = {"operation": "POST /v1/checkout", "kind": "error", "message": "Keep <me>"} | changes
    answer = developer.presses("faults", **order)
    assert answer.status_code == 400
    assert problem in answer.text
    assert f'value="{order["message"]}"'.replace("<me>", "&lt;me&gt;") in answer.text
    assert tester.does("GET", "faults") == []


def test_all_faults_are_forgotten(tester: Tester, developer: Developer) -> None:
    assert "Forget all faults" not in developer.opens("/inspector/levers")
    tester.orders_fault("POST /v1/checkout", "error")
    assert "Forget all faults" in developer.opens("/inspector/levers")
    developer.presses("faults/forget")
    assert tester.does("GET", "faults") == []


def test_a_webhook_is_sent_again_and_leads_back_to_the_same_list(
    merchant: Merchant, tester: Tester, receiver: Receiver, developer: Developer
) -> None:
    checkout = merchant.makes_checkout()
    tester.pays(checkout)
    answer = developer.presses(f"webhooks/{tester.webhooks()[0]['id']}", order=checkout)
    assert receiver.order_ids == [checkout, checkout]
    assert answer.location == f"/inspector/webhooks?done=resent&order={checkout}"
    assert "The webhook was sent again." in developer.reads(answer.location)


def test_a_webhook_that_is_gone_is_told(developer: Developer) -> None:
    answer = developer.presses("webhooks/none")
    assert "There is no such webhook any more." in developer.reads(answer.location)


def test_a_notice_says_only_what_the_inspector_has_to_say(developer: Developer) -> None:
    assert "phish" not in developer.opens("/?done=phish").split("<main")[1]


def test_the_reset_asks_once_more_and_then_forgets_everything(
    merchant: Merchant, tester: Tester, developer: Developer
) -> None:
    checkout = merchant.makes_checkout()
    tester.pays(checkout)
    tester.advances(minutes=5)
    assert 'href="/inspector/reset"' in developer.opens("/inspector/levers")
    assert "This cannot be undone." in developer.reads("/inspector/reset")
    assert tester.webhooks() != []
    answer = developer.presses("reset")
    assert "Everything is back to the start state." in developer.reads(answer.location)
    assert (tester.webhooks(), tester.requests()) == ([], [])
    assert tester.does("GET", "clock")["offsetSeconds"] == 0
