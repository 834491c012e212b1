"""Every call refuses an invalid order id in the same way, with the remedy, and never quotes it."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from flask import render_template_string

from flask_paycheckout.text import MAX_ID, require_order_id
from tests.scripted import Shop

NO_STRINGS = [7, None, b"o-1", UUID(int=1), ["o-1"], 1.5]
CONTROLS = ["\x1b[2J", "a\x7fb", "a\tb", "a\x85b"]
NO_IDS = [*CONTROLS, "", "x" * (MAX_ID + 1), "a\x00b", "\ud800", "a\nb", "a\r\nb", "a\u2028b"]
IDS = ["o-1", "ä/ö?#%", "x" * MAX_ID, "日本", " ", "1", '{"a":1}', "<b>", "\N{ZERO WIDTH JOINER}", "\N{NO-BREAK SPACE}"]


def calls(shop: Shop) -> list[Callable[..., object]]:
    """Every call that takes an order id."""
    ours = shop.paycheckout
    button = "{{ paycheckout_button(order_id) }}"
    doors: list[Callable[..., object]] = [ours.start, ours.explain, ours.pay_url, ours.status_url, ours.order_status]
    return [*doors, lambda order_id: render_template_string(button, order_id=order_id)]


def refusals(shop: Shop, order_id: object, kind: type[Exception]) -> set[str]:
    """The message of each call that refuses this order id."""
    messages = set()
    for call in calls(shop):
        with shop.app.test_request_context(), pytest.raises(kind) as refused:
            call(order_id)
        messages.add(str(refused.value))
    return messages


@pytest.mark.on_each_database
def test_an_id_that_is_no_string_is_refused_alike_by_every_call(shop: Shop) -> None:
    for order_id in NO_STRINGS:
        remedy = "a number is written as str(number), in a template number|string"
        expected = f"order_id must be a string, not {type(order_id).__name__}; {remedy}"
        assert refusals(shop, order_id, TypeError) == {expected}


@pytest.mark.on_each_database
def test_an_id_that_cannot_be_stored_or_shown_is_refused_alike_by_every_call(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    for order_id in NO_IDS:
        (message,) = refusals(shop, order_id, ValueError)
        assert message.startswith("order_id must have 1 to 255 characters")
        assert "Use a number or another plain text." in message
        assert message.isprintable(), "never raw"
    assert shop.service.created == []
    assert all(record.getMessage().isprintable() for record in caplog.records)


@pytest.mark.parametrize("order_id", IDS, ids=ascii)
def test_every_other_string_is_an_order_id(order_id: str) -> None:
    assert require_order_id(order_id) is order_id
