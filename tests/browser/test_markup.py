"""Markup in every field that reaches a page of the sandbox: a browser sees the same elements as without it."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.auth.start_state import ACCESS_TOKEN
from tests.sandbox.actors import CONTROL_TOKEN, ENDPOINT, Merchant, Receiver, Tester
from tests.sandbox.inspector.developer import Developer
from tests.sandbox.inspector.test_access import pages_of
from tests.sandbox.payments.customers import makes
from tests.security.test_markup import EVALUATED

PLAIN = "plain"
# One for each context in a page that text could break out of; short enough for every field.
PAYLOADS = (
    '"><img src=x onerror=alert(1)>',
    "' autofocus onfocus='alert(1)",
    "</script></title></pre><svg onload=x>",
    "<!--",
    "javascript:alert(1)//{{ 7 ** 19 }}",
)
SKELETONS = """pages => Object.fromEntries(Object.entries(pages).map(([name, html]) => {
  const page = new DOMParser().parseFromString(html, "text/html"), found = [];
  const walk = document.createTreeWalker(page, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_COMMENT);
  while (walk.nextNode()) {
    const node = walk.currentNode, attributes = [...(node.attributes || [])];
    const leads = attributes.filter((one) => /^(href|src|action|formaction|content|.*:href)$/.test(one.name));
    const runs = leads.filter((one) => /^\\s*(javascript|data:text)/i.test(one.value)).map((one) => one.name);
    const names = attributes.map((one) => one.name).sort();
    found.push([node.nodeName, ...names, ...runs.map((one) => one + " runs")].join(" "));
  }
  return [name, found];
}))"""


def pages_of_the_sandbox(payload: str) -> dict[str, str]:
    receiver = Receiver()
    receiver.answers = [OSError(payload)] * 3
    sandbox = create_sandbox(control_token=CONTROL_TOKEN, webhook_url=ENDPOINT, send_webhook=receiver)
    merchant, tester, developer = Merchant(sandbox), Tester(sandbox), Developer(sandbox)
    checkout = merchant.makes_checkout()
    tester.picks(checkout, reference=payload)
    merchant.forces_status(checkout, payload)
    payment = makes(merchant, senderName=payload, reason=payload, description=payload)
    bank = {"bankName": payload, "accountName": payload, "accountNumber": "12345678", "bankCode": "us_first_sandbox"}
    item = {"amount": 25, "reference": payload, "note": payload, "recipient": {"name": payload, "bank": bank}}
    answer = developer.http.post(
        "/v2/disbursement/fiat",
        json={"currency": "USD", "disburseData": [item]},
        headers={"Authorization": f"Bearer {ACCESS_TOKEN}"},
    ).json
    assert answer is not None
    user = {"email": "x@example.com", "password": "long-enough-1", "fullName": payload, "country": payload}
    assert developer.http.post("/v1/auth/register", json=user).status_code == 200
    merchant.client_id = payload
    merchant.calls(
        "POST",
        f"/v1/deposit/5?{payload}",
        json.dumps({payload: payload}).encode(),
        timestamp=payload,
        signed_by=payload,
    )
    tester.orders_fault("POST /v1/checkout", "garbage", message=payload)
    disbursement = answer["data"]["disburseData"][0]["disbursementId"]
    kinds = {"checkouts": checkout, "disbursements": disbursement, "payments": payment}
    details = (f"/inspector/{kind}/{id_}" for kind, id_ in kinds.items())
    requests = (f"/inspector/requests/{entry['id']}" for entry in tester.requests())
    pages = {path: developer.opens(path) for path in (*pages_of(sandbox), *details, *requests, f"/checkout/{checkout}")}
    words = ("requests?status", "requests?path", "mails?to", "webhooks?order", "control?done", "accounts?account")
    for name in words:
        pages[name] = developer.http.get(
            f"/inspector/{name.partition('?')[0]}", query_string={name.split("?")[1]: payload}
        ).text
    for path in ("/checkout/", "/nothing/", "/inspector/checkouts/"):
        pages[path] = developer.http.get(path + payload.replace("/", "_")).text
    for form in ("clock", "faults"):
        fields = dict.fromkeys(("advanceSeconds", "operation", "kind", "message", "times", "seconds"), payload)
        pages[form] = developer.presses(form, **fields).text
    # Identifiers that occur in this sandbox only.
    return {
        path.replace(checkout, "C").replace(disbursement, "D").replace(payment, "P"): page
        for path, page in pages.items()
    }


def skeletons(page: Page, pages: dict[str, str]) -> dict[str, Any]:
    results = page.evaluate(SKELETONS, pages)
    assert isinstance(results, dict)
    return results


def test_no_page_gets_an_element_or_attribute(page: Page) -> None:
    plain = skeletons(page, pages_of_the_sandbox(PLAIN))
    assert len(plain) > 20
    for payload in PAYLOADS:
        hit = pages_of_the_sandbox(payload)
        changed = {name: seen for name, seen in skeletons(page, hit).items() if seen != plain.get(name)}
        assert changed == {}, f"by {payload}"
        assert [name for name, text in hit.items() if EVALUATED in text] == []
