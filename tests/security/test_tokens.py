"""Attacks on tokens: damaged ones, tokens for other purposes, and keys that are easy to guess."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import timedelta
from itertools import permutations

import pytest
from cryptography.fernet import Fernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import ConfigurationError, PayCheckout
from flask_paycheckout.security.signed_links import PAY, REFUND, REQUEST, RESOLVE, STATUS, SignedLinks
from tests.conftest import OpenShop
from tests.scripted import SAME_SITE, Clock, Shop, make_app
from tests.security.answers import Answer, told

DAY = timedelta(days=1)


def sealed(key: str, purpose: str, order_id: str, clock: Clock) -> str:
    """A token as somebody who has a key would make it."""
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode()).derive(key.encode())
    at = int(clock().timestamp())
    return Fernet(urlsafe_b64encode(derived)).encrypt_at_time(order_id.encode(), at).decode().rstrip("=")


def test_a_spoiled_token_opens_nothing(clock: Clock) -> None:
    """Cut anywhere, with any character changed, or put together from two good ones."""
    tokens = SignedLinks(lambda: [b"old", b"key"], clock, max_age=DAY)
    one, other = (sealed("key", PAY, order_id, clock) for order_id in ("o-1", "o-2"))
    # Decoding ignores some bits of the last characters.
    for place in range(1, len(one) - 4):
        changed = one[:place] + chr(ord(one[place]) ^ 1) + one[place + 1 :]
        for token in {one[:place], one[place:], changed, one[:place] + other[place:]} - {one, other}:
            assert tokens.read(PAY, token) is None, token
    assert tokens.read(PAY, one) == "o-1"


ROUTES = {
    "status page": ("GET", "/paycheckout/orders/{}", STATUS),
    "status JSON": ("GET", "/paycheckout/orders/{}/status", STATUS),
    "pay": ("POST", "/paycheckout/orders/{}/checkout", PAY),
}


def uses(shop: Shop, route: str, token: str) -> Answer:
    """Request a route with this token, as a browser would."""
    method, path, _ = ROUTES[route]
    environ = {"PATH_INFO": path.format(token)}
    return told(shop.browser.open("/", method=method, headers=SAME_SITE, environ_overrides=environ))


@pytest.mark.parametrize(("made_for", "used_as"), [*permutations([PAY, STATUS, RESOLVE, REFUND, REQUEST], 2)])
def test_no_token_is_good_for_another_purpose(clock: Clock, made_for: str, used_as: str) -> None:
    tokens = SignedLinks(lambda: [b"key"], clock, DAY)
    token = tokens.sign(made_for, "o-1")
    assert (tokens.read(made_for, token), tokens.read(used_as, token)) == ("o-1", None)


@pytest.mark.parametrize("fallbacks", [None, [], [""], [b""], ["", "old-key"], [None]], ids=repr)
def test_no_key_that_can_be_guessed_is_taken(open_shop: OpenShop, fallbacks: object) -> None:
    """A variable of the environment that is not set often ends as an empty fallback."""
    shop = open_shop(SECRET_KEY_FALLBACKS=fallbacks)
    for key in ("", "unit-secret-kex", "u", "none", "old-key "):
        assert uses(shop, "pay", sealed(key, PAY, "o-1", shop.clock)).status == 404, key


@pytest.mark.parametrize("fallbacks", ["old-key", b"old-key"])
def test_fallbacks_that_are_one_string_are_refused_at_once(fallbacks: object) -> None:
    """Read as a list, each of its letters would be a key."""
    app = make_app(SECRET_KEY_FALLBACKS=fallbacks)
    with pytest.raises(ConfigurationError, match=r"^SECRET_KEY_FALLBACKS is one string.*Write a list") as refused:
        PayCheckout(app, SQLAlchemy(app))
    assert "old-key" not in str(refused.value)


def test_without_any_key_nothing_is_sealed_and_nothing_read(clock: Clock) -> None:
    tokens = SignedLinks(lambda: [b""], clock, DAY)
    with pytest.raises(ConfigurationError, match="SECRET_KEY is empty"):
        tokens.sign(PAY, "o-1")
    with pytest.raises(ConfigurationError, match="SECRET_KEY is empty"):
        tokens.read(PAY, sealed("key", PAY, "o-1", clock))


@pytest.mark.parametrize(
    ("seconds", "status"),
    [
        pytest.param(-31, 404, id="signed 31 s ahead of us"),
        pytest.param(-30, 303, id="signed 30 s ahead of us"),
        pytest.param(90 * 86400, 303, id="90 days old"),
        pytest.param(90 * 86400 + 1, 404, id="a second older"),
    ],
)
def test_a_token_is_good_for_its_time_and_for_clocks_that_differ_by_seconds(
    shop: Shop, seconds: int, status: int
) -> None:
    token = shop.runtime.signed_links.sign(PAY, "o-1")
    shop.clock.advance(seconds=seconds)
    assert uses(shop, "pay", token).status == status
