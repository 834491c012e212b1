"""Claims of refunds: a recipient at the service and a masked form here, a limited number, until a person approves."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from flask_paycheckout import claim_wanted
from flask_paycheckout.database.state_table import lines
from flask_paycheckout.payouts.destinations import Sealing, ToRecipient
from flask_paycheckout.testing import Signals
from tests.conftest import OpenShop
from tests.payouts.claiming import (
    NUMBER,
    Customer,
    everything_stored,
    recipients,
    refunded,
)
from tests.payouts.shop import decides, pays_out, stands
from tests.races.crowds import crowd
from tests.scripted import Answer, Shop, garbage, refusal, success
from tests.security.test_canaries import Everything, logged
from tests.views.owner import opens_view, payout_page
from tests.views.pages import presses_pay

__all__ = ["logged"]


def destination(refund: Any) -> Any:
    """The destination of a stored refund."""
    return Sealing((), list).open(refund.to_kind, refund.to_details)


@pytest.mark.on_each_database
def test_the_shop_is_given_the_link_of_each_claim_once_unless_the_claim_is_over_by_then(shop: Shop) -> None:
    urls: list[str] = []
    opens_view(shop)

    @claim_wanted.connect_via(shop.app)
    def mail(app: Any, *, payout: Any, url: str, order_id: str | None, event_id: str) -> None:
        urls.append(url)

    @claim_wanted.connect_via(shop.app)
    @shop.paycheckout.atomic
    def note(app: Any, *, payout: Any, url: str, **extra: Any) -> None:
        payout.note = url

    customer, cancelled = refunded(shop), pays_out(shop, to=None)
    assert decides(shop, "cancel", cancelled.reference)
    for _ in range(2):
        shop.reconciles()
    [url] = urls
    assert shop.browser.get(url).status_code == 200
    assert customer.refund.note
    page = payout_page(shop, customer.reference).text
    assert quote(url.partition("/refunds/")[0], safe="") in page


def test_the_end_of_a_claim_is_told_on_its_page_and_by_a_signal(shop: Shop, signals: Signals) -> None:
    receiver = Customer(shop, pays_out(shop, to=None, expires=timedelta(days=1)).reference)
    shop.waits(days=1)
    assert "The time to say where the money goes is over" in receiver.opens().text
    customer = refunded(shop)
    assert decides(shop, "cancel", customer.reference)
    assert "This refund was cancelled" in customer.opens().text
    ended = [each.reference for each in signals if each.name == "payout_cancelled"]
    assert ended == [receiver.reference, customer.reference]


def test_an_iban_is_sent_as_one_and_the_approver_sees_the_country_and_the_bank_that_it_names(shop: Shop) -> None:
    customer, sent = refunded(shop), "IT60X0542811101000000123456"
    assert customer.sends(account_number="it60-X054 2811 1010 0000 0123 456").status_code == 303
    [recipient] = recipients(shop)
    assert ("accountNumber" in recipient["bank"], recipient["bank"]["ibanNumber"]) == (False, sent)
    assert sent not in everything_stored(shop)
    assert (
        customer.refund.destination
        == f"Name: Zoë Quist\nBank: First Bank\nIBAN: Italy, 05428\nNumber ends with: {sent[-4:]}"
    )


def test_a_name_keeps_the_joiners_that_its_script_needs_and_a_number_none(shop: Shop) -> None:
    customer, name, digits = refunded(shop), "علی\u200cرضا", "\uff14\u200d\uff10001234"
    assert customer.sends(account_name=f"{name}\u200c", account_number=digits).status_code == 303
    [recipient] = recipients(shop)
    assert (recipient["bank"]["accountName"], recipient["bank"]["accountNumber"]) == (name, "40001234")
    assert customer.refund.destination.startswith(f"Name: {name}\n")


@pytest.mark.on_each_database
def test_a_bank_account_becomes_a_recipient_of_the_service_and_no_number_is_stored(shop: Shop) -> None:
    customer = refunded(shop)
    counted: list[int] = []
    shop.service.meanwhile = lambda: counted.append(customer.refund.claims)
    assert customer.sends().status_code == 303
    assert counted == [1], "before the call"
    assert recipients(shop) == [
        {
            "name": "Zoë Quist",
            "email": "zoe@example.com",
            "address": "1 Main Street",
            "city": "Springfield",
            "postCode": "12345",
            "reference": customer.reference,
            "bank": {
                "accountName": "Zoë Quist",
                "accountNumber": NUMBER,
                "bankName": "First Bank",
                "country": "United States",
                "currency": "USD",
            },
        }
    ]
    refund = customer.refund
    assert (refund.status, refund.revision, refund.claims, refund.to_kind) == ("waiting", 1, 1, "recipient")
    assert destination(refund) == ToRecipient("chk-2")
    assert refund.destination == "Name: Zoë Quist\nBank: First Bank\nNumber ends with: 3456"
    stored = everything_stored(shop)
    assert "3456" in stored
    assert "canary" not in stored
    assert "12 34" not in stored


def test_the_customer_may_correct_it_until_a_person_approves_what_they_saw(shop: Shop) -> None:
    customer = refunded(shop)
    customer.sends()
    for seen in (True, "1", 1.0):
        with pytest.raises(TypeError, match="seen must be the payout's revision"):
            decides(shop, "approve", customer.reference, seen=seen)
    customer.sends(account_number="canary-3 17788")
    assert customer.refund.destination.endswith("Number ends with: 7788")
    assert not decides(shop, "approve", customer.reference, seen=1)
    assert decides(shop, "approve", customer.reference, seen=2)
    assert [entry.get("destination", "")[-4:] for entry in lines(customer.refund.history)[1:3]] == ["3456", "7788"]


def test_a_claim_that_a_decision_overtakes_changes_nothing_and_says_so(shop: Shop) -> None:
    customer = refunded(shop)
    customer.sends()
    before = customer.refund.to_details

    def meanwhile() -> None:
        if len(recipients(shop)) == 2:
            decides(shop, "cancel", customer.reference)

    shop.service.meanwhile = meanwhile
    answer = customer.sends(account_number="canary-3 17788")
    assert answer.status_code == 409
    assert "This changed nothing" in answer.text
    assert (customer.refund.revision, customer.refund.to_details) == (1, before)


@pytest.mark.parametrize("becomes", ["failed", "unknown"])
def test_an_approved_destination_is_not_changed_while_it_waits_for_another_approval(
    open_shop: OpenShop, becomes: str
) -> None:
    shop = open_shop(PAYCHECKOUT_APPROVE_BY_ANOTHER=True)
    customer = refunded(shop)
    customer.sends()
    assert decides(shop, "approve", customer.reference, by="Cy", seen=1)
    stands(shop, customer.reference, status=becomes, paid_by="", taken_at=shop.clock())
    if becomes == "failed":
        assert decides(shop, "retry", customer.reference, by="Bo")
    else:
        assert decides(shop, "resolve", customer.reference, False, by="Bo")
    answer = customer.sends(account_number="canary-3 17788")
    assert (answer.status_code, "<form" in answer.text) == (409, False)
    assert (customer.refund.status, customer.refund.revision, len(recipients(shop))) == ("waiting", 1, 1)


@pytest.mark.parametrize(("status_code", "code"), [(403, 503), (429, 503), (400, 422)])
def test_claims_that_the_service_refuses_have_a_cool_down_and_stop_no_customer_who_pays(
    shop: Shop, status_code: int, code: int
) -> None:
    customer = refunded(shop)
    for attempt in range(1, 23):
        shop.service.instead_of_created = [refusal(status_code)]
        assert customer.sends().status_code == code
        again = customer.sends()
        assert (again.status_code, again.headers["Retry-After"]) == (503, "5")
        assert len(recipients(shop)) == attempt, "not asked again at once"
        shop.waits(seconds=15)
    report = shop.runs("report")
    assert ("No customer can say where a refund goes" in report.output) == (code == 503)
    shop.service.instead_of_created = []
    assert presses_pay(shop, "o-2").status_code == 303
    assert customer.sends().status_code == 303


def test_a_claim_that_may_have_been_carried_out_counts_and_one_that_the_service_is_not_asked_does_not(
    shop: Shop,
) -> None:
    customer = refunded(shop)
    shop.service.instead_of_created = [success({"id": "x\n"}), *[garbage()] * 30]
    assert (customer.sends().status_code, customer.refund.claims) == (503, 1)
    assert (customer.refund.status, customer.refund.revision) == ("claimable", 0)
    for _ in range(12):
        assert customer.sends().status_code == 503
    assert 1 < customer.refund.claims < 12, "the circuit breaker refuses the later ones"


@pytest.mark.on_each_database
def test_a_link_makes_at_most_twenty_recipients_however_many_ask_at_once(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_WEB_CALLS=32)
    customer = refunded(shop)
    with crowd(8) as customers:
        answers = Counter(
            answer.status_code for _ in range(4) for answer in customers.does([lambda: customer.sends()] * 8)
        )
    assert set(answers) <= {303, 429, 503}
    while customer.sends().status_code == 303:
        pass
    refund = customer.refund
    assert (len(recipients(shop)), refund.claims) == (20, 20)
    # Each stored claim counts once, in any order.
    assert refund.revision == len(shop.events("refund_claimed")) == 20
    revisions = [entry["revision"] for entry in lines(refund.history) if entry.get("to") == "waiting"]
    assert revisions == list(range(1, 21))
    last = customer.sends()
    assert (last.status_code, "sent too often" in last.text, "<form" in last.text) == (429, True, False)


@pytest.mark.parametrize(
    "answer",
    [
        success({"id": "rec_1"}),
        refusal(400, f"accountNumber {NUMBER} is unknown"),
        refusal(400, "accountNumber canary123456 is unknown"),
        refusal(503, f"cannot store {NUMBER}"),
        garbage(f"<html>{NUMBER}</html>".encode()),
        httpx.ReadError(f"lost while {NUMBER} was sent"),
        httpx.ConnectError("no route"),
    ],
    ids=["taken", "refused", "repeated", "failed", "garbage", "lost", "not reached"],
)
def test_no_account_number_is_logged_shown_or_written(shop: Shop, logged: Everything, answer: Answer) -> None:
    """SQLAlchemy logs each statement with its parameters here, so nothing was sent to the database either."""
    # A payment URL that a log of statements may show.
    shop.service.page = "https://pay.example/{id}"
    customer = refunded(shop)
    shop.service.instead_of_created = [answer]
    pages = [customer.sends(), customer.sends(email="zoe"), customer.sends(account_number=f"{NUMBER}!")]
    pages.append(customer.opens())
    explanation = str(shop.calls.explain("o-1"))
    assert "paycheckout_payout" in logged.text, "statements are logged"
    texts = "\n".join(
        [logged.text, explanation, everything_stored(shop), repr(customer.refund), *(page.text for page in pages)]
    )
    assert [word for word in ("canary-12", "canary12", "12 3456") if word in texts] == []
