"""The page of a payment request, and the owner's page that lists, makes and withdraws them."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from werkzeug.test import TestResponse

from flask_paycheckout import Account, Pay
from flask_paycheckout.security.signed_links import REQUEST, STATUS
from flask_paycheckout.views import order
from tests.checkouts.test_requests import asks, withdraws
from tests.conftest import OpenShop
from tests.scripted import SAME_SITE, Shop
from tests.views.owner import ROOT, opens, text_of


def path_of(shop: Shop, reference: str) -> str:
    return urlsplit(shop.calls.request_url(reference)).path


def looks(shop: Shop, reference: str) -> TestResponse:
    return shop.browser.get(path_of(shop, reference))


def form_of(shop: Shop, reference: str) -> str:
    """The address to which the pay button of a request's page leads."""
    (path,) = re.findall(r'<form method="post" action="([^"]+)"', looks(shop, reference).text)
    return html.unescape(path)


def test_the_page_says_what_is_asked_for_and_leads_to_the_payment(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_SHOW_TOTAL=False, PAYCHECKOUT_SHOP_NAME="Ada Ink")
    request = asks(shop, title="Logo <b>", note="Two drafts & one poster", expires=timedelta(days=2))
    page = looks(shop, request.reference)
    text = text_of(page)
    assert page.status_code == 200
    for part in ("Logo <b>", "Two drafts & one poster", "To pay $12.50", "To be paid before Jan 3, 2026", "Ada Ink"):
        assert part in text
    assert "request:" not in page.text
    # It has a viewBox, because its size on the page differs.
    assert re.search(
        r'<svg width="\d+px" height="\d+px"[^>]* viewBox="0 0 \d+ \d+"[^>]* class="paycheckout-qr"', page.text
    )
    paying = shop.browser.post(form_of(shop, request.reference), headers=SAME_SITE)
    assert (paying.status_code, paying.location) == (303, "https://pay.example/checkout/chk-1")
    assert "form-action 'self' https:" in page.headers["Content-Security-Policy"]
    shop.service.says("chk-1", "completed")
    text = text_of(looks(shop, request.reference))
    assert "Paid, thank you" in text
    assert "paycheckout-qr" not in looks(shop, request.reference).text


def test_the_code_of_a_page_is_drawn_once(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def draw(url: str) -> str:
        drawn.append(url)
        return ""

    monkeypatch.setattr(order, "qr_code", draw)
    path = path_of(shop, asks(shop).reference)
    for _ in range(3):
        assert shop.browser.get(path).status_code == 200
    assert drawn == [f"http://localhost{path}"]


@pytest.mark.parametrize(("ends", "text"), [("expires", "The time to pay is over"), ("withdrawn", "withdrawn this")])
def test_an_ended_request_says_so_and_cannot_be_paid_by_an_old_button(shop: Shop, ends: str, text: str) -> None:
    request = asks(shop, expires=timedelta(days=1))
    button = form_of(shop, request.reference)
    if ends == "expires":
        shop.waits(days=1)
    else:
        withdraws(shop, request.reference)
    page = looks(shop, request.reference)
    assert text in text_of(page)
    assert "<form" not in page.text
    refused = shop.browser.post(button, headers=SAME_SITE)
    assert (refused.status_code, text in text_of(refused)) == (404, True)
    assert shop.service.created == []


def test_links_open_requests_only_and_of_requests_that_exist(shop: Shop) -> None:
    request = asks(shop)
    sign = shop.runtime.signed_links.sign
    for token in (sign(STATUS, request.order_id), sign(REQUEST, "request:none"), sign(REQUEST, "o-1"), "x"):
        assert shop.browser.get(f"/paycheckout/requests/{token}").status_code == 404, token


def test_it_is_paid_to_its_own_account_by_links_of_that_tenant(shop: Shop) -> None:
    keys = Account(client_id="bo", client_secret="bo-secret", public_url="https://bo.example")
    shop.paycheckout.account(lambda name: keys if name == "bo" else None)
    request = asks(shop, account="bo")
    url = shop.calls.request_url(request.reference)
    assert url.startswith("https://bo.example/paycheckout/requests/")
    shop.starts(request.order_id)
    assert shop.attempts(request.order_id)[0].account == "bo"


# The owner's page


def sends(shop: Shop, end: str, page: TestResponse | None = None, **form: str) -> TestResponse:
    """Send the first form of the page whose address ends with `end`."""
    paths = re.findall(rf'action="({ROOT}/requests/[^"/]+{end})"', (page or opens(shop, "/requests")).text)
    return shop.browser.post(html.unescape(paths[0]), data=form, headers=SAME_SITE)


NEW = {"title": "Logo", "amount": "12,50", "currency": "usd", "note": "", "expires": "2026-01-31T18:30"}


def test_the_owner_makes_a_request_once_for_each_form_and_withdraws_it(desk: Shop) -> None:
    page = opens(desk, "/requests")
    assert "No money was asked for" in page.text
    for _ in range(2):
        made = sends(desk, "", page, **NEW)
        assert made.status_code == 303
    told = text_of(opens(desk, "/requests"))
    assert told.count("$12.50") == 1
    assert "Logo not paid" in told
    assert "to be paid before 31 Jan, 18:30" in told
    (row,) = desk.runtime.requests.loaded(desk.runtime.models.requests.select())
    assert (row.total, row.asked_by) == (Pay("12.50", "USD"), "Ada")
    assert opens(desk, f"/order?order_id={row.order_id}").status_code == 200
    assert sends(desk, "/withdraw").status_code == 400
    assert sends(desk, "/withdraw", why="paid in cash").status_code == 303
    told = text_of(opens(desk, "/requests"))
    assert "Logo withdrawn" in told
    deeds = text_of(opens(desk, "/deeds"))
    assert "Ada made request “Logo”" in deeds
    assert "Ada withdrew" in deeds


@pytest.mark.parametrize("changed", [{"amount": "13"}, {"note": "two drafts"}, {"expires": ""}], ids=str)
def test_a_form_that_was_changed_after_it_made_a_request_says_that_nothing_is_changed(
    desk: Shop, changed: dict[str, str]
) -> None:
    page = opens(desk, "/requests")
    sends(desk, "", page, **NEW)
    again = sends(desk, "", page, **NEW | changed)
    assert (again.status_code, "is made already" in text_of(again)) == (400, True)
    assert sends(desk, "", again, **NEW | changed).status_code == 303
    assert len(desk.runtime.requests.loaded(desk.runtime.models.requests.select())) == 2


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ({"title": " "}, "Title must not be empty"),
        ({"currency": "???"}, "Currency"),
        ({"expires": "soon"}, "Expires 'soon' is no date"),
        ({"expires": "2020-01-01T00:00"}, "Expires must be later"),
        ({"note": "x" * 1001}, "Note must have"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_fault_is_told_and_what_was_typed_stays(desk: Shop, typed: dict[str, str], message: str) -> None:
    answer = sends(desk, "", None, **NEW | typed)
    assert (answer.status_code, message in text_of(answer)) == (400, True)
    assert 'value="12,50"' in answer.text
