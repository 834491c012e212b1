"""Security headers of every response, and the check that forms come from the shop's own site."""

from __future__ import annotations

import re

import pytest
from flask import Response

from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.views.pages import PRODUCTION, opens, pay_path, status_path


def test_other_descriptions_of_the_shops_routes_leave_ours_out(shop: Shop) -> None:
    """APIFlask asks each blueprint with functions before requests, and fails where it has no answer."""
    shop.app.register_blueprint(shop.paycheckout.owner_view(lambda: "Ada"))
    ours = [shop.app.blueprints[name] for name in shop.app.before_request_funcs if name]
    assert [getattr(blueprint, "enable_openapi", None) for blueprint in ours] == [False, False]


def test_pages_are_html_in_a_shop_whose_responses_are_json_by_default(shop: Shop) -> None:
    shop.app.response_class = type("Json", (Response,), {"default_mimetype": "application/json"})
    shop.app.register_blueprint(shop.paycheckout.owner_view(lambda: "Ada"))
    for answer in (opens(shop), *(shop.browser.get(f"/paycheckout/owner{path}") for path in ("", "/order"))):
        assert answer.content_type == "text/html; charset=utf-8", answer.request.path
        assert "script-src 'nonce-" in answer.headers["Content-Security-Policy"]


def test_each_answer_has_a_nonce_of_its_own_and_its_scripts_carry_it(shop: Shop) -> None:
    """This also holds in one application context, which tests of shops keep open for all their requests."""
    seen = set()
    with shop.app.app_context():
        for _ in range(3):
            answer = opens(shop)
            (nonce,) = set(re.findall(r"'nonce-([\w-]+)'", answer.headers["Content-Security-Policy"]))
            assert re.findall(r'<script nonce="([\w-]+)"', answer.text) == [nonce]
            seen.add(nonce)
    assert len(seen) == 3


@pytest.mark.parametrize(
    ("config", "targets"),
    [
        ({}, "'self' https:"),
        (
            {"PAYCHECKOUT_CHECKOUT_ORIGINS": ["https://a.example", "https://b.example"]},
            "'self' https://a.example https://b.example",
        ),
        ({"PAYCHECKOUT_BASE_URL": "http://127.0.0.1:8790"}, "'self' https: http://127.0.0.1:* http://localhost:*"),
    ],
    ids=["https anywhere", "listed origins", "a sandbox on this machine"],
)
def test_a_form_may_lead_to_the_payment_pages_and_nowhere_else(
    open_shop: OpenShop, config: dict[str, object], targets: str
) -> None:
    shop = open_shop(**config)
    policy = opens(shop).headers["Content-Security-Policy"]
    assert policy.rpartition("form-action ")[2] == targets


@pytest.mark.parametrize("mode", ["TESTING", "DEBUG"])
def test_a_client_that_says_neither_is_taken_in_tests_and_debugging(open_shop: OpenShop, mode: str) -> None:
    shop = open_shop(**{"TESTING": False, mode: True})
    for origin, status in {None: 303, "null": 303, "https://evil.example": 403}.items():
        answer = shop.browser.post(pay_path(shop), headers={"Origin": origin} if origin else {})
        assert answer.status_code == status, origin


def test_the_refusal_comes_before_any_look_at_the_order(open_shop: OpenShop) -> None:
    """Another site must not learn anything about a token by sending it."""
    shop = open_shop(**PRODUCTION)
    paths = [pay_path(shop), "/paycheckout/orders/forged/checkout"]
    answers = [shop.browser.post(path, headers={"Sec-Fetch-Site": "cross-site"}) for path in paths]
    assert [answer.status_code for answer in answers] == [403, 403]
    assert answers[0].data == answers[1].data


@pytest.mark.parametrize(
    ("header", "first", "expected"),
    [("Accept", "a/b", "application/json"), ("Accept-Language", "fr", "de")],
    ids=["page or JSON", "language"],
)
def test_only_the_beginning_of_a_visitors_preferences_is_read(
    shop: Shop, header: str, first: str, expected: str
) -> None:
    """Parsing a header of 250 KiB would take longer than rendering the page."""

    def gets(times: int) -> str:
        answer = shop.browser.get(status_path(shop), headers={header: ",".join([first] * times + [expected])})
        return f"{answer.mimetype} {answer.headers.get('Content-Language')}"

    assert gets(10) != gets(1_000) == "text/html en"
