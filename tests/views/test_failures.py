"""Failures of the shop's own code while one of our pages is rendered: customers get a page, and no log has a link."""

from __future__ import annotations

import logging
from typing import NoReturn

import pytest
from flask import Response
from flask_babel import Babel  # type: ignore[import-untyped]  # it has no types
from werkzeug.exceptions import HTTPException

from tests.conftest import OpenShop
from tests.scripted import SAME_SITE, Shop
from tests.views.owner import opens_view
from tests.views.pages import PRODUCTION, heading, opens, pay_path, presses_pay, status_path
from tests.views.test_templates import writes


class Broken(Exception):
    """Raised by the shop."""


def breaks() -> NoReturn:
    raise Broken("at this moment")


@pytest.fixture
def live(open_shop: OpenShop) -> Shop:
    return open_shop(**PRODUCTION)


@pytest.mark.parametrize("broken", ["context processor", "template"])
def test_a_page_is_shown_in_our_own_frame_while_the_shops_is_broken(live: Shop, broken: str) -> None:
    if broken == "template":
        writes(live, base="{{ 1 / 0 }}{% block main %}{% endblock %}")
    else:
        live.app.context_processor(breaks)
    page = opens(live)
    assert (page.status_code, heading(page.text)) == (200, "Not paid yet")
    assert "paycheckout.css" in page.text
    assert presses_pay(live).status_code == 303


def test_a_page_is_in_the_browsers_language_while_the_shops_locale_cannot_be_found(live: Shop) -> None:
    Babel(live.app, locale_selector=breaks)
    assert heading(opens(live, language="de").text) == "Noch nicht bezahlt"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unhandled_error_is_a_page_and_a_problem_of_ours(
    live: Shop, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    caplog.set_level(logging.DEBUG)
    live.app.before_request(breaks)
    path = status_path(live) if method == "GET" else pay_path(live)
    page = live.browser.open(path, method=method, headers=SAME_SITE)
    assert (page.status_code, heading(page.text)) == (503, "This page cannot be shown right now")
    assert "Retry-After" not in page.headers
    problem = live.browser.open(path, method=method, headers={**SAME_SITE, "Accept": "application/json"})
    assert (problem.status_code, problem.mimetype) == (503, "application/problem+json")
    assert problem.get_json()["code"] == "shop_failed"
    assert "at this moment" in caplog.text
    assert path.split("/")[3] not in caplog.text


def test_the_owner_gets_an_error_page_while_the_shop_is_broken(live: Shop) -> None:
    opens_view(live)
    live.app.context_processor(breaks)
    page = live.browser.get("/paycheckout/owner/")
    assert (page.status_code, page.mimetype) == (500, "text/html")
    assert live.browser.get("/paycheckout/owner/order?id=unknown").status_code == 404


def test_a_developer_sees_the_error_itself(shop: Shop) -> None:
    shop.app.context_processor(breaks)
    with pytest.raises(Broken):
        opens(shop)


def test_a_refusal_of_the_shops_is_answered_by_the_shop(live: Shop) -> None:
    def refuse(error: HTTPException) -> Response:
        return Response("the shop's own page", error.code)

    live.app.register_error_handler(HTTPException, refuse)
    answer = live.browser.post(pay_path(live), headers={"Origin": "https://evil.example"})
    assert (answer.status_code, answer.text) == (403, "the shop's own page")
