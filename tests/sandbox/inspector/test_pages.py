"""The content of each page of the inspector, which is always escaped."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import advance_clock
from tests.sandbox.actors import ENDPOINT, Merchant, Receiver, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.inspector.developer import Developer
from tests.sandbox.payments.customers import RECIPIENT, WALLET, details, makes

pytestmark = pytest.mark.each_database

HOSTILE = '"><script>alert(1)</script>'
PayOut = Callable[..., list[str]]


def test_the_overview_shows_clock_endpoint_faults_and_changed_unknowns(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(webhook_payload="full")
    Tester(app).orders_fault("POST /v1/checkout", "error")
    Tester(app).advances(minutes=16)
    seen = Developer(app).reads()
    assert "0:16:00 ahead of the machine" in seen
    assert f"Webhooks go to {ENDPOINT}" in seen
    assert "Faults armed 1" in seen
    assert "webhook_payload=full" in seen


def test_the_overview_lists_checkouts_with_what_they_ask_and_their_deposits(
    merchant: Merchant, tester: Tester, developer: Developer
) -> None:
    left, picked, paid = (merchant.makes_checkout(amount) for amount in (1000, 20, 30))
    tester.picks(picked)
    tester.pays(paid)
    assert "customer pays 1,000.00 USD none yet" in developer.reads()
    tester.advances(minutes=16)
    seen = developer.reads()
    assert f'href="/inspector/checkouts/{left}"' in developer.opens()
    assert "customer pays 1,000.00 USD abandoned" in seen
    assert "customer pays 20.00 USD pending" in seen
    assert "customer pays 30.00 USD completed" in seen


def test_the_overview_lists_disbursements_of_both_kinds(
    pays_out: PayOut, calls_with_token: Callable[..., Any], developer: Developer
) -> None:
    (fiat,) = pays_out({"amount": 25, "reference": "salary-1"}, name="Ada")
    wallet = "0x52908400098527886E0F7030069857D2E4169EE7"
    receivers = [{"amount": 5, "receiverWalletAddress": wallet}]
    calls_with_token("POST", "/v1/disbursement/crypto", {"token": "usdc-polygon", "receivers": receivers})
    seen = developer.reads()
    assert f'href="/inspector/disbursements/{fiat}"' in developer.opens()
    assert "25.00 USD Ada salary-1 pending" in seen
    assert "5.000000 usdc-polygon 0x529084…169EE7 none pending" in seen
    assert f"To the wallet {wallet}" in developer.reads(
        re.findall(r'href="(/inspector/disbursements/\w+)"', developer.opens())[0]
    )


def test_the_overview_lists_payments_once_there_are_any(merchant: Merchant, developer: Developer) -> None:
    assert "Payments, deprecated" not in developer.reads()
    made = makes(merchant, inputAmount=100)
    assert "100.000000 usdc-polygon Sam Sender Ada Example pending" in developer.reads()
    assert f'href="/inspector/payments/{made}"' in developer.opens()
    assert "Payments, deprecated No older ones." in developer.reads("/?payments=25")


def test_a_checkout_tells_call_state_webhook_and_read_in_the_order_of_time(
    merchant: Merchant, tester: Tester, receiver: Receiver, developer: Developer
) -> None:
    receiver.answers = [OSError("refused")]
    checkout = merchant.makes_checkout()
    tester.pays(checkout)
    merchant.reads_deposit(checkout)
    tester.advances(minutes=2)
    seen = developer.reads(f"/inspector/checkouts/{checkout}")
    told = (
        "POST /v1/checkout 200",
        "Checkout created open",
        "Payment method picked pending",
        "Payment received completed",
        f"POST {ENDPOINT} no answer OSError: refused",
        f"GET /v1/deposit/{checkout} 200",
        f"POST {ENDPOINT} 200 now delivered",
    )
    places = [seen.index(words) for words in told]
    assert places == sorted(places)


def test_a_call_stands_before_the_state_that_it_caused(
    merchant: Merchant, tester: Tester, developer: Developer
) -> None:
    checkout = merchant.makes_checkout()
    tester.picks(checkout)
    merchant.forces_status(checkout, "failed")
    seen = developer.reads(f"/inspector/checkouts/{checkout}")
    assert seen.index(f"PATCH /v1/deposit/{checkout}") < seen.index("Status updated in the sandbox failed")


def test_a_checkout_that_nobody_picked_a_method_for_is_told_abandoned(
    merchant: Merchant, tester: Tester, developer: Developer
) -> None:
    checkout = merchant.makes_checkout()
    tester.advances(minutes=16)
    assert "Page closed abandoned" in developer.reads(f"/inspector/checkouts/{checkout}")


def test_reads_of_a_deposit_by_its_reference_belong_to_its_checkout(
    merchant: Merchant, tester: Tester, developer: Developer
) -> None:
    checkout = merchant.makes_checkout()
    tester.picks(checkout, reference="order-7")
    merchant.reads_deposit("order-7")
    assert "GET /v1/deposit/order-7 200" in developer.reads(f"/inspector/checkouts/{checkout}")


def test_webhooks_that_were_never_sent_are_told(merchant: Merchant, tester: Tester, developer: Developer) -> None:
    tester.orders_fault("webhook", "drop")
    checkout = merchant.makes_checkout()
    tester.pays(checkout)
    assert "Not sent dropped" in developer.reads(f"/inspector/checkouts/{checkout}")


def test_a_disbursement_tells_its_batch_states_webhook_and_reads(
    pays_out: PayOut, calls_with_token: Callable[..., Any], merchant: Merchant, developer: Developer
) -> None:
    first, second = pays_out({"amount": 25, "note": "Salary"}, {"amount": 30})
    calls_with_token("PATCH", f"/v1/disbursement/{first}", {"status": "completed"})
    merchant.calls("GET", f"/v1/disbursement/fiat/{first}")
    seen = developer.reads(f"/inspector/disbursements/{first}")
    told = (
        "POST /v2/disbursement/fiat 200",
        "Disburse requested pending",
        f"PATCH /v1/disbursement/{first} 200",
        "Sent to recipient account completed",
        f"POST {ENDPOINT} 200",
        f"GET /v1/disbursement/fiat/{first} 200",
    )
    assert [seen.index(words) for words in told] == sorted(seen.index(words) for words in told)
    assert "Note Salary" in seen
    other = developer.reads(f"/inspector/disbursements/{second}")
    assert "POST /v2/disbursement/fiat 200" in other
    assert f"GET /v1/disbursement/fiat/{first}" not in other


def test_a_payment_tells_both_sides_amounts_states_and_reads(
    merchant: Merchant, tester: Tester, developer: Developer
) -> None:
    made, other = makes(merchant, reason="salary", description="For May", usNetwork="ach"), makes(merchant)
    tester.advances(minutes=11)
    answered = details(merchant, made).data
    seen = developer.reads(f"/inspector/payments/{made}")
    told = (
        "POST /v2/payment 201",
        "Signed by Payee pending",
        "Converted to completed",
        "Received by recipient account completed",
        f"GET /v2/payment/detail/{made} 200",
    )
    assert [seen.index(words) for words in told] == sorted(seen.index(words) for words in told)
    facts = (
        "State completed",
        f"Recipient gets {answered['outputAmount']:,} USD",
        f"{answered['exchangeFees']} usdc-polygon for the exchange, {answered['platformFees']} usdc-polygon",
        "From Sam Sender , sam@example.com",
        f"From the wallet {WALLET}",
        f"Recipient {RECIPIENT}",
        "by ach",
        f"Paid in at {answered['payOutWallet']} on {answered['blockchain']}",
        f"Transaction {answered['transactionHash']}",
        "Reason salary",
        "Description For May",
    )
    assert [fact for fact in facts if fact not in seen] == []
    assert other not in seen


def test_the_batch_of_an_item_beyond_the_logged_part_is_found(pays_out: PayOut, developer: Developer) -> None:
    *_, last = pays_out(*({"amount": 5} for _ in range(60)))
    assert "POST /v2/disbursement/fiat 200" in developer.reads(f"/inspector/disbursements/{last}")


def test_states_are_those_that_the_service_would_answer_with(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(deposit_after_expiry="expired", deposit_lifetime="15m")
    merchant, tester, developer = Merchant(app), Tester(app), Developer(app)
    checkout = merchant.makes_checkout()
    tester.picks(checkout)
    tester.advances(minutes=16)
    assert "expired" in developer.reads()


def six_minutes_pass(sandbox: Flask) -> None:
    """Without anything that falls due being run."""
    with sandbox.app_context(), transaction() as session:
        advance_clock(session, world().clock, timedelta(minutes=6))


def test_payments_too_are_in_the_state_that_the_service_would_answer_with(
    sandbox: Flask, merchant: Merchant, developer: Developer
) -> None:
    made = makes(merchant)
    six_minutes_pass(sandbox)
    assert "Ada Example processed" in developer.reads()
    six_minutes_pass(sandbox)
    assert "State completed" in developer.reads(f"/inspector/payments/{made}")


def test_mails_show_their_one_time_passwords_and_are_picked_by_address(tester: Tester, developer: Developer) -> None:
    for name in ("ann", "bob"):
        body = {"email": f"{name}@example.com", "password": "long-enough-1", "fullName": name}
        assert developer.http.post("/v1/auth/register", json=body).status_code == 200
    otp = tester.does("GET", "mails?to=ann@example.com")[0]["otp"]
    assert f"One-time password {otp}" in developer.reads("/inspector/mails")
    assert "bob@example.com" in developer.reads("/inspector/mails")
    seen = developer.reads("/inspector/mails?to=ANN@example.com")
    assert otp in seen
    assert "bob@example.com" not in seen


def test_webhooks_show_attempts_body_and_when_the_next_is_due(
    merchant: Merchant, tester: Tester, receiver: Receiver, developer: Developer
) -> None:
    receiver.answers = [500]
    checkout = merchant.makes_checkout()
    tester.pays(checkout)
    seen = developer.reads("/inspector/webhooks")
    assert "waiting until" in seen
    assert "1, last answer 500" in seen
    assert f'{{"orderId":"{checkout}"}}' in seen.replace('": "', '":"')
    assert checkout in developer.reads(f"/inspector/webhooks?order={checkout}&state=waiting")
    assert "None like that." in developer.reads(f"/inspector/webhooks?order={checkout}&state=delivered")


def test_unknowns_show_value_alternatives_and_meaning_changed_ones_first(make_sandbox: MakeSandbox) -> None:
    seen = Developer(make_sandbox(webhook_retries="off")).reads("/inspector/unknowns")
    row = "webhook_retries off on Whether a webhook that was not answered with 2xx is sent again."
    assert seen.index(row) < seen.index("http_status mirror always_200")


@pytest.mark.parametrize(
    "path",
    [
        "checkouts/none",
        "disbursements/none",
        "payments/none",
        "requests/77",
        "requests/" + "9" * 40,
        "checkouts/%00",
        "disbursements/" + "9" * 400,
    ],
)
def test_what_does_not_exist_is_not_found(developer: Developer, path: str) -> None:
    developer.opens(f"/inspector/{path}", 404)


def test_what_strangers_sent_stays_text_on_every_page(
    merchant: Merchant, tester: Tester, pays_out: PayOut, receiver: Receiver, developer: Developer
) -> None:
    receiver.answers = [OSError(HOSTILE)]
    checkout = merchant.makes_checkout()
    tester.picks(checkout, reference=HOSTILE)
    merchant.forces_status(checkout, HOSTILE)
    (made,) = pays_out({"amount": 25, "reference": HOSTILE, "note": HOSTILE}, name=HOSTILE)
    paid = makes(merchant, senderName=HOSTILE, reason=HOSTILE, description=HOSTILE)
    body = {"email": "x@example.com", "password": "long-enough-1", "fullName": HOSTILE, "country": HOSTILE}
    developer.http.post("/v1/auth/register", json=body)
    merchant.calls("GET", f"/v1/deposit/5?{HOSTILE}", signed_by="wrong")
    tester.orders_fault("POST /v1/checkout", "garbage", message=HOSTILE)
    lists = ("/", *(f"/inspector/{name}" for name in ("requests", "mails", "webhooks", "levers")))
    pages = (f"/inspector/checkouts/{checkout}", f"/inspector/disbursements/{made}", f"/inspector/payments/{paid}")
    each = [f"/inspector/requests/{entry['id']}" for entry in tester.requests()]
    queries = [f"/inspector/{name}={HOSTILE}" for name in ("requests?path", "mails?to", "webhooks?order")]
    for path in (*lists, *pages, *each, *queries):
        assert "<script>alert" not in developer.opens(path)
    assert all(HOSTILE in developer.reads(path) for path in (*pages[1:], "/"))
