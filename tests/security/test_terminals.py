"""Commands escape untrusted text, so that it cannot send escape sequences, forge lines or change text direction."""

from __future__ import annotations

import pytest
from flask import Flask

from flask_paycheckout import order_pending
from flask_paycheckout.text import visible
from tests.conftest import OpenShop
from tests.scripted import Service, Shop, refusal

# Clears the screen, sets the window title, returns to the line's start, reverses the text, and forges a line.
HOSTILE = "a\x1b[2J\x1b]0;b\x07\r\u202ec\u2066\x9b31m\x00\x7f\nOrder o-1: paid."
COMMANDS = ("show o-1", "show o-1 --json", "report", "report --json", "doctor", "doctor --json", "reconcile")


def obeyed(text: str) -> list[str]:
    """The control characters in a text, except line breaks."""
    return [sign for sign in text if not sign.isprintable() and sign != "\n"]


@pytest.fixture
def hostile(shop: Shop) -> Shop:
    """A shop that has the text from the service, a receiver, and the person who decided."""

    def fails(app: Flask, **facts: object) -> None:
        raise ValueError(HOSTILE)

    with order_pending.connected_to(fails):
        for order_id in ("o-1", "o-2"):
            checkout_id = shop.starts(order_id)
            shop.service.says(checkout_id, HOSTILE.replace("\0", ""))
            shop.settles(checkout_id)
            shop.service.says(checkout_id, "completed", inputCurrency=HOSTILE.replace("\0", ""))
            shop.settles(checkout_id)
    shop.resolves(shop.attempts("o-1")[0].checkout_id, accept=False, by=HOSTILE, why=HOSTILE)
    shop.starts("o-1")
    shop.service.fails(shop.attempts("o-1")[1].checkout_id, refusal(400, HOSTILE))
    return shop


def test_no_command_prints_what_a_terminal_would_obey_and_what_was_written_is_still_told(hostile: Shop) -> None:
    for command in COMMANDS:
        text = hostile.runs(*command.split()).output
        assert text, command
        assert obeyed(text) == [], command
        assert "\nOrder o-1: paid." not in text, command
    text = hostile.runs("show", "o-1").output
    assert r"a\x1b[2J\x1b]0;b\x07\r\u202ec\u2066\x9b31m\x7f\nOrder o-1: paid." in text
    assert "rejected the held payment" in text
    assert r"\x1b[2J" in hostile.runs("report").output


def test_an_order_that_is_asked_for_and_a_payment_that_is_decided_are_names_only(shop: Shop) -> None:
    turned = "a\u202ec\u2066: paid."
    shop.costs("12.50", turned)
    checkout_id = shop.has_held(turned)
    decision = ("resolve", checkout_id, "--reject", "--by", "Ada", "--why", "wrong")
    for command in (("show", turned), ("show", HOSTILE.replace("\0", "")), decision, decision):
        text = shop.runs(*command).output
        assert text
        assert obeyed(text) == []


def test_an_access_token_that_no_header_takes_is_not_printed(open_shop: OpenShop, service: Service) -> None:
    service.instead_of_created = [
        b'{"status": 200, "data": {"verificationToken": "v"}}',
        b'{"status": 200, "data": {"accessToken": "quiet\\u001b[2J"}}',
    ]
    text = open_shop().runs("login", "--email", "a@b.c", input="p\n1\n").output
    assert "access token may hold printable ASCII only" in text
    assert "quiet" not in text


def test_text_of_any_language_is_printed_unchanged_and_half_a_surrogate_pair_stops_nothing() -> None:
    plain = "Zoë Quist, 12.50 € 訂單 😀 a\u0301"
    assert visible(f"{plain}\ud800") == rf"{plain}\ud800"
