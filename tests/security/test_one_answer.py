"""All invalid tokens get the same response, byte for byte, without any lookup."""

from __future__ import annotations

import hmac
from collections.abc import Callable

import pytest

from flask_paycheckout.security.signed_links import PAY, STATUS, SignedLinks
from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.security.answers import Answer, told
from tests.security.test_tokens import ROUTES, uses
from tests.test_bounds import statements


def bad_tokens(shop: Shop, route: str) -> dict[str, str]:
    """An invalid token of each kind, for orders that exist, have existed, and never existed."""
    tokens, clock, purpose = shop.runtime.signed_links, shop.clock, ROUTES[route][2]
    other = STATUS if purpose == PAY else PAY
    stranger = SignedLinks(lambda: [b"another key"], clock, shop.runtime.settings.token_max_age)
    expired = {f"expired, {order_id}": tokens.sign(purpose, order_id) for order_id in ("o-1", "o-2", "o-404")}
    clock.advance(days=91)
    good = tokens.sign(purpose, "o-1")
    return expired | {
        "an order's id": "o-1",
        "empty parts": "..",
        "long": "x" * 4000,
        "of another purpose": tokens.sign(other, "o-1"),
        "of another key": stranger.sign(purpose, "o-1"),
        "tampered": f"{good[:40]}{tokens.sign(purpose, 'o-2')[40:]}",
        "cut": good[:-5],
        "not text": "\udcff\udcfe".encode("utf-8", "surrogateescape").decode("latin-1"),
        "NUL": f"{good}\x00",
    }


@pytest.mark.parametrize("route", ROUTES)
def test_every_bad_token_gets_the_same_bytes_and_nothing_is_looked_up(shop: Shop, route: str) -> None:
    """They also take the same time: none causes a statement, a call to the service or one of the shop's functions."""
    shop.has_paid("o-2")
    shop.starts("o-1")
    shop.service.reads.clear()
    shop.service.created.clear()
    calls: list[object] = []
    shop.paycheckout.order_total(lambda order_id: calls.append(order_id))
    tokens = bad_tokens(shop, route)
    with statements(shop) as seen:
        answers = {kind: uses(shop, route, token) for kind, token in tokens.items()}
        assert (seen, shop.service.reads, shop.service.created, calls) == ([], [], [], [])
        uses(shop, route, shop.runtime.signed_links.sign(ROUTES[route][2], "o-1"))
        assert seen, "a good one is looked up"
    assert {answer.status for answer in answers.values()} == {404}
    assert len(set(answers.values())) == 1, answers


SECRET = "wh-secret-0123456789"
WRONG_SECRETS = ("x", SECRET[:-1], f"{SECRET}x", f"x{SECRET[1:]}", SECRET.upper(), "\xe9", "\x00", "%00", " ")


def knocks(shop: Shop, path: str) -> Answer:
    environ = {"PATH_INFO": f"/paycheckout/webhook{path}"}
    return told(shop.browser.post("/", json={"orderId": "chk-1"}, environ_overrides=environ))


def test_every_wrong_webhook_secret_gets_one_answer_and_none_tells_that_there_is_a_secret(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_WEBHOOK_SECRET=SECRET)
    answers = {knocks(shop, f"/{secret}") for secret in WRONG_SECRETS} | {knocks(shop, ""), knocks(shop, "/")}
    answers.add(knocks(shop, f"/{SECRET}/x"))
    answers.add(knocks(open_shop("open"), "/x"))
    assert [answer.status for answer in answers] == [404]
    assert knocks(shop, f"/{SECRET}").status == 200


@pytest.mark.parametrize("secret", [SECRET, "x"])
def test_the_webhook_secret_is_compared_in_constant_time(
    open_shop: OpenShop, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = open_shop(PAYCHECKOUT_WEBHOOK_SECRET=SECRET)
    compared: list[tuple[bytes, bytes]] = []
    compare: Callable[[bytes, bytes], bool] = hmac.compare_digest

    def watched(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", watched)
    assert knocks(shop, f"/{secret}").status == (200 if secret == SECRET else 404)
    assert [other for _, other in compared] == [SECRET.encode()]
