"""Order tokens: one purpose each, an age, keys that rotate, and nothing else gets through."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Sequence
from datetime import timedelta

import pytest
from flask import Flask

from flask_paycheckout.security.signed_links import PAY, REFUND, STATUS, SignedLinks
from tests.scripted import Clock, Shop

DAY = timedelta(days=1)


def tokens(clock: Clock, *keys: bytes) -> SignedLinks:
    """Signed links that are valid for a day, with the keys given, oldest first."""
    held: Sequence[bytes] = keys or (b"key-1",)
    return SignedLinks(lambda: held, clock, DAY)


@pytest.mark.parametrize("order_id", ["o-1", "ä/ö?#%", "x" * 255, "日本", " ", "1", '{"a":1}'])
def test_a_token_reads_as_the_order_it_was_made_for(clock: Clock, order_id: str) -> None:
    token = tokens(clock).sign(PAY, order_id)
    assert tokens(clock).read(PAY, token) == order_id
    assert token.isascii()
    assert not set(token) & set("/?#%&=+ ")


def test_an_app_that_rotates_its_secret_key_keeps_the_links_it_gave_out(shop: Shop) -> None:
    link = shop.runtime.signed_links.sign(STATUS, "o-1")
    app: Flask = shop.app
    app.config["SECRET_KEY_FALLBACKS"] = [app.secret_key]
    app.secret_key = "the-new-key"
    assert shop.runtime.signed_links.read(STATUS, link) == "o-1"
    app.config["SECRET_KEY_FALLBACKS"] = None
    assert shop.runtime.signed_links.read(STATUS, link) is None


def decoded(token: str) -> bytes:
    """All that a reader of a link gets out of its token, part by part."""
    return b"|".join(urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split("."))


def test_nobody_reads_an_order_id_out_of_a_token(clock: Clock) -> None:
    for purpose in (PAY, STATUS, REFUND):
        token = tokens(clock).sign(purpose, "order-4711")
        assert b"order-4711" not in decoded(token) + token.encode()
