"""The customers' routes for programs: JSON in and out, problems with a code, and browsers of listed origins."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any

import pytest
from markupsafe import Markup
from werkzeug.test import TestResponse

from flask_paycheckout import ConfigurationError
from flask_paycheckout.config import load_settings
from tests.conftest import OpenShop
from tests.payouts.claiming import FORM, NUMBER, Customer, recipients, refunded
from tests.payouts.shop import stands
from tests.scripted import SAME_SITE, SETTINGS, Shop, refusal
from tests.views.pages import PRODUCTION, pay_path, status_path
from tests.views.test_webhook import database_down

JSON = {"Accept": "application/json"}
PROBLEM = "application/problem+json"
STORE = "https://store.example"


def pays(shop: Shop, order_id: str = "o-1", **headers: str) -> TestResponse:
    """Start the order's payment as a program; returns the answer."""
    return shop.browser.post(pay_path(shop, order_id), headers=JSON | headers)


def told(answer: TestResponse) -> tuple[int, str, Any]:
    """The status, code and wait of a problem."""
    body = answer.get_json()
    assert answer.mimetype == PROBLEM
    assert body["status"] == answer.status_code
    assert body["title"]
    assert "<" not in body["title"]
    return answer.status_code, body["code"], body.get("retryAfter")


# The payment


def test_a_payment_is_started_once_and_followed_by_its_status_url(shop: Shop) -> None:
    new, again = pays(shop), pays(shop)
    assert (new.status_code, again.status_code) == (201, 200)
    body = new.get_json()
    assert again.get_json() | {"statusUrl": body["statusUrl"]} == body
    status_url = body.pop("statusUrl")
    expires = (shop.clock() + timedelta(minutes=15)).isoformat().replace("+00:00", "Z")
    assert body == {
        "url": "https://pay.example/checkout/chk-1",
        "status": "created",
        "expiresAt": expires,
        "pollAfter": 2,
    }
    assert shop.service.reads == []
    assert status_url.startswith("http://localhost/paycheckout/orders/")
    status = shop.browser.get(status_url.removeprefix("http://localhost"), headers=JSON)
    assert (status.status_code, status.get_json()) == (200, {"status": "created", "final": False, "pollAfter": 2})
    assert "Accept" in status.vary


def test_a_settled_order_has_no_page_to_pay_on(shop: Shop) -> None:
    shop.has_held()
    answer = pays(shop)
    body = answer.get_json()
    assert body.pop("statusUrl")
    assert (answer.status_code, body) == (200, {"status": "held", "expiresAt": None, "pollAfter": 20})


def test_json_is_given_where_it_is_preferred(shop: Shop) -> None:
    path = status_path(shop)
    assert not shop.browser.get(path).is_json
    for accept, is_json in {
        "*/*": False,
        "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": False,
        "application/json;q=0.4, text/html;q=0.5": False,
        "application/json, text/plain, */*": True,
        "text/html;q=0.5, application/json": True,
        "Application/JSON; charset=utf-8": True,
        "text/html; charset=utf-8, */*;q=0.1": False,
    }.items():
        assert shop.browser.get(path, headers={"Accept": accept}).is_json is is_json, accept


def test_every_problem_has_its_code(shop: Shop) -> None:
    assert told(shop.browser.get("/paycheckout/orders/x", headers=JSON)) == (404, "not_found", None)
    assert told(shop.browser.get("/paycheckout/orders/x/status")) == (404, "not_found", None)
    assert told(shop.browser.post("/paycheckout/orders/x/checkout", headers=JSON)) == (404, "not_found", None)
    shop.totals["o-2"] = None
    assert told(pays(shop, "o-2")) == (404, "not_payable", None)
    shop.service.instead_of_created = [refusal(503, "canary")] * 2
    answer = pays(shop)
    assert told(answer) == (503, "try_later", 3600)
    assert (answer.headers["Retry-After"], b"canary" in answer.data) == ("3600", False)
    assert set(answer.get_json()) == {"title", "status", "code", "retryAfter"}


def test_a_problem_is_told_in_the_readers_language(shop: Shop) -> None:
    answer = shop.browser.get("/paycheckout/orders/x", headers=JSON | {"Accept-Language": "de"})
    assert (answer.get_json()["title"], answer.headers["Content-Language"]) == ("Dieser Link funktioniert nicht", "de")


# Refunds


def test_a_refund_is_claimed_with_the_fields_that_it_names(shop: Shop) -> None:
    customer = refunded(shop)
    form = shop.browser.get(customer.path, headers=JSON).get_json()
    fields = form.pop("fields")
    assert form == {"status": "claimable", "amount": "5.00", "currency": "USD"}
    assert {field["name"] for field in fields} == set(FORM)
    assert all(field["required"] is True for field in fields)
    assert fields[1]["label"] == "Account number or IBAN"
    answer = shop.browser.post(customer.path, json=FORM, headers=JSON)
    assert (answer.status_code, answer.get_json()["status"], len(recipients(shop))) == (200, "waiting", 1)
    assert answer.get_json() == shop.browser.get(customer.path, headers=JSON).get_json()
    stands(shop, customer.reference, status="ready")
    assert shop.browser.get(customer.path, headers=JSON).get_json()["fields"] == []
    assert told(shop.browser.post(customer.path, json=FORM, headers=JSON)) == (409, "too_late", None)


def sends(customer: Customer, **body: Any) -> TestResponse:
    return customer.shop.browser.post(customer.path, headers=JSON, **body)


def test_faults_are_told_by_field_and_nothing_typed_comes_back(shop: Shop) -> None:
    customer = refunded(shop)
    answer = sends(customer, json=FORM | {"city": "", "email": 7})
    assert told(answer) == (422, "invalid", None)
    assert answer.get_json()["errors"] == dict.fromkeys(("email", "city"), "Please fill in this field.")
    shop.service.instead_of_created = [refusal(400, f"accountNumber {NUMBER} is unknown")]
    answer = sends(customer, json=FORM)
    assert told(answer) == (422, "invalid", None)
    assert (answer.get_json()["errors"], answer.get_json()["detail"]) == ({}, "accountNumber *** is unknown")


def test_hostile_json_is_a_form_without_fields(shop: Shop) -> None:
    customer = refunded(shop)
    for body in ("", "[]", "{", '"x"', "[" * 50_000, '{"city": "\\ud800"}', "\xff"):
        answer = sends(customer, data=body.encode("latin-1"), content_type="application/json")
        assert told(answer) == (422, "invalid", None), body[:20]
        assert set(answer.get_json()["errors"]) == set(FORM)


def test_a_large_body_is_refused(shop: Shop) -> None:
    answer = sends(refunded(shop), data=b" " * 70_000, content_type="application/json")
    assert told(answer) == (413, "invalid", None)


# Callers


def test_the_origins_are_exact() -> None:
    for wrong in (
        "*",
        "null",
        "store.example",
        f"{STORE}/path",
        "https://*.store.example",
        f"{STORE}?x",
        "app://*",
        "app://a/b",
    ):
        with pytest.raises(ConfigurationError, match="PAYCHECKOUT_ORIGINS"):
            load_settings((SETTINGS | {"PAYCHECKOUT_ORIGINS": [wrong]}).get, relaxed=True)
    listed = load_settings((SETTINGS | {"PAYCHECKOUT_ORIGINS": "https://Store.example:443/"}).get, relaxed=True)
    assert listed.origins == (STORE,)


@pytest.mark.parametrize("origin", ["capacitor://localhost", "ionic://localhost", "tauri://localhost:3000"])
def test_a_page_inside_of_an_app_may_be_listed(open_shop: OpenShop, origin: str) -> None:
    shop = open_shop(PAYCHECKOUT_ORIGINS=[origin, STORE], **PRODUCTION)
    for number, (sender, status) in enumerate({origin: 201, STORE: 201, "app://other": 403}.items(), 1):
        answer = pays(shop, f"o-{number}", Origin=sender)
        assert (answer.status_code, answer.access_control_allow_origin) == (status, sender if status == 201 else None)


FOREIGN: dict[str, dict[str, str]] = {
    "another origin": {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    "a sandboxed frame": {"Origin": "null"},
    "a neighbouring host": {"Origin": f"{STORE}.evil.example", "Sec-Fetch-Site": "same-site"},
    "another port": {"Origin": f"{STORE}:8443"},
    "a path": {"Origin": f"{STORE}/"},
    "only a site": {"Sec-Fetch-Site": "cross-site"},
}


def test_json_opens_nothing_to_another_site(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_ORIGINS=[STORE], **PRODUCTION)
    customer = refunded(shop, "5")
    count = len(shop.service.created)
    for name, headers in FOREIGN.items():
        for answer in (
            pays(shop, "o-2", **headers),
            shop.browser.post(customer.path, json=FORM, headers=JSON | headers),
            shop.browser.get(customer.path, headers=JSON | headers),
            shop.browser.options(pay_path(shop), headers={"Access-Control-Request-Method": "POST"} | headers),
        ):
            if answer.request.method == "POST":
                assert told(answer) == (403, "cross_origin", None), name
            assert not [header for header, _ in answer.headers if header.startswith("Access-Control")], name
    assert (len(shop.service.created), customer.refund.claims) == (count, 0)


def test_a_form_of_a_listed_origin_is_no_json(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_ORIGINS=[STORE], **PRODUCTION)
    for headers in ({"Origin": STORE, "Sec-Fetch-Site": "cross-site"}, {"Origin": STORE}, {}):
        assert shop.browser.post(pay_path(shop), headers=headers).status_code == 403
    assert shop.service.created == []


@pytest.mark.parametrize("headers", [{}, SAME_SITE, {"Origin": "https://shop.example"}])
def test_programs_and_own_pages_may_call_with_json(open_shop: OpenShop, headers: dict[str, str]) -> None:
    shop = open_shop(**PRODUCTION)
    answer = pays(shop, **headers)
    assert answer.status_code == 201
    assert not [name for name, _ in answer.headers if name.startswith("Access-Control")]


def test_a_listed_origin_reads_answers_errors_and_preflights(open_shop: OpenShop) -> None:
    origins = {"PAYCHECKOUT_ORIGINS": ["https://other.example", STORE]}
    # The shop's own routes answer no OPTIONS by themselves.
    shop = open_shop(PROVIDE_AUTOMATIC_OPTIONS=False, **origins, **PRODUCTION)
    origin = {"Origin": STORE, "Sec-Fetch-Site": "cross-site"}
    customer, path = refunded(shop), pay_path(shop, "o-2")
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    shop.totals["o-3"] = None
    preflight = shop.browser.options(path, headers=origin | asks)
    answers = [
        (200, preflight),
        (201, pays(shop, "o-2", **origin)),
        (200, shop.browser.get(status_path(shop), headers=JSON | origin)),
        (200, shop.browser.get(f"{status_path(shop)}/status", headers=origin)),
        (200, shop.browser.post(customer.path, json=FORM, headers=JSON | origin)),
        (404, shop.browser.get("/paycheckout/orders/x", headers=JSON | origin)),
        (404, pays(shop, "o-3", **origin)),
    ]
    with database_down(shop):
        answers.append((503, shop.browser.post(path, headers=JSON | origin)))
    for status, answer in answers:
        assert answer.status_code == status, answer.request.path
        assert answer.headers["Access-Control-Allow-Origin"] == STORE, answer.request.path
        assert "Origin" in answer.vary, answer.request.path
        assert "Access-Control-Allow-Credentials" not in answer.headers, answer.request.path
    assert {"POST", "OPTIONS"} <= set(preflight.headers["Access-Control-Allow-Methods"].replace(" ", "").split(","))
    assert "content-type" in preflight.headers["Access-Control-Allow-Headers"].lower()
    # Also for requests without an origin, so that no cache mixes up the answers.
    assert "Origin" in shop.browser.get("/paycheckout/orders/x", headers=JSON).vary
    hook = shop.browser.post("/paycheckout/webhook", json={}, headers=origin)
    assert "Access-Control-Allow-Origin" not in hook.headers


# For the shop's own pages


def test_a_payment_page_is_drawn_for_a_second_device(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = shop.paycheckout.qr("https://pay.example/?a=<b>&c")
    assert isinstance(drawn, Markup)
    assert drawn.startswith("<svg ")
    assert "pay.example" not in drawn
    assert 'viewBox="0 0 116 116"' in shop.paycheckout.qr("x"), "no Micro QR code, which phones cannot read"
    unwritten: Any = None
    with pytest.raises(TypeError, match="text must be a string, not NoneType"):
        shop.paycheckout.qr(unwritten)
    monkeypatch.setitem(sys.modules, "segno", None)
    with pytest.raises(ImportError, match=r"flask-paycheckout\[qr\]"):
        shop.paycheckout.qr("x")


def test_the_shops_own_forms_are_checked_like_ours(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_ORIGINS=[STORE], **PRODUCTION)

    def own() -> str:
        shop.paycheckout.require_same_site()
        return "done"

    shop.app.add_url_rule("/own", view_func=own, methods=["POST"])
    assert shop.browser.post("/own", headers=SAME_SITE).text == "done"
    # The shop's forms need its session, so neither a listed origin nor JSON allows them.
    for headers in ({"Origin": STORE}, {"Origin": STORE, "Sec-Fetch-Site": "cross-site"}, {}):
        assert shop.browser.post("/own", headers=JSON | headers, json={}).status_code == 403
