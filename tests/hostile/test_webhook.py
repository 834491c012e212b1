"""Ten thousand hostile posts to the webhook change nothing, cost no read, break nothing, and learn nothing."""

from __future__ import annotations

import io
from typing import Any

import pytest
from flask import Flask
from werkzeug.test import create_environ, run_wsgi_app

from flask_paycheckout import Pay
from tests.books.conftest import contents
from tests.chance import seed_of, stream
from tests.conftest import OpenShop
from tests.hostile.posts import CARRIERS, Post, draw
from tests.scripted import Shop
from tests.security.answers import Answer, answer_of
from tests.views.pages import PRODUCTION

EVERY_CHANGE = 10_000
PATH = "/paycheckout/webhook"


def knock(app: Flask, post: Post) -> Answer:
    """Send one post."""
    environ = create_environ(
        PATH,
        "https://shop.example",
        method="POST",
        input_stream=io.BytesIO(post.body),
        content_type="application/json",
    )
    if post.chunked:
        del environ["CONTENT_LENGTH"]
        environ |= {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}
    body, status, headers = run_wsgi_app(app, environ | post.headers, buffered=True)
    return answer_of(int(status.split()[0]), headers, b"".join(body))


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    """A shop with an order in each state: open and abandoned ones can still be read, the others are final."""
    shop = open_shop(**PRODUCTION)
    shop.totals |= {f"o-{number}": Pay("12.50", "USD") for number in range(1, 6)}
    shop.has_paid("o-2")
    shop.has_held("o-3")
    shop.has_rejected("o-4")
    abandoned = shop.starts("o-5")
    shop.service.says(abandoned, "failed")
    assert shop.settles(abandoned).status == "abandoned"
    shop.starts("o-1")
    shop.service.reads.clear()
    return shop


def known(shop: Shop, order_id: str = "o-1") -> str:
    return str(shop.attempts(order_id)[0].checkout_id)


def attack(shop: Shop, seed: int, count: int) -> None:
    chance = stream(seed, "hostile posts")
    before, own = contents(shop), known(shop)
    answers: dict[tuple[int, str], Answer] = {}
    for number in range(count):
        post = draw(chance, own)
        answer = knock(shop.app, post)
        assert answer.status == post.status, f"{answer} to {post}, with --randomly-seed={seed}"
        # One answer for each status; the framework answers an incomplete body.
        group = (answer.status, post.kind if post.kind == "short" else "")
        assert answer == answers.setdefault(group, answer), f"{post}, with --randomly-seed={seed}"
        if number % 1000 == 0:
            assert contents(shop) == before, f"with --randomly-seed={seed}"
    assert contents(shop) == before, f"with --randomly-seed={seed}"
    assert shop.service.reads == []


def test_hostile_posts_change_nothing(shop: Shop, pytestconfig: pytest.Config) -> None:
    attack(shop, seed_of(pytestconfig), EVERY_CHANGE)


@pytest.mark.parametrize("carrier", CARRIERS, ids=lambda carrier: carrier.__name__.strip("_"))
def test_the_answer_does_not_tell_whether_an_id_is_known(shop: Shop, carrier: Any, pytestconfig: pytest.Config) -> None:
    seed = seed_of(pytestconfig)
    ids = ["nobody-knows-this", "x" * 300, *(known(shop, f"o-{number}") for number in range(1, 6))]
    answers = {knock(shop.app, carrier(stream(seed, "carrier"), id_)) for id_ in ids}
    assert len(answers) == 1, answers
