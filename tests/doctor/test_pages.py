"""The doctor's checks of our routes: customers and the service reach them, and they keep their headers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Response, redirect
from sqlalchemy import Column, Integer, Table

from tests.conftest import OpenShop
from tests.doctor.examining import PUBLIC, about, worst
from tests.scripted import Shop


@pytest.fixture
def shop(open_shop: OpenShop) -> Shop:
    return open_shop(**PUBLIC, prepare=lambda db: Table("visit", db.metadata, Column("id", Integer)))


def test_pages_that_answer_and_keep_their_headers_are_well(shop: Shop) -> None:
    shop.app.after_request(lambda response: response.headers.setdefault("X-Own", "1") and response)
    [check] = about(shop, "pages")
    assert (check.found, check.remedy) == ("a status page and a pay button answer, and keep their headers", None)
    assert shop.attempts() == shop.service.created == []


@pytest.mark.parametrize("name", ["Content-Security-Policy", "X-Frame-Options", "Cache-Control", "Referrer-Policy"])
def test_a_header_that_the_shop_replaces_is_named(shop: Shop, name: str) -> None:
    @shop.app.after_request
    def replace(response: Response) -> Response:
        response.headers[name] = "same-origin"
        return response

    assert f"replaces headers of our pages: {name};" in worst(shop, "pages").found


def adds_a_row(shop: Shop) -> None:
    shop.db.session.execute(shop.db.metadata.tables["visit"].insert().values(id=1))


def fails(shop: Shop) -> None:
    raise LookupError("in each request")


@pytest.mark.parametrize("testing", [True, False])
@pytest.mark.parametrize(
    ("hook", "subject", "text", "remedy"),
    [
        (lambda shop: redirect("https://shop.example/login"), "status page", "answered 302", "a login"),
        (lambda shop: redirect("https://shop.example/login"), "pay button", "answered 302", "a login"),
        (adds_a_row, "pay button", "raised UncommittedChanges", "Commit"),
        (fails, "status page", "raised LookupError", "before_request"),
        (lambda shop: "Back in five minutes", "webhook", "is never called", "maintenance"),
    ],
)
def test_the_shops_functions_before_each_route(
    shop: Shop, hook: Callable[[Shop], Any], subject: str, text: str, remedy: str, testing: bool
) -> None:
    shop.app.testing = testing
    shop.app.before_request(lambda: hook(shop))
    check = worst(shop, subject)
    assert check.level == "failure"
    assert text in check.found
    assert remedy in str(check.remedy)


def test_a_shop_that_prices_every_order_gets_no_checkout(shop: Shop) -> None:
    shop.paycheckout.order_total(lambda order_id: shop.totals["o-1"])
    assert about(shop, "pages")[0].remedy is None
    assert shop.service.created == []
