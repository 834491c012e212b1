"""The log: one line for a temporary failure, a traceback for an unexpected error, and no forged lines."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.exc import OperationalError

from flask_paycheckout import order_paid, payout_sent
from flask_paycheckout.wiring.logs import LOGGER, FailureLog, about, prepare_logger
from tests.payouts.paying import Payer
from tests.scripted import Clock, Shop, refusal

FORGED = "closed\r\nWARNING all is well\x1b[2J"


def breaks(app: Flask, **facts: Any) -> None:
    raise RuntimeError(FORGED)


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, bool]]:
    """The level and text of each of our lines, and whether it has a traceback."""
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
    with order_paid.connected_to(breaks, sender=shop.app):
        shop.has_paid("o-1")
        shop.waits(minutes=5)
        shop.has_paid("o-2")
        shop.reconciles()
    log_lines = lines(caplog)
    assert [(level, traceback) for level, _, traceback in log_lines] == [("ERROR", True), ("WARNING", False)]
    assert all("order_paid failed for order o-" in text and text.isprintable() for _, text, _ in log_lines)


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


# Fields


def test_an_event_of_a_payout_and_its_reference_are_fields(payer: Payer, caplog: pytest.LogCaptureFixture) -> None:
    """Every id in a line's text is a field of the record too, so that a handler need not parse our sentences."""
    payer.owes("wages-1")
    with payout_sent.connected_to(breaks, sender=payer.shop.app):
        payer.sends()
    [event] = payer.shop.events("payout_sent")
    [record] = [vars(record) for record in caplog.records if record.name == LOGGER]
    assert (record["reference"], record["event_id"], record["account"]) == ("wages-1", event.event_id, "")


def test_a_format_may_name_the_fields_whichever_module_writes(
    shop: Shop, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # All tests of the process share this handler, so the format is restored after this test.
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
