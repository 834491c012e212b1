"""The log: one line for a failure that passes, a traceback for an unexpected error, and no forged lines."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.exc import OperationalError

from flask_paycheckout import order_paid, payout_sent
from flask_paycheckout.service.logs import FIELDS, LOGGER, FailureLog, about, prepare_logger
from flask_paycheckout.testing import Sandbox
from tests.conftest import OpenShop
from tests.payouts.paying import FIAT, Payer
from tests.scripted import CLIENT_SECRET, Clock, Shop, refusal
from tests.views.pages import presses_pay

FORGED = "closed\r\nWARNING all is well\x1b[2J"


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, bool]]:
    """Level, text and whether there is a traceback, of each line of ours."""
    ours = [record for record in caplog.records if record.name == LOGGER]
    return [(record.levelname, record.getMessage(), bool(record.exc_info)) for record in ours]


def test_a_service_that_does_not_answer_is_one_line_with_the_ids_as_fields(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    shop.service.fails(shop.starts(), refusal(503, FORGED))
    shop.reconciles()
    [(level, text, traceback)] = lines(caplog)
    assert (level, traceback) == ("WARNING", False)
    assert text.startswith("checkout chk-1 of order o-1 could not be read: ")
    assert text.isprintable()
    fields: Any = caplog.records[-1]
    assert (fields.order_id, fields.checkout_id) == ("o-1", "chk-1")


def test_a_receiver_that_goes_on_failing_is_a_traceback_once_and_then_a_line(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    def breaks(app: Flask, **facts: Any) -> None:
        raise RuntimeError(FORGED)

    with order_paid.connected_to(breaks, sender=shop.app):
        shop.has_paid("o-1")
        shop.clock.advance(minutes=5)
        shop.has_paid("o-2")
        shop.reconciles()
    told = lines(caplog)
    assert [(level, traceback) for level, _, traceback in told] == [("ERROR", True), ("WARNING", False)]
    assert all("order_paid failed for order o-" in text and text.isprintable() for _, text, _ in told)


@pytest.mark.parametrize(
    "error", [OperationalError("SELECT 1", None, Exception("gone away\nDETAIL: row")), OSError(FORGED)]
)
def test_a_failure_that_heals_is_one_line_at_warning(caplog: pytest.LogCaptureFixture, error: Exception) -> None:
    prepare_logger()
    log = logging.getLogger(LOGGER)
    heals = isinstance(error, OSError)
    try:
        raise error
    except Exception:
        log.exception("webhook for checkout %s", FORGED, extra=about("o-1", FORGED, heals=heals))
    [(level, text, traceback)] = lines(caplog)
    assert (level, traceback) == ("WARNING", False)
    assert text.isprintable()
    assert text.endswith("gone away") or "all is well" in text


def test_what_was_not_expected_keeps_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    try:
        raise KeyError("jar")
    except KeyError:
        logging.getLogger(LOGGER).exception("order_total failed for order %s", "o-1")
    assert lines(caplog) == [("ERROR", "order_total failed for order o-1", True)]


# Fields


def breaks(app: Flask, **facts: Any) -> None:
    raise RuntimeError("the warehouse is closed")


def test_each_line_of_a_journey_has_its_ids_as_fields(
    open_shop: OpenShop, paycheckout_sandbox: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    """Every id in a line's text is a field of the record too, so that a handler need not parse our sentences."""
    sandbox = paycheckout_sandbox
    payer = Payer(open_shop(sandbox=sandbox), sandbox)
    shop = payer.shop
    sandbox.fault("POST /v1/checkout", "error", statusCode=500, times=3)
    presses_pay(shop)
    checkout_id = shop.starts()
    sandbox.fault("GET /v1/deposit/{id}", "error", statusCode=500, times=6)
    shop.browser.post("/paycheckout/webhook", json={"orderId": checkout_id})
    sandbox.advance(minutes=5)
    shop.reconciles()
    sandbox.pay(checkout_id)
    with order_paid.connected_to(breaks, sender=shop.app), payout_sent.connected_to(breaks, sender=shop.app):
        sandbox.advance(minutes=10)
        shop.reconciles()
        [event] = shop.events("order_paid")
        payer.owes("wages-1")
        sandbox.fault(FIAT, "lose_response")
        payer.sends()
        sandbox.advance(minutes=5)
        payer.sends()
    written = [{name: vars(record)[name] for name in FIELDS} for record in caplog.records if record.name == LOGGER]
    told = [text for _, text, _ in lines(caplog)]
    ids = {"order_id": "o-1", "checkout_id": checkout_id, "reference": "wages-1", "event_id": event.event_id}
    for text, fields in zip(told, written, strict=True):
        assert {name: value for name, value in ids.items() if value in text}.items() <= fields.items(), text
    for kind in ("no checkout for order", "webhook for checkout", "could not be read", "receiver", "payout"):
        assert any(kind in text for text in told), (kind, told)
    assert "wages-1" in [fields["reference"] for fields in written if fields["event_id"]]
    for secret in (CLIENT_SECRET, sandbox.config["PAYCHECKOUT_CLIENT_SECRET"], "sandbox-access-token"):
        assert secret not in caplog.text
    assert shop.attempt(checkout_id).url not in caplog.text


def test_a_format_may_name_the_fields_whichever_module_writes(
    shop: Shop, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every test of the process has this handler: the format has to go with this test.
    monkeypatch.setattr(
        caplog.handler, "formatter", logging.Formatter("%(order_id)s %(reference)s %(left_out)s %(message)s")
    )
    with caplog.at_level(logging.DEBUG, LOGGER):
        for name in (LOGGER, f"{LOGGER}.client"):
            logging.getLogger(name).debug("written by %s", name)
    assert caplog.text == f"None None None written by {LOGGER}\nNone None None written by {LOGGER}.client\n"


# Limits


@pytest.fixture
def failures(clock: Clock) -> FailureLog:
    return FailureLog(clock)


def fails(failures: FailureLog, account: str = "", error: Exception | None = None) -> None:
    failures.warning("reads", "no answer", extra=about("o-1", account=account), error=error)


def counts(caplog: pytest.LogCaptureFixture) -> list[int | None]:
    return [vars(record)["left_out"] for record in caplog.records]


def test_one_line_a_minute_counts_what_came_between(
    failures: FailureLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(61):
        fails(failures)
        clock.advance(seconds=1)
    assert counts(caplog) == [None, 59]
    assert caplog.records[-1].getMessage() == "no answer (59 more like this since 2026-01-01 12:00:00Z)"


def test_another_account_and_another_error_show_at_once(
    failures: FailureLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for account, error in (("", None), ("ada", None), ("", KeyError("a bug")), ("", KeyError("once more"))):
        fails(failures, account, error)
    assert counts(caplog) == [None, None, None]


def test_very_many_accounts_share_a_line(failures: FailureLog, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        for number in range(500):
            fails(failures, f"seller-{number}")
        clock.advance(minutes=1)
    assert len(caplog.records) <= 3 * 101
    assert 399 in counts(caplog)
    clock.advance(minutes=1)
    caplog.clear()
    fails(failures, "a new one")
    assert caplog.records, "the places of an outage that is over are free"


def test_a_clock_that_is_set_back_silences_nothing(
    failures: FailureLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    fails(failures)
    clock.advance(hours=-1)
    fails(failures)
    assert counts(caplog) == [None, None]


def test_lines_that_the_shop_does_not_want_are_not_counted(
    failures: FailureLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, LOGGER):
        fails(failures)
        fails(failures)
    with caplog.at_level(logging.WARNING, LOGGER):
        fails(failures)
    assert counts(caplog) == [None]
