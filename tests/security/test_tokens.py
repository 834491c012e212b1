"""Tokens: each has one purpose and a maximum age; keys rotate and cannot be guessed; all other tokens are refused."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from datetime import timedelta
from itertools import product

import pytest
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import ConfigurationError, PayCheckout
from flask_paycheckout.security.signed_links import PAY, REFUND, REQUEST, STATUS, SignedLinks
from tests.conftest import OpenShop
from tests.scripted import SAME_SITE, Clock, Shop, make_app
from tests.security.answers import Answer, told

DAY = timedelta(days=1)
FORM = "paycheckout_owner.resolve"


def tokens(clock: Clock, *keys: bytes) -> SignedLinks:
    """Signed links that are valid for a day, made with the last of the keys."""
    return SignedLinks(lambda: keys or [b"key"], clock, DAY)


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


def test_a_spoiled_token_opens_nothing(clock: Clock) -> None:
    """A token that is truncated, has a changed character, or is combined from two valid tokens."""
    links = tokens(clock, b"old", b"key")
    first, other = (links.sign(PAY, order_id) for order_id in ("o-1", "o-2"))
    # Decoding ignores some bits of the last characters.
    for place in range(1, len(first) - 4):
        changed = first[:place] + chr(ord(first[place]) ^ 1) + first[place + 1 :]
        for token in {first[:place], first[place:], changed, first[:place] + other[place:]} - {first, other}:
            assert links.read(PAY, token) is None, token
    assert links.read(PAY, first) == "o-1"


ROUTES = {
    "status page": ("GET", "/paycheckout/orders/{}", STATUS),
    "status JSON": ("GET", "/paycheckout/orders/{}/status", STATUS),
    "pay": ("POST", "/paycheckout/orders/{}/checkout", PAY),
    "refund": ("GET", "/paycheckout/refunds/{}", REFUND),
}


def uses(shop: Shop, route: str, token: str) -> Answer:
    """Request a route with this token, as a browser would."""
    method, path, _ = ROUTES[route]
    environ = {"PATH_INFO": path.format(token)}
    return told(shop.browser.open("/", method=method, headers=SAME_SITE, environ_overrides=environ))


def test_no_token_is_good_for_another_purpose(clock: Clock) -> None:
    links = tokens(clock)
    for made_for, used_as in product((PAY, STATUS, REFUND, REQUEST, FORM, "paycheckout_owner.keep"), repeat=2):
        expected = "o-1" if made_for == used_as else None
        assert links.read(used_as, links.sign(made_for, "o-1")) == expected, (made_for, used_as)


@pytest.mark.parametrize("fallbacks", [None, [], [""], [b""], ["", "old-key"], [None]], ids=repr)
def test_no_key_that_can_be_guessed_is_taken(open_shop: OpenShop, fallbacks: object) -> None:
    """An unset environment variable often becomes an empty fallback."""
    shop = open_shop(SECRET_KEY_FALLBACKS=fallbacks)
    for key in ("", "unit-secret-kex", "u", "none", "old-key "):
        assert not key or uses(shop, "pay", tokens(shop.clock, key.encode()).sign(PAY, "o-1")).status == 404, key


@pytest.mark.parametrize("fallbacks", ["old-key", b"old-key"])
def test_fallbacks_that_are_one_string_are_refused_at_once(fallbacks: object) -> None:
    """As a list, each character of the string would be a key."""
    app = make_app(SECRET_KEY_FALLBACKS=fallbacks)
    with pytest.raises(ConfigurationError, match=r"^SECRET_KEY_FALLBACKS is one string.*Write a list") as refused:
        PayCheckout(app, SQLAlchemy(app))
    assert "old-key" not in str(refused.value)


@pytest.mark.parametrize("keys", [{"SECRET_KEY": 1234}, {"SECRET_KEY_FALLBACKS": [1234]}], ids=repr)
def test_a_number_is_refused_as_a_key_at_once(keys: dict[str, object]) -> None:
    """Flask converts an environment variable with digits only to a number."""
    app = make_app(**keys)
    with pytest.raises(ConfigurationError, match=r"^SECRET_KEY.* must be a string, not int\. Put it in") as refused:
        PayCheckout(app, SQLAlchemy(app))
    assert "1234" not in str(refused.value)


def test_without_any_key_nothing_is_sealed_and_nothing_read(clock: Clock) -> None:
    links = tokens(clock, b"")
    with pytest.raises(ConfigurationError, match="SECRET_KEY is empty"):
        links.sign(PAY, "o-1")
    with pytest.raises(ConfigurationError, match="SECRET_KEY is empty"):
        links.read(FORM, "token")


@pytest.mark.parametrize(
    ("seconds", "status"),
    [
        pytest.param(-121, 404, id="signed more than two minutes ahead of us"),
        pytest.param(-120, 303, id="signed by a clock a minute ahead, read by one a minute behind"),
        pytest.param(90 * 86400, 303, id="90 days old"),
        pytest.param(90 * 86400 + 1, 404, id="a second older"),
    ],
)
def test_a_token_is_good_for_its_time_and_for_clocks_that_differ_by_seconds(
    shop: Shop, seconds: int, status: int
) -> None:
    token = shop.runtime.signed_links.sign(PAY, "o-1")
    shop.waits(seconds=seconds)
    assert uses(shop, "pay", token).status == status
