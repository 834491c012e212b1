"""Alarms are right: report and doctor name each problem within five minutes, and none in a healthy shop."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout import Pay, ReconcileReport, order_paid
from flask_paycheckout.books.report import read_gauges
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.errors import UnsafeCheckoutUrl
from tests.alarming import told, urgent
from tests.chance import seed_of, soak_count, stream
from tests.conftest import OpenShop
from tests.scripted import Answer, Shop, number, refusal

Trouble = Callable[[Shop], object]


def hears(app: Flask, **facts: Any) -> None:
    """A receiver that works."""


def breaks(app: Flask, **facts: Any) -> None:
    raise RuntimeError("the shelf broke")


def runs(shop: Shop, *arguments: str) -> tuple[int, Any]:
    """Run a command; returns the exit code and the JSON output."""
    ran = shop.runs(*arguments, "--json")
    return ran.exit_code, json.loads(ran.stdout)


def orders(shop: Shop, count: int = 1) -> list[str]:
    """Make `count` new orders for 12.50."""
    ids = [f"n-{len(shop.totals) + number}" for number in range(count)]
    shop.totals.update({order_id: Pay("12.50", "USD") for order_id in ids})
    return ids


def starts_in_vain(shop: Shop, answer: Answer, order_id: str | None = None) -> None:
    """Let the service give this answer to the start of a new order, or of this order."""
    shop.service.instead_of_created.append(answer)
    with pytest.raises((PaymentsError, UnsafeCheckoutUrl)):
        shop.starts(order_id or orders(shop)[0])


def paid_with_webhook(shop: Shop, **fields: object) -> str:
    checkout_id = shop.has_deposit("completed", orders(shop)[0], **fields)
    shop.runtime.webhooks.receive(checkout_id)
    return checkout_id


# Troubles: each occurs once a minute, while reconcile runs.


def reads_answered(answer: Answer) -> Trouble:
    def trouble(shop: Shop) -> None:
        shop.service.fails(shop.starts(*orders(shop)), answer)

    return trouble


def starts_answered(answer: Answer, order_id: str | None = None) -> Trouble:
    return lambda shop: starts_in_vain(shop, answer, order_id)


def some_deposits_fail(shop: Shop) -> None:
    shop.service.fails(shop.starts(*orders(shop)))
    paid_with_webhook(shop)


def receiver_fails(shop: Shop) -> None:
    order_paid.connect(breaks, sender=shop.app)
    paid_with_webhook(shop)


def receiver_is_missing(shop: Shop) -> None:
    order_paid.disconnect(hears, sender=shop.app)
    paid_with_webhook(shop)


def atomic_receiver_fails(shop: Shop) -> None:
    order_paid.connect(shop.paycheckout.atomic(lambda app, **facts: breaks(app)), sender=shop.app)
    paid_with_webhook(shop)


def another_client_id_made_it(shop: Shop) -> None:
    checkout_id = shop.starts(*orders(shop))
    shop.changes(checkout_id, client_id="of-before")
    shop.waits(minutes=17)


def unknown_deposit_status(shop: Shop) -> None:
    shop.has_deposit("on_holiday", *orders(shop))


def function_fails(name: str) -> Trouble:
    """Let a function of the shop raise while a customer tries to pay."""

    def trouble(shop: Shop) -> None:
        getattr(shop.paycheckout, name)(lambda order_id: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            shop.starts("o-1")

    return trouble


def describe_orders_fails(shop: Shop) -> None:
    shop.paycheckout.describe_orders(lambda order_ids: 1 / 0)
    assert shop.runs("export", "--format", "accounting").exit_code == 0


def wrong_amount(shop: Shop) -> None:
    paid_with_webhook(shop, inputAmount=number("1"))


def rejected(shop: Shop) -> None:
    shop.resolves(paid_with_webhook(shop, inputAmount=number("1")), accept=False)


def webhooks_never_come(shop: Shop) -> None:
    for order_id in orders(shop, 5):
        shop.has_deposit("completed", order_id)


def reconcile_does_not_run(shop: Shop) -> None:
    shop.starts(*orders(shop))
    shop.reconciles = lambda *limit, **passed: ReconcileReport()  # type: ignore[method-assign]


TROUBLES = {
    "wrong secret": (reads_answered(refusal(401, "bad signature")), "bad signature", "now"),
    "service down": (reads_answered(refusal(503, "closed")), "closed", "now"),
    "some deposits fail": (some_deposits_fail, "500 Refused", "now"),
    "receiver fails": (receiver_fails, "the shelf broke", "today"),
    "receiver is missing": (receiver_is_missing, "nobody listens", "today"),
    "atomic receiver fails": (atomic_receiver_fails, "the shelf broke", "now"),
    "another client id made it": (another_client_id_made_it, "made with client id 'of-before'", "now"),
    "unknown deposit status": (unknown_deposit_status, "on_holiday", "today"),
    "wrong amount": (wrong_amount, "held", "today"),
    "money to pay back": (rejected, "paid no order", "today"),
    "webhooks never come": (webhooks_never_come, "webhook", "today"),
    "reconcile does not run": (reconcile_does_not_run, "reconcile", "now"),
    "starts fail": (starts_answered(refusal(503, "no checkouts today")), "no checkouts today", "now"),
    "order_total fails": (function_fails("order_total"), "order_total fails", "now"),
    "account_of fails": (function_fails("account_of"), "account_of fails", "now"),
    "describe_orders fails": (describe_orders_fails, "describe_orders fails", "today"),
    "one order is refused": (starts_answered(refusal(400, "amount too small"), "o-1"), "amount too small", "today"),
}


@pytest.fixture
def well(open_shop: OpenShop) -> Shop:
    """A shop with a receiver of order_paid and one successful payment."""
    shop = open_shop(hears=False)
    order_paid.connect(hears, sender=shop.app)
    paid_with_webhook(shop)
    return shop


@pytest.mark.parametrize("name", TROUBLES)
def test_each_trouble_is_named_within_five_minutes(well: Shop, name: str) -> None:
    trouble, words, severity = TROUBLES[name]
    assert runs(well, "report")[0] == 0
    for _ in range(5):
        trouble(well)
        well.reconciles()
        well.clock.advance(minutes=1)
    named_by_both(well, words, severity)


def named_by_both(shop: Shop, words: str, severity: str = "today", reference: str = "") -> None:
    """Check that report and doctor name a trouble, and metrics count it."""
    report = shop.runs("report")
    assert (report.exit_code, "Nothing needs a person" in report.output) == ({"now": 2, "today": 1}[severity], False)
    assert words.lower() in report.output.lower()
    assert reference in report.output
    assert gauged(shop) == {alarm.kind: alarm.count for alarm in told(shop).alarms}
    code, examined = runs(shop, "doctor")
    failures = [f"{check['about']} {check['found']}" for check in examined["checks"] if check["level"] == "failure"]
    assert (code, any(words.lower() in failure.lower() for failure in failures)) == (1, True), failures
    assert any(reference in check["found"] for check in examined["checks"]), examined


# A healthy shop


def day_passes(shop: Shop, chance: Random, steps: int) -> None:
    """Let random customers use a healthy shop, with occasional failures that pass by themselves."""
    unpaid: list[str] = []
    is_delivered = True
    for _ in range(steps):
        step = chance.choice(["start", "pick", "pay", "close", "wait"])
        if step == "start":
            (order_id,) = orders(shop)
            if chance.random() < 0.2:
                starts_in_vain(shop, refusal(503, "a moment"), order_id)
                # The customer tries again.
                shop.waits(seconds=1)
            unpaid.append(shop.starts(order_id))
        elif step == "wait":
            for _ in range(chance.randrange(1, 4)):
                shop.reconciles(minutes=1)
        elif unpaid:
            chance.shuffle(unpaid)
            if step == "pick":
                shop.service.says(unpaid[0], "pending")
            elif step == "close":
                shop.service.says(unpaid.pop(), "failed")
            else:
                checkout_id = unpaid.pop()
                if chance.random() < 0.2:
                    shop.service.fails(checkout_id)
                    shop.reconciles()
                shop.service.says(checkout_id, "completed")
                # Never lose two webhooks in a row.
                is_delivered = not is_delivered or chance.random() < 0.8
                if is_delivered:
                    shop.runtime.webhooks.receive(checkout_id)
        shop.waits(seconds=chance.randrange(20))
        if chance.random() < 0.5:
            shop.reconciles()
    # Reconcile runs regularly, so that nothing is overdue at the end.
    shop.reconciles()


def gauged(shop: Shop) -> Mapping[str, int]:
    """The alarms from the metrics, by kind."""
    with shop.app.app_context():
        counted = read_gauges(shop.runtime.alarm_context(), 50).alarms
    return {kind: count for (kind, _), count in counted.items() if count}


@pytest.mark.parametrize("histories", [15, pytest.param(soak_count(1000), marks=pytest.mark.soak)])
def test_a_healthy_shop_has_no_alarm(well: Shop, pytestconfig: pytest.Config, histories: int) -> None:
    chance = stream(seed_of(pytestconfig), "healthy")
    for _ in range(histories):
        day_passes(well, chance, 8)
        assert urgent(well) == set()
