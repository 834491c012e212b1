"""The effect of a read on a checkout: each row of the table of states, and all answers that must change nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from flask_paycheckout import UnknownCheckout, order_paid, payment_held
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.testing import Signals
from tests.conftest import OpenShop
from tests.scripted import Answer, Shop, garbage, number, refusal, success
from tests.views.pages import reach


def in_state(shop: Shop, status: str) -> str:
    """A checkout of the order "o-1" in this state."""
    reach(shop, "held" if status == "rejected" else status)
    [attempt] = shop.attempts()
    if status == "rejected":
        shop.resolves(attempt.checkout_id, accept=False)
    return str(attempt.checkout_id)


@pytest.mark.on_each_database
@pytest.mark.parametrize(
    ("before", "differs"),
    [
        *((before, {}) for before in ("created", "pending", "abandoned")),
        ("created", {"inputAmount": number("12.49")}),
        ("pending", {"inputAmount": "12.50"}),
        ("abandoned", {"inputCurrency": "EUR"}),
    ],
)
def test_a_payment_pays_if_it_agrees_and_is_held_if_it_does_not(
    shop: Shop, signals: Signals, before: str, differs: dict[str, object]
) -> None:
    settled = shop.settles(in_state(shop, before), "completed", **differs)
    if differs:
        assert (settled.status, settled.reason) == ("held", "amount_mismatch")
        assert (signals.names[-1], signals[-1].extra) == ("payment_held", {"reason": "amount_mismatch"})
    else:
        assert (settled.status, settled.reason, settled.found_by) == ("paid", None, "settle")
        assert (settled.next_read_at, signals.names[-1]) == (None, "order_paid")


def test_a_status_that_no_rule_knows_counts_as_not_completed_and_is_reported(shop: Shop) -> None:
    checkout_id = shop.has_deposit("frozen")
    assert shop.settles(checkout_id).status == "pending"
    assert "the deposit status 'frozen', which no rule knows" in shop.runs("report").output
    shop.settles(checkout_id, says="pending")
    assert "frozen" not in shop.runs("report").output


@pytest.mark.parametrize("then", ["failed", None])
def test_a_completed_payment_that_was_not_applied_and_is_taken_back_is_reported(shop: Shop, then: str | None) -> None:
    checkout_id = shop.has_deposit("completed")
    with shop.refusing(order_paid, times=1):
        shop.settles(checkout_id)
    if then is None:
        shop.service.deposits.clear()
    settled = shop.settles(checkout_id, says=then)
    assert settled.status in ("created", "abandoned")
    report = shop.runs("report").output
    now = "is not found" if then is None else "has the status 'failed'"
    assert f"the deposit was completed (12.50 USD paid), and {now} now: ask the service why" in report
    shop.settles(checkout_id, says=then)
    assert shop.runs("report").output.count("12.50 USD paid") == 1, "it is reported until it is explained"
    if then is not None:
        shop.waits(days=8)
        shop.settles(checkout_id, says=then)
        assert "12.50 USD paid" not in shop.runs("report").output, "the service says that it failed"
    assert shop.settles(checkout_id, says="completed").status == "paid", "and may come back"
    lines = [(line.kind, str(line.gross)) for line in shop.calls.books()]
    assert lines == [("held", "12.50"), ("payment_returned", "-12.50"), ("payment", "12.50")]


def watched_to_its_end(shop: Shop) -> str:
    """An abandoned checkout without a planned read."""
    checkout_id = shop.has_deposit("failed")
    shop.settles(checkout_id)
    shop.waits(days=8)
    assert shop.settles(checkout_id).next_read_at is None
    return checkout_id


@pytest.mark.on_each_database
@pytest.mark.parametrize(
    "before", [lambda shop: shop.has_deposit("pending"), watched_to_its_end], ids=["created", "no longer watched"]
)
def test_an_older_answer_takes_no_payment_back_that_a_newer_read_saw(shop: Shop, before: Callable[[Shop], str]) -> None:
    checkout_id = before(shop)

    shop.service.meets_once(lambda: shop.settles(checkout_id, says="completed"))
    with shop.refusing(order_paid, times=1):
        shop.settles(checkout_id)
        attempt = shop.attempt(checkout_id)
        assert (attempt.deposit_status, attempt.failed_reads) == ("completed", 1)
        shop.reconciles(seconds=10)
    assert shop.attempt(checkout_id).status == "paid"
    assert [line.kind for line in shop.calls.books()] == ["held", "held", "payment"]


def test_money_that_was_seen_is_asked_for_and_told_until_it_can_be_applied(shop: Shop) -> None:
    """A gateway answers `Deposit not found` once, when the checkout is no longer read."""
    checkout_id = watched_to_its_end(shop)
    with shop.refusing(order_paid, times=1):
        shop.settles(checkout_id, says="completed")
        shop.service.deposits.clear()
        assert shop.settles(checkout_id).next_read_at == shop.clock() + timedelta(hours=12)
        assert "the deposit was completed (12.50 USD paid), and is not found now" in shop.runs("report").output
        shop.service.says(checkout_id, "completed")
        shop.reconciles(hours=12)
    assert shop.attempt(checkout_id).status == "paid"


@pytest.mark.on_each_database
def test_each_end_without_a_payment_has_a_reason_which_goes_when_the_deposit_comes_back(
    shop: Shop, signals: Signals
) -> None:
    shop.costs("12.50", "o-3")
    never, closed, stalled = shop.starts("o-1"), shop.starts("o-2"), shop.starts("o-3")
    shop.abandons(never)
    shop.settles(closed, says="failed")
    shop.settles(stalled, says="longer than its column" * 3)
    shop.waits(hours=24)
    for _ in range(2):
        assert shop.settles(stalled).status == "abandoned", "the same deposit says nothing new"
    reasons = {checkout_id: shop.attempt(checkout_id).reason for checkout_id in (never, closed, stalled)}
    assert reasons == {never: "never_picked", closed: "deposit_closed", stalled: "stalled"}
    assert {signal.extra.get("reason") for signal in signals if signal.name == "order_abandoned"} == {None}
    for checkout_id, reason in reasons.items():
        assert f": abandoned ({reason})" in str(shop.calls.explain(shop.attempt(checkout_id).order_id))
        shop.service.says(checkout_id, "processing")
        assert (shop.settles(checkout_id).status, shop.attempt(checkout_id).reason) == ("pending", None)


def test_how_long_a_payment_may_be_on_its_way_depends_on_how_the_customer_pays(open_shop: OpenShop) -> None:
    """The method is stored as soon as it is picked, and stays stored if the service loses the deposit."""
    shop = open_shop(PAYCHECKOUT_PENDING_FOR={"crypto": 3600, "us_qr": 7200, "default": 10800})
    methods: dict[str, dict[str, Any]] = {
        "o-1": {"paymentCrypto": {"address": "0x1"}},
        "o-2": {"paymentFiat": {"bankCode": "us_qr", "bankName": "QR"}},
        "o-3": {"paymentFiat": {"bankName": "A bank"}},
        "o-4": {},
        "o-5": {"paymentCrypto": {}},
    }
    checkouts = {}
    for order_id, said in methods.items():
        shop.costs("12.50", order_id)
        checkout_id = checkouts[order_id] = shop.starts(order_id)
        shop.settles(checkout_id, says="pending", **said)
        assert shop.attempt(checkout_id).payment is None, "no money arrived"
    del shop.service.deposits[checkouts["o-5"]]
    abandoned = []
    for _ in range(4):
        shop.reconciles()
        abandoned.append([each for each in methods if shop.attempt(checkouts[each]).status == "abandoned"])
        shop.waits(hours=1, seconds=2)
    assert abandoned == [[], ["o-1", "o-5"], ["o-1", "o-2", "o-5"], [*methods]]
    shop.service.says(checkouts["o-1"], "completed", **methods["o-1"])
    assert shop.settles(checkouts["o-1"]).payment.method == "crypto", "a late payment is taken all the same"


def test_the_closed_statuses_are_the_shops_choice(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_CLOSED_DEPOSIT_STATUSES=["void"])
    kept, ended = shop.starts("o-1"), shop.starts("o-2")
    shop.service.says(kept, "failed")
    shop.service.says(ended, "VOID")
    assert (shop.settles(kept).status, shop.settles(ended).status) == ("pending", "abandoned")


def test_a_deposit_that_moves_starts_the_wait_anew(shop: Shop) -> None:
    checkout_id = shop.starts()
    for status in ("pending", "processing", "pending"):
        shop.settles(checkout_id, says=status)
        shop.waits(hours=23)
    assert shop.settles(checkout_id).status == "pending"


@pytest.mark.parametrize(
    ("first_read", "second_read", "status"),
    [
        pytest.param({"minutes": 1}, {"minutes": 15}, "created", id="at exactly 15 min + 60 s"),
        pytest.param({"minutes": 1}, {"minutes": 15, "seconds": 1}, "abandoned", id="a second later"),
        pytest.param({"minutes": 16, "seconds": 1}, None, "created", id="one late read is not enough"),
        pytest.param({"minutes": 16, "seconds": 1}, {"minutes": 1}, "abandoned", id="two late reads"),
        pytest.param({"minutes": 16, "seconds": 1}, {"seconds": 59}, "created", id="less than a minute apart"),
        pytest.param({"minutes": 15}, {"seconds": 30}, "created", id="two reads in the last minute"),
    ],
)
def test_never_picked_takes_two_reads_the_later_one_after_the_page_is_gone(
    shop: Shop, first_read: dict[str, float], second_read: dict[str, float] | None, status: str
) -> None:
    checkout_id = shop.starts()
    shop.waits(**first_read)
    shop.settles(checkout_id)
    if second_read is not None:
        shop.waits(**second_read)
        shop.settles(checkout_id)
    assert shop.attempt(checkout_id).status == status


@pytest.mark.on_each_database
@pytest.mark.parametrize("way", ["settle", "reconcile", "page", "webhook"])
def test_a_read_proves_nothing_about_the_time_until_it_is_applied(shop: Shop, way: str) -> None:
    """The customer may pick a method, and the page may end, before the answer is applied."""
    checkout_id = shop.starts()
    shop.waits(minutes=14)
    shop.settles(checkout_id)
    shop.waits(seconds=50)
    shop.changes(checkout_id, next_read_at=shop.clock())
    shop.service.meanwhile = lambda: shop.waits(seconds=80)
    if way == "settle":
        shop.settles(checkout_id)
    elif way == "reconcile":
        shop.reconciles()
    elif way == "page":
        shop.runtime.statuses.of("o-1")
    else:
        shop.hears_of(checkout_id)
    assert (shop.attempt(checkout_id).reads, shop.attempt(checkout_id).status) == (2, "created")


NO_EVIDENCE = [
    pytest.param("created", refusal(404, "Cannot GET /v1/deposit/x"), id="a gateway's 404"),
    pytest.param("pending", garbage(b"<html>Deposit not found</html>", 404), id="HTML"),
    pytest.param("abandoned", refusal(401, "Deposit not found"), id="401"),
    pytest.param("created", refusal(500, "Deposit not found"), id="500"),
    pytest.param("pending", success({"depositId": "chk-2", "status": "failed"}), id="somebody else's failed deposit"),
]


@pytest.mark.parametrize(("before", "answer"), NO_EVIDENCE)
def test_an_answer_without_evidence_never_changes_a_state(
    shop: Shop, signals: Signals, before: str, answer: Answer
) -> None:
    checkout_id = in_state(shop, before)
    earlier = list(signals.names)
    shop.waits(days=2)
    shop.service.fails(checkout_id, answer)
    for failures in (1, 2, 3):
        with pytest.raises(PaymentsError):
            shop.settles(checkout_id)
        assert (shop.attempt(checkout_id).status, shop.attempt(checkout_id).failed_reads) == (before, failures)
    assert signals.names == earlier


@pytest.mark.parametrize("status", ["paid", "held", "rejected"])
def test_a_decided_checkout_is_not_read(shop: Shop, status: str) -> None:
    checkout_id = in_state(shop, status)
    reads = len(shop.service.reads)
    assert shop.settles(checkout_id).status == status
    assert len(shop.service.reads) == reads


@pytest.mark.on_each_database
@pytest.mark.parametrize("checkout_id", ["o-1", "a\x00b", "\ud800", 7], ids=["order id", "NUL", "surrogate", "number"])
def test_an_id_that_was_never_stored_is_not_read(shop: Shop, checkout_id: Any) -> None:
    with pytest.raises(UnknownCheckout, match=r"no checkout .*not the shop's order id"):
        shop.settles(checkout_id)
    assert shop.service.reads == []


@pytest.mark.on_each_database
@pytest.mark.parametrize("other", ["created", "pending", "part", "paid", "held"])
def test_order_abandoned_is_not_told_beside_an_attempt_that_is(shop: Shop, signals: Signals, other: str) -> None:
    first = shop.starts()
    shop.costs("13.00", parts=True)
    second = shop.starts()
    if other == "pending":
        shop.service.says(second)
    elif other != "created":
        amount = {"part": "1", "paid": "13.00", "held": "14"}[other]
        shop.service.says(second, "completed", inputAmount=number(amount))
    assert shop.settles(second).status == other
    assert shop.settles(first, says="failed").status == "abandoned"
    assert "order_abandoned" not in signals.names


def test_money_whose_amount_changes_before_it_is_applied_is_held(shop: Shop) -> None:
    """The books keep what was read first."""
    checkout_id = shop.has_arrived("10")
    with shop.refusing(payment_held):
        shop.settles(checkout_id)
    assert shop.settles(checkout_id, says="completed").reason == "amount_mismatch"
    assert "read first: asked 10 USD" in shop.runs("show", "o-1").output


def test_a_cents_zero_that_the_service_leaves_out_in_one_of_two_reads_is_no_other_amount(shop: Shop) -> None:
    checkout_id = shop.has_arrived("12.5")
    with shop.refusing(order_paid):
        shop.settles(checkout_id)
    assert shop.settles(checkout_id, says="completed", inputAmount=number("12.50")).status == "paid"
