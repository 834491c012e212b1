"""The webhook's route: it parses strictly, reveals nothing, and answers 200 only for webhooks that are stored."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from itertools import product

import httpx
import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError
from werkzeug.test import TestResponse

from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.security.answers import told

PATH = "/paycheckout/webhook"


def hooks(shop: Shop, checkout_id: str, **more: object) -> TestResponse:
    return shop.browser.post(PATH, json={"orderId": checkout_id, **more})


def test_the_webhooks_own_content_is_not_evidence(shop: Shop) -> None:
    checkout_id = shop.has_deposit("pending")
    hooks(shop, checkout_id, status="completed", amount=12.5)
    assert shop.attempt(checkout_id).status == "pending"


def test_half_an_emoji_in_a_field_loses_no_webhook(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")
    # JavaScript writes a truncated text like this.
    body = f'{{"memo": "\\ud83d", "orderId": "{checkout_id}"}}'
    assert shop.browser.post(PATH, data=body).status_code == 200
    assert shop.attempt(checkout_id).status == "paid"
    for body, status in (('{"orderId": "\\ud83d"}', 400), ('{"orderId": 7, "memo": "\\ud83d"}', 400)):
        assert shop.browser.post(PATH, data=body).status_code == status


AWAY = OperationalError("SELECT secret", None, Exception("server closed the connection"))


@contextmanager
def database_down(shop: Shop, error: Exception = AWAY) -> Iterator[None]:
    """Let every statement fail, as without a server, or with another error."""

    def fail(*call: object) -> None:
        raise error

    engine = shop.runtime.engine()
    event.listen(engine, "before_cursor_execute", fail)
    yield
    event.remove(engine, "before_cursor_execute", fail)


def test_a_webhook_that_could_not_be_stored_is_a_503_and_comes_again(shop: Shop) -> None:
    checkout_id = shop.has_deposit("completed")
    with database_down(shop):
        answer = hooks(shop, checkout_id)
    assert (answer.status_code, answer.get_json()) == (503, {"error": "not stored, send it again"})
    assert hooks(shop, checkout_id).status_code == 200
    assert shop.attempt(checkout_id).status == "paid"


SECRET = "wh-secret-1"


def test_a_chunked_webhook_is_read_behind_an_asgi_server(shop: Shop) -> None:
    a2wsgi = pytest.importorskip("a2wsgi")
    checkout_id = shop.has_deposit("completed")

    async def chunks(body: bytes) -> AsyncIterator[bytes]:
        yield body[:9]
        yield body[9:]

    async def sends() -> list[int]:
        transport = httpx.ASGITransport(app=a2wsgi.WSGIMiddleware(shop.app))
        async with httpx.AsyncClient(transport=transport, base_url="http://shop.test") as service:
            bodies = json.dumps({"orderId": checkout_id}).encode(), b"{" + b" " * 70_000
            return [(await service.post("/paycheckout/webhook", content=chunks(body))).status_code for body in bodies]

    assert asyncio.run(sends()) == [200, 413]
    assert shop.attempt(checkout_id).status == "paid"


def test_no_method_but_post_tells_whether_there_is_a_secret(open_shop: OpenShop) -> None:
    with_secret, without = open_shop("with", PAYCHECKOUT_WEBHOOK_SECRET=SECRET), open_shop("without")
    for method, path in product(("GET", "HEAD", "OPTIONS", "PUT"), ("", "/", f"/{SECRET}", "/x", "/x/y")):
        answers = [told(shop.browser.open(PATH + path, method=method)) for shop in (with_secret, without)]
        assert answers[0] == answers[1], (method, path)
        assert answers[0].status in (200, 404, 405)


def test_a_secret_is_replaced_without_losing_a_webhook(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_WEBHOOK_SECRET=["new", "old"])
    with shop.app.app_context():
        assert shop.paycheckout.webhook_url().endswith("/webhook/new")
    answers = [shop.browser.post(f"{PATH}/{secret}", json={"orderId": "x"}) for secret in ("new", "old", "older")]
    assert [answer.status_code for answer in answers] == [200, 200, 404]
    assert shop.browser.post(PATH, json={"orderId": "x"}).status_code == 404


def test_a_page_of_the_shop_for_all_errors_does_not_answer_the_service(shop: Shop) -> None:
    shop.app.register_error_handler(Exception, lambda error: ("Sorry.", 500))
    assert [shop.browser.post(PATH, data=b"x" * size).status_code for size in (70_000, 10)] == [413, 400]
