"""Random requests to every route of the extension: none is a server error, and strangers' requests change nothing."""

from __future__ import annotations

from random import Random
from typing import Any
from urllib.parse import quote

import pytest

from flask_paycheckout.security.signed_links import PAY, REFUND, REQUEST, STATUS
from tests.books.conftest import contents
from tests.chance import seed_of, soak_count, stream
from tests.checkouts.test_requests import asks
from tests.hostile.test_webhook import shop
from tests.payouts.claiming import FORM
from tests.payouts.shop import pays_out, refunds
from tests.scripted import SAME_SITE, Shop
from tests.views.owner import ROOT

__all__ = ["shop"]

#: The number of requests; `SOAK_COUNT` changes it.
EACH = 1_000
ORDERS, CHECKOUTS = [f"o-{number}" for number in range(1, 6)], [f"chk-{number}" for number in range(1, 6)]
LISTED = {"account": ["*", ""], "status": ["held", "sent"], "kind": ["refund"], "after": ["2"], "search": ORDERS}
MONTH = {"month": ["2026-01"], "from": ["2026-01-01"], "to": ["2026-02-01"], "account": ["*", ""]}
PAYOUTS, REQUESTS = ["refund-1", "maker-1"], ["ask-1", "ask-2"]
#: For each endpoint with a link: the link's purpose and its subjects.
LINKS: dict[str, tuple[str, list[str]]] = {
    "create_checkout": (PAY, ORDERS),
    "order_page": (STATUS, ORDERS),
    "order_status": (STATUS, ORDERS),
}
#: For each form of the owner: its subjects.
FORMS = {
    "resolve": CHECKOUTS,
    "keep": CHECKOUTS,
    "let_go": [*ORDERS, "chk-1"],
    "erase": [*ORDERS, "chk-1"],
    "decide_payout": PAYOUTS,
    "make_request": REQUESTS,
    "withdraw_request": REQUESTS,
    "owner.refund": CHECKOUTS,
    "compare_month": ["2026-01", "2025-12"],
    "settle_month": ["2026-01", "2025-12"],
    "pay": ["payout-1", "payout-2", "maker-1"],
}
#: For each endpoint: its fields with usual values.
FIELDS: dict[str, dict[str, list[str]]] = {
    "create_checkout": {"payment": ["1"]},
    "order_page": {"payment": ["1"]},
    "refund": {name: [value] for name, value in FORM.items()},
    "webhook": {"orderId": CHECKOUTS},
    "orders": LISTED,
    "overview": LISTED,
    "order": {"order_id": ORDERS},
    "resolve": {"decision": ["accept", "reject"], "why": ["seen"]},
    "keep": {"why": ["seen"]},
    "let_go": {"why": ["seen"]},
    "erase": {"why": ["seen"]},
    "payouts": LISTED,
    "payout": {"reference": PAYOUTS},
    "give_proof": {"reference": PAYOUTS},
    "decide_payout": {"decision": ["approve", "cancel", "retry", "sent"], "why": ["seen"], "seen": ["0", "1"]},
    "books": MONTH,
    "download_month": MONTH,
    "compare_month": {},
    "settle_month": {"why": ["seen"]},
    "deeds": {"after": ["3"]},
    "ask_to_pay": {},
    "pay": {
        **{"amount": ["1,5"], "currency": ["USD"], "note": ["jars"], "account": [""], "to": ["ask", "bank", "wallet"]},
        **{"account_name": ["Ada"], "account_number": ["40001234"], "bank_name": ["River"], "bank_code": ["river"]},
    },
    "ask_for_refund": {"checkout": CHECKOUTS, "amount": ["2.50"]},
    "request": {"payment": ["1"]},
    "requests": {"after": ["1"], "account": ["", "*"]},
    "make_request": {
        **{"title": ["Logo"], "note": ["two"], "amount": ["1,5"], "currency": ["USD"]},
        "expires": ["2027-01-01T10:00"],
    },
    "withdraw_request": {"why": ["seen"]},
    "owner.refund": {"amount": ["0.01"], "why": ["broke"], "seen": ["0"]},
}
HOSTILE = (
    *("", " ", "x", "0", "-1", "1_0", "1E-2", "1e999999", "NaN", "sNaN", "１２", "²", "9" * 5_000),
    *("\0", "\ud800", "\u202e", "a\nb", "%00", "../..", "<b>", "' OR 1=1 --", "x" * 5_000),
    *("2026-13", "99999-01", "over_limit", "DE89370400440532013001"),
)
HEADERS = {
    "Accept": ("application/json", "*/*", "application/json;q=nan", "\xff", ",;,"),
    "Accept-Language": ("x" * 3_000, "de;q=x, *", "zh-Hant-TW-\xff"),
    "Content-Type": ("application/json", "multipart/form-data", "text/\xff"),
    "Origin": ("null", "https://shop.example", "https://evil.example", "http://[::1", "\xff"),
    "Sec-Fetch-Site": ("cross-site", "same-site", "", "\xff"),
    "Host": ("shop.example", "evil.example", "shop.example:x", "[::1", "a b"),
}
BODIES = (b"", b"[]", b"{", b"[" * 50_000, b'{"amount": NaN, "why": 7}', b"\xff\xfe", b"--x\r\n", b"x" * 70_000)


def draw(shop: Shop, chance: Random, *, links: bool) -> dict[str, Any]:
    """A usual request, with some hostile parts."""
    rules = [rule for rule in shop.app.url_map.iter_rules() if rule.endpoint.startswith("paycheckout")]
    rule = chance.choice(rules)
    name = rule.endpoint.partition(".")[2]
    is_owners_form = rule.rule.startswith(ROOT)
    name = "owner.refund" if name == "refund" and is_owners_form else name
    usual, path = FIELDS.get(name, {}), rule.rule
    if "<" in path:
        # The variables for a webhook's secret and a file are not links.
        purpose, subjects = (rule.endpoint, FORMS[name]) if is_owners_form else LINKS.get(name, (PAY, [""]))
        subject = chance.choice(subjects) + ("\nAda" if is_owners_form else "")
        good = shop.runtime.signed_links.sign(purpose, subject)
        link = good if (links or is_owners_form) and chance.random() < 0.9 else chance.choice(HOSTILE)
        quoted = quote(link.encode("utf-8", "surrogatepass") or b"x", safe="")
        path = f"{path[: path.index('<')]}{quoted}{path[path.index('>') + 1 :]}"
    fields = {field: chance.choice(values) for field, values in usual.items() if chance.random() < 0.9}
    for field in chance.sample(sorted(usual), min(len(usual), chance.randrange(3))):
        fields[field] = chance.choice(HOSTILE)
    method = "POST" if "POST" in (rule.methods or ()) else "GET"
    written = {field: value.encode("utf-8", "surrogatepass") for field, value in fields.items()}
    sent: dict[str, Any] = {"query_string" if method == "GET" else "data": written}
    if chance.random() < 0.1:
        sent |= {"data": chance.choice(BODIES)}
        method = chance.choice([method, "HEAD", "OPTIONS", "PUT", "DELETE"])
    headers = {header: chance.choice(values) for header, values in HEADERS.items() if chance.random() < 0.1}
    return {"path": path, "method": method, "headers": SAME_SITE | headers, **sent}


@pytest.mark.parametrize("who", ["stranger", "owner"])
def test_random_requests(shop: Shop, who: str, pytestconfig: pytest.Config) -> None:
    is_owner = who == "owner"
    paid = shop.attempts("o-2")[0].checkout_id
    refund = refunds(shop, paid, "2").reference
    pays_out(shop, "maker-1", approve=True)
    LINKS["refund"] = (REFUND, [refund])
    LINKS["request"] = (REQUEST, [asks(shop).order_id, "request:ask-1"])
    view = shop.paycheckout.owner_view(lambda: "Ada" if is_owner else None)
    shop.app.register_blueprint(view, url_prefix=ROOT)
    seed = seed_of(pytestconfig)
    chance, browser, before = stream(seed, "every route"), shop.app.test_client(), contents(shop)
    answers = set[int]()
    for _ in range(soak_count(EACH)):
        # A stranger knows the owner's forms, but no customer's link.
        request = draw(shop, chance, links=is_owner)
        status = browser.open(**request).status_code
        assert status < 500 or status in {502, 503}, (status, request)
        answers.add(status)
        shop.waits(seconds=1)
    assert answers >= ({200, 303, 400, 403, 404, 409} if is_owner else {200, 400, 403, 404})
    if not is_owner:
        assert (contents(shop), shop.service.created[5:]) == (before, [])
