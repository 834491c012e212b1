"""The content of each page of the inspector; `tests/browser/test_markup.py` tests its escaping."""

from __future__ import annotations

import re

import pytest

from tests.sandbox.actors import ENDPOINT, Merchant, Receiver, Tester
from tests.sandbox.disbursements.payers import RECIPIENTS, Payer
from tests.sandbox.inspector.developer import Developer
from tests.sandbox.payments.customers import makes

ADA = {"recipientId": RECIPIENTS["USD"], "amount": 25}


def expect_in_order(seen: str, *texts: str) -> None:
    places = [seen.index(words) for words in texts]
    assert places == sorted(places)


@pytest.mark.on_each_database
def test_the_overview_lists_checkouts_disbursements_and_payments(
    merchant: Merchant, tester: Tester, payer: Payer, developer: Developer
) -> None:
    assert "Payments, deprecated" not in developer.reads()
    left, picked, paid = (merchant.makes_checkout(amount) for amount in (1000, 20, 30))
    tester.picks(picked)
    tester.pays(paid)
    assert "customer pays 1,000.00 USD none yet" in developer.reads()
    tester.advances(minutes=16)
    fiat, crypto = payer.pays_one(reference="salary-1"), payer.sends_one()
    payment = makes(merchant)
    seen, links = developer.reads(), re.findall(r'href="/inspector/\w+/(\w+)"', developer.opens())
    assert set(links) == {left, picked, paid, fiat, crypto, payment}
    actions = (
        *(f"customer pays {words}" for words in ("1,000.00 USD abandoned", "20.00 USD pending", "30.00 USD completed")),
        "12.50 USD Ada Example salary-1 pending",
        "5.000000 usdc-polygon 0x5aAeb6…1BeAed none pending",
        "100.000000 usdc-polygon Sam Sender Ada Example pending",
    )
    assert [words for words in actions if words not in seen] == []


def test_a_checkout_tells_call_state_webhook_and_read_in_the_order_of_time(
    merchant: Merchant, tester: Tester, receiver: Receiver, developer: Developer
) -> None:
    receiver.answers = [OSError("refused")]
    checkout = merchant.makes_checkout()
    tester.picks(checkout, reference="order-7")
    tester.pays(checkout)
    merchant.reads_deposit("order-7")
    tester.advances(minutes=2)
    merchant.forces_status(checkout, "failed")
    expect_in_order(
        developer.reads(f"/inspector/checkouts/{checkout}"),
        "POST /v1/checkout 200",
        "Checkout created open",
        "Payment method picked pending",
        "Payment received completed",
        f"POST {ENDPOINT} no answer OSError: refused",
        "GET /v1/deposit/order-7 200",
        f"POST {ENDPOINT} 200",
        f"PATCH /v1/deposit/{checkout}",
        "Status updated in the sandbox failed",
    )


def test_a_disbursement_tells_its_batch_states_webhook_and_reads(payer: Payer, developer: Developer) -> None:
    # The batch is longer than the logged part of a body.
    batch = payer.pays(*[ADA | {"note": "Salary"}] * 60).data["disburseData"]
    first, last = batch[0]["disbursementId"], batch[-1]["disbursementId"]
    payer.forces(first)
    payer.sees(first)
    seen, other = (developer.reads(f"/inspector/disbursements/{each}") for each in (first, last))
    expect_in_order(
        seen,
        "POST /v2/disbursement/fiat 200",
        "Disburse requested pending",
        f"PATCH /v1/disbursement/{first} 200",
        "Sent to recipient account completed",
        f"POST {ENDPOINT} 200",
        f"GET /v1/disbursement/fiat/{first} 200",
    )
    assert "Note Salary" in seen
    assert "POST /v2/disbursement/fiat 200" in other
    assert f"GET /v1/disbursement/fiat/{first}" not in other


def test_webhooks_show_attempts_body_and_when_the_next_is_due(
    merchant: Merchant, tester: Tester, receiver: Receiver, developer: Developer
) -> None:
    receiver.answers = [500]
    checkout = merchant.makes_checkout()
    tester.pays(checkout)
    seen = developer.reads(f"/inspector/webhooks?order={checkout}&state=waiting")
    for text in ("waiting until", "1, last answer 500", checkout):
        assert text in seen
    assert "None like that." in developer.reads(f"/inspector/webhooks?order={checkout}&state=delivered")


@pytest.mark.on_each_database
def test_a_search_leads_to_what_has_the_text(merchant: Merchant, payer: Payer, developer: Developer) -> None:
    checkout, payout = merchant.makes_checkout(), payer.pays_one(reference="salary-1")
    places = {
        checkout: f"checkouts/{checkout}",
        "salary-1": f"disbursements/{payout}",
        "sandbox-client": "accounts/default",
        "ada@example.com": "mails?to=ada%40example.com",
        "/v1/checkout": "requests?path=%2Fv1%2Fcheckout",
    }
    locations = {text: developer.http.get("/inspector/search", query_string={"q": text}).location for text in places}
    assert locations == {text: f"/inspector/{place}" for text, place in places.items()}


def test_times_are_told_by_the_clock(merchant: Merchant, tester: Tester, developer: Developer) -> None:
    checkout = merchant.makes_checkout()
    assert "Page open until in 1" in developer.reads(f"/inspector/checkouts/{checkout}")
    tester.advances(seconds=2 * 3600)
    seen = developer.reads(f"/inspector/checkouts/{checkout}")
    assert "Made at 2 h ago" in seen
    assert "UTC, 2:00:00 ahead" in seen


def test_switches_are_grouped(tester: Tester, developer: Developer) -> None:
    assert "Not as usual" not in developer.reads("/inspector/unknowns")
    tester.does("POST", "unknowns", {"webhook_retries": "off"})
    _, _, seen = developer.reads("/inspector/unknowns").partition("Not as usual")
    expect_in_order(seen, "webhook_retries off", "Credentials", "signature on", "Webhooks", "webhook_payload")
