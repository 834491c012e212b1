"""The log: one line for a failure that passes, a traceback for an unexpected error, and no forged lines."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.exc import OperationalError

from flask_paycheckout import order_paid
from flask_paycheckout.checkouts.logs import LOGGER, about
from tests.scripted import Shop, refusal

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
    assert [(level, traceback) for level, _, traceback in told] == [("ERROR", True)] + [("WARNING", False)] * 3
    assert all("order_paid failed for order o-" in text and text.isprintable() for _, text, _ in told)


@pytest.mark.parametrize(
    "error", [OperationalError("SELECT 1", None, Exception("gone away\nDETAIL: row")), OSError(FORGED)]
)
def test_a_failure_that_heals_is_one_line_at_warning(caplog: pytest.LogCaptureFixture, error: Exception) -> None:
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
