"""Tokens: one purpose each, an age, keys that rotate and cannot be guessed, and nothing else gets through."""

from __future__ import annotations

import hashlib
from base64 import urlsafe_b64decode
from datetime import timedelta
from itertools import permutations

import pytest
from flask_sqlalchemy import SQLAlchemy
from itsdangerous import TimestampSigner, URLSafeTimedSerializer

from flask_paycheckout import ConfigurationError, PayCheckout
from flask_paycheckout.security.signed_links import PAY, REFUND, REQUEST, STATUS, SignedLinks
from tests.conftest import OpenShop
from tests.scripted import SAME_SITE, Clock, Shop, make_app
from tests.security.answers import Answer, told

DAY = timedelta(days=1)
FORM = "paycheckout_owner.resolve"
# The salts of Flask's sessions, Flask-WTF and itsdangerous itself; one SECRET_KEY signs for all of them.
FOREIGN_SALTS = ("cookie-session", "wtf-csrf-token", "itsdangerous", "paycheckout", "")


def tokens(clock: Clock, *keys: bytes) -> SignedLinks:
    """Signed links that are valid for a day, made with the last of the keys."""
    return SignedLinks(lambda: keys or [b"key"], clock, DAY)


def signed(key: str | bytes, salt: str, order_id: str, clock: Clock, digest: object = hashlib.sha256) -> str:
    """A form's token, as somebody who has a key would make it with itsdangerous."""

    class Signer(TimestampSigner):
        def get_timestamp(self) -> int:
            return int(clock().timestamp())

    arguments = {"key_derivation": "hmac", "digest_method": digest}
    return str(URLSafeTimedSerializer(key, salt=salt, signer=Signer, signer_kwargs=arguments).dumps(order_id))


@pytest.mark.parametrize("order_id", ["o-1", "ä/ö?#%", "x" * 255, "日本", " ", "1", '{"a":1}'])
def test_a_token_reads_as_the_order_it_was_made_for(clock: Clock, order_id: str) -> None:
    token = tokens(clock).sign(PAY, order_id)
    assert tokens(clock).read(PAY, token) == order_id
    assert token.isascii()
    assert not set(token) & set("/?#%&=+ ")


def test_an_app_that_rotates_its_secret_key_keeps_the_links_it_gave_out(shop: Shop) -> None:
    link = shop.runtime.signed_links.sign(STATUS, "o-1")
    app = shop.app
    app.config["SECRET_KEY_FALLBACKS"] = [app.secret_key]
    app.secret_key = "the-new-key"
    assert shop.runtime.signed_links.read(STATUS, link) == "o-1"
    app.config["SECRET_KEY_FALLBACKS"] = None
    assert shop.runtime.signed_links.read(STATUS, link) is None


def test_nobody_reads_an_order_id_out_of_a_token(clock: Clock) -> None:
    for purpose in (PAY, STATUS, REFUND):
        token = tokens(clock).sign(purpose, "order-4711")
        decoded = b"|".join(urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split("."))
        assert b"order-4711" not in decoded + token.encode()


@pytest.mark.parametrize("purpose", [PAY, FORM], ids=["sealed", "signed"])
def test_a_spoiled_token_opens_nothing(clock: Clock, purpose: str) -> None:
    """Cut anywhere, with any character changed, or put together from two good ones."""
    links = tokens(clock, b"old", b"key")
    one, other = (links.sign(purpose, order_id) for order_id in ("o-1", "o-2"))
    # Decoding ignores some bits of the last characters.
    for place in range(1, len(one) - 4):
        changed = one[:place] + chr(ord(one[place]) ^ 1) + one[place + 1 :]
        for token in {one[:place], one[place:], changed, one[:place] + other[place:]} - {one, other}:
            assert links.read(purpose, token) is None, token
    assert links.read(purpose, one) == "o-1"


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


@pytest.mark.parametrize(
    ("made_for", "used_as"), [*permutations([PAY, STATUS, FORM, REFUND, REQUEST, *FOREIGN_SALTS], 2)]
)
def test_no_token_is_good_for_another_purpose(clock: Clock, made_for: str, used_as: str) -> None:
    links = tokens(clock)
    token = links.sign(made_for, "o-1")
    assert links.read(made_for, token) == "o-1"
    for each in (token, signed(b"key", made_for, "o-1", clock)):
        assert links.read(used_as, each) is None


@pytest.mark.parametrize("digest", [hashlib.md5, hashlib.sha1, hashlib.sha512], ids=["md5", "sha1", "sha512"])
def test_only_one_algorithm_signs(clock: Clock, digest: object) -> None:
    assert tokens(clock).read(FORM, signed(b"key", FORM, "o-1", clock, digest)) is None


@pytest.mark.parametrize("fallbacks", [None, [], [""], [b""], ["", "old-key"], [None]], ids=repr)
def test_no_key_that_can_be_guessed_is_taken(open_shop: OpenShop, fallbacks: object) -> None:
    """A variable of the environment that is not set often ends as an empty fallback."""
    shop = open_shop(SECRET_KEY_FALLBACKS=fallbacks)
    for key in ("", "unit-secret-kex", "u", "none", "old-key "):
        assert not key or uses(shop, "pay", tokens(shop.clock, key.encode()).sign(PAY, "o-1")).status == 404, key
        assert shop.runtime.signed_links.read(FORM, signed(key, FORM, "o-1", shop.clock)) is None, key


@pytest.mark.parametrize("fallbacks", ["old-key", b"old-key"])
def test_fallbacks_that_are_one_string_are_refused_at_once(fallbacks: object) -> None:
    """Read as a list, each of its letters would be a key."""
    app = make_app(SECRET_KEY_FALLBACKS=fallbacks)
    with pytest.raises(ConfigurationError, match=r"^SECRET_KEY_FALLBACKS is one string.*Write a list") as refused:
        PayCheckout(app, SQLAlchemy(app))
    assert "old-key" not in str(refused.value)


@pytest.mark.parametrize("keys", [{"SECRET_KEY": 1234}, {"SECRET_KEY_FALLBACKS": [1234]}], ids=repr)
def test_a_number_is_refused_as_a_key_at_once(keys: dict[str, object]) -> None:
    """Flask reads a variable of the environment that holds digits as a number."""
    app = make_app(**keys)
    with pytest.raises(ConfigurationError, match=r"^SECRET_KEY.* must be a string, not int\. Put it in") as refused:
        PayCheckout(app, SQLAlchemy(app))
    assert "1234" not in str(refused.value)


def test_without_any_key_nothing_is_sealed_and_nothing_read(clock: Clock) -> None:
    links = tokens(clock, b"")
    with pytest.raises(ConfigurationError, match="SECRET_KEY is empty"):
        links.sign(PAY, "o-1")
    with pytest.raises(ConfigurationError, match="SECRET_KEY is empty"):
        links.read(FORM, signed(b"", FORM, "o-1", clock))


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
    sign, read = shop.runtime.signed_links.sign, shop.runtime.signed_links.read
    token, form = sign(PAY, "o-1"), sign(FORM, "o-1")
    shop.clock.advance(seconds=seconds)
    assert uses(shop, "pay", token).status == status
    assert read(FORM, form) == (None if status == 404 else "o-1")
