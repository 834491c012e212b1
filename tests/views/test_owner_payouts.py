"""The owner's pages about payouts and refunds: what they show, decisions, refunds and the transfer proof."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import unquote_plus

import httpx
import pytest
from werkzeug.test import TestResponse

from flask_paycheckout import Receive, ToBank, ToRecipient, ToWallet
from flask_paycheckout.database.state_table import lines
from flask_paycheckout.testing import Sandbox
from tests.books.test_report import has_second
from tests.checkouts.test_reversals import takes_back
from tests.conftest import OpenShop
from tests.payouts.claiming import TOKEN, WALLET, refunded
from tests.payouts.shop import MAKER, committing, payout, payouts, pays_out, refunds, stands
from tests.races.crowds import crowd
from tests.scripted import SAME_SITE, Shop, number, refusal
from tests.views.test_owner import ROOT, opens, opens_view, text_of

ACCOUNT = "GB29NWBK60161331926819"


def listed(answer: TestResponse) -> list[str]:
    """The references of the payouts that a page lists."""
    found = re.findall(r'<th scope="row"><a href="[^"]*/payout\?reference=([^"]*)">', answer.text)
    return [unquote_plus(html.unescape(reference)) for reference in found]


def form_of(answer: TestResponse) -> tuple[str, dict[str, str]]:
    """The address of a page's form, and the values that it carries."""
    found = re.search(r'<form class="decide" method="post" action="([^"]+)"', answer.text)
    assert found is not None
    fields = re.findall(r'<input [^>]*name="(seen|amount|why|replaces)"[^>]*value="([^"]*)"', answer.text)
    return html.unescape(found[1]), {name: html.unescape(value) for name, value in fields}


def sends(shop: Shop, page: TestResponse, headers: Mapping[str, str] = SAME_SITE, /, **given: str) -> TestResponse:
    """The answer to the form of a page, filled in."""
    address, carried = form_of(page)
    return shop.browser.post(address, data=carried | given, headers=headers)


def decides(shop: Shop, reference: str, decision: str, why: str = "checked", **given: Any) -> TestResponse:
    page = opens(shop, "/payout", reference=reference)
    return sends(shop, page, decision=decision, why=why, **given)


# The list


def test_payouts_and_refunds_are_listed_newest_first_and_chosen_by_state_and_kind(desk: Shop) -> None:
    pays_out(desk, "maker-1")
    pays_out(desk, "maker-2", approve=True)
    refund = refunds(desk, desk.has_paid(), "1.50").reference
    assert listed(opens(desk, "/payouts")) == [refund, "maker-2", "maker-1"]
    assert listed(opens(desk, "/payouts", status="waiting")) == ["maker-2"]
    assert listed(opens(desk, "/payouts", kind="refund")) == [refund]
    assert listed(opens(desk, "/payouts", kind="payout", status="ready")) == ["maker-1"]
    assert "There are none of these." in opens(desk, "/payouts", status="unknown").text
    shown = text_of(opens(desk, "/payouts"))
    assert "Refund no. 3 (order o-1) not said yet waits for its receiver asked for by Ada $1.50" in shown
    assert "Not sent yet: $161.50." in shown
    day = desk.clock().date()
    assert len(listed(opens(desk, "/payouts", **{"from": str(day), "to": str(day)}))) == 3
    assert listed(opens(desk, "/payouts", to=str(day - timedelta(days=1)))) == []
    assert listed(opens(desk, "/payouts", status="gone", kind="x", after="9" * 30)) == [refund, "maker-2", "maker-1"]


def test_the_list_and_the_log_say_what_went_out_and_who_let_it(desk: Shop) -> None:
    with committing(desk) as paycheckout:
        paycheckout.pay_out("p-1", "80.00", "USD", MAKER, approve=True, by="Bo")
    decides(desk, "p-1", "approve")
    refund = refunds(desk, desk.has_paid(), "1.50").reference
    decides(desk, refund, "cancel")
    stands(desk, "p-1", status="sent", state="sent")
    shown = text_of(opens(desk, "/payouts"))
    assert "asked for by Bo approved by Ada $80.00 today" in shown
    assert "Went out: $80.00. Not paid: $1.50." in shown
    log = text_of(opens(desk, "/deeds"))
    assert "today, 12:00 Ada approved Payout p-1 of $80.00" in log
    assert "Ada made Refund no. 2 (order o-1) of $1.50" in log, "not the whole payment"
    assert "Ready to be sent by Ada" in text_of(opens(desk, "/payout", reference="p-1"))
    assert "Approved, as listed above: $80.00." in log


def test_the_list_goes_on_page_after_page(desk: Shop) -> None:
    references = [f"maker-{each:02}" for each in range(30)]
    with committing(desk) as paycheckout:
        for reference in references:
            paycheckout.pay_out(reference, 1, "USD", ToBank("Bo", ACCOUNT, "nwb", "NatWest"))
    pays_out(desk, "waits", approve=True)
    first = opens(desk, "/payouts", status="ready", kind="payout")
    older = re.search(r'href="([^"]+)" rel="next"', first.text)
    assert older is not None
    second = desk.browser.get(html.unescape(older[1]))
    assert listed(first) + listed(second) == references[::-1]
    assert 'rel="next"' not in second.text


def test_a_name_can_say_no_other_fact_of_the_destination(desk: Shop) -> None:
    """Whoever has the link could otherwise show the approver the account that is expected."""
    customer = refunded(desk)
    customer.sends(account_name="Ada, Deutsche Bank, IBAN: Germany", bank_name="Number ends with: 3000")
    page = opens(desk, "/payout", reference=customer.reference)
    facts = dict(re.findall(r"<dt>(.*?)</dt>\s*<dd>(.*?)</dd>", page.text))
    assert (facts["Name"], facts["Bank"]) == ("Ada, Deutsche Bank, IBAN: Germany", "Number ends with: 3000")
    assert facts["Number ends with"] == "3456"
    assert "IBAN" not in facts


def test_an_approver_is_told_where_nobody_notices_a_wrong_letter(desk: Shop) -> None:
    for reference, address in (("maker-1", WALLET), ("maker-2", WALLET.lower())):
        pays_out(desk, reference, currency=TOKEN, to=ToWallet(address), approve=True)
        page = text_of(opens(desk, "/payout", reference=reference))
        assert ("compare each character" in page) == (address != WALLET)


def test_a_payout_that_is_not_stored_is_not_found(desk: Shop) -> None:
    for reference in ("", "maker-404", "a\nb", "x" * 300):
        for path in ("/payout", "/payout/proof"):
            assert opens(desk, path, reference=reference).status_code == 404, reference


# One payout


def test_a_payout_shows_what_a_person_needs_and_no_account_number(desk: Shop) -> None:
    pays_out(desk, to=ToBank("Bo <b>", ACCOUNT, "nwb", "NatWest"), note="jars", order_id="o-1", approve=True)
    stands(desk, "maker-1", fee="0.58", problem="The bank <i>slept", problem_since=desk.clock())
    page = opens(desk, "/payout", reference="maker-1")
    shown = text_of(page)
    for told in (
        "Amount $80.00",
        "Fee $0.58",
        "Name Bo <b> Bank NatWest IBAN United Kingdom, NWBK Number ends with 6819",
        "jars",
        "The bank <i>slept",
        "Made for 80.00 USD",
    ):
        assert told in shown
    assert payout(desk, "maker-1").service_reference in shown
    for page_of in (page, opens(desk, "/payouts")):
        assert ACCOUNT not in page_of.text
        assert "<b>" not in page_of.text
        assert "<i>" not in page_of.text


def test_a_payout_that_nobody_has_claimed_waits_for_its_receiver_and_for_no_customer(desk: Shop) -> None:
    pays_out(desk, "prize-1", to=None)
    shown = text_of(opens(desk, "/payout", reference="prize-1"))
    assert ("waits for its receiver" in shown, "customer" in shown) == (True, False)


# Decisions


@pytest.mark.parametrize(
    ("status", "decision", "becomes"),
    [
        ("waiting", "approve", "ready"),
        ("waiting", "cancel", "cancelled"),
        ("failed", "retry", "ready"),
        ("unknown", "sent", "sent"),
        ("unknown", "not_sent", "ready"),
        ("sent", "returned", "failed"),
        ("sent", "amended", "completed"),
    ],
)
def test_a_decision_is_recorded_with_who_and_why(desk: Shop, status: str, decision: str, becomes: str) -> None:
    pays_out(desk)
    stands(desk, "maker-1", status=status, reported_amount="79.00" if decision == "amended" else None)
    answer = decides(desk, "maker-1", decision, by="Mallory")
    assert (answer.status_code, answer.location.partition("&")[0]) == (303, f"{ROOT}/payout?reference=maker-1")
    now = payout(desk, "maker-1")
    assert now.status == becomes
    last = lines(now.history)[-1]
    assert (last["by"], last["why"]) == ("Ada", "checked")
    assert re.search(r": Ada [a-z ,]+: checked", text_of(desk.browser.get(answer.location)))


def test_a_transfer_that_came_back_is_not_sent_again_when_its_state_has_changed(desk: Shop) -> None:
    pays_out(desk)
    stands(desk, "maker-1", status="sent")
    page = opens(desk, "/payout", reference="maker-1")
    stands(desk, "maker-1", status="unknown")
    answer = sends(desk, page, decision="returned", why="the bank says so")
    assert (answer.status_code, payout(desk, "maker-1").status) == (409, "unknown")


def test_one_whose_account_number_was_wiped_is_not_offered_to_be_tried_again(desk: Shop) -> None:
    pays_out(desk)
    stands(desk, "maker-1", status="failed", to_details=None)
    assert "Try again" not in text_of(opens(desk, "/payout", reference="maker-1"))


def test_the_page_of_a_payout_leads_to_its_order_though_nobody_has_paid_that(desk: Shop) -> None:
    pays_out(desk, order_id="o-9")
    link = re.search(r'href="([^"]*/order\?order_id=o-9)"', opens(desk, "/payout", reference="maker-1").text)
    assert link is not None
    page = desk.browser.get(link[1])
    assert (page.status_code, "Payout maker-1" in text_of(page)) == (200, True)
    assert "Erase for ever" in page.text


def test_approving_needs_no_reason_and_the_others_do(desk: Shop) -> None:
    pays_out(desk, approve=True)
    for decision in ("cancel", "", "pay"):
        answer = decides(desk, "maker-1", decision, why=" ")
        assert (answer.status_code, payout(desk, "maker-1").status) == (400, "waiting")
    assert decides(desk, "maker-1", "approve", why="").status_code == 303
    assert payout(desk, "maker-1").status == "ready"


def test_an_approval_is_of_what_the_person_saw(desk: Shop) -> None:
    pays_out(desk, approve=True)
    page = opens(desk, "/payout", reference="maker-1")
    stands(desk, "maker-1", revision=1, destination="recipient rec_2")
    answer = sends(desk, page, decision="approve", why="as agreed")
    assert (answer.status_code, payout(desk, "maker-1").status) == (409, "waiting")
    shown = text_of(answer)
    assert "Its destination changed since you saw it" in shown
    assert "recipient rec_2" in shown
    assert 'value="as agreed"' in answer.text, "nothing typed is lost"
    assert "checked>" not in answer.text, "but the choice was made for something else"
    assert sends(desk, answer, decision="approve").status_code == 303
    assert payout(desk, "maker-1").status == "ready"


def test_an_approval_without_the_revision_approves_nothing(desk: Shop) -> None:
    pays_out(desk, approve=True)
    for seen in ("", "x", "-1", "1", "٣", "9" * 40):
        assert decides(desk, "maker-1", "approve", seen=seen).status_code == 409, seen
    assert payout(desk, "maker-1").status == "waiting"


# Refunds


def test_a_refund_whose_payment_was_taken_back_is_told_and_leads_nowhere(desk: Shop) -> None:
    checkout_id = desk.has_paid()
    claimable, failed = (refunds(desk, checkout_id, "1").reference for _ in range(2))
    stands(desk, failed, status="failed")
    takes_back(desk, checkout_id)
    for reference, decision in ((claimable, "Cancel it"), (failed, "Give it up")):
        page = opens(desk, "/payout", reference=reference)
        assert "Its payment was taken back, so this refund is not sent" in text_of(page)
        assert (decision in page.text, "owner/refund?" in page.text) == (True, False)
        assert "Link for the customer" not in page.text
    assert opens(desk, "/refund", checkout=checkout_id).status_code == 404
    assert "Left for refunds" not in text_of(opens(desk, "/order", order_id="o-1"))


def test_a_payment_is_refunded_in_part_and_whole(desk: Shop) -> None:
    checkout_id = desk.has_paid()
    assert f"refund?checkout={checkout_id}" in opens(desk, "/order", order_id="o-1").text
    page = opens(desk, "/refund", checkout=checkout_id)
    assert form_of(page)[1]["amount"] == "12.50", "all that is left, by default"
    answer = sends(desk, page, amount="2.50", why="one jar broke")
    [made] = payouts(desk)
    assert (answer.status_code, answer.location.partition("&")[0]) == (303, f"{ROOT}/payout?reference={made.reference}")
    assert (made.amount, made.refund_of, made.status) == (Decimal("2.50"), checkout_id, "claimable")
    assert lines(made.history)[0]["by"] == "Ada"
    page = opens(desk, "/refund", checkout=checkout_id)
    assert "Left for refunds $10.00" in text_of(page)
    assert made.reference in page.text
    assert sends(desk, page, why="all broke").status_code == 303
    assert [str(one.amount) for one in payouts(desk)] == ["2.50", "10.00"]
    page = opens(desk, "/refund", checkout=checkout_id)
    assert "All of it is refunded" in page.text
    assert 'class="decide"' not in page.text


@pytest.fixture
def wallet_desk(open_shop: OpenShop, paycheckout_sandbox: Sandbox) -> tuple[Shop, str]:
    """Ada's shop, with the checkout of a customer who has paid 12.50 USD from a wallet."""
    shop = opens_view(open_shop(sandbox=paycheckout_sandbox))
    checkout_id = shop.starts("o-1")
    paycheckout_sandbox.pick(checkout_id, "us_usdc_polygon")
    paycheckout_sandbox.pay(checkout_id)
    shop.settles(checkout_id)
    return shop, checkout_id


def test_nothing_is_left_once_a_refund_takes_all_that_can_be_paid(desk: Shop) -> None:
    desk.totals["o-1"] = Receive("10.00", "USD", pay_in="EUR")
    said: dict[str, Any] = {"inputCurrency": "EUR", "inputAmount": number("9.2734"), "outputAmount": number("10.00")}
    checkout_id = desk.has_deposit("completed", **said)
    assert desk.settles(checkout_id).status == "paid"
    assert "Refund it, or a part of it" in opens(desk, "/order", order_id="o-1").text
    with committing(desk) as paycheckout:
        paycheckout.refund(checkout_id, by="Ada", why="broken")
    page = opens(desk, "/order", order_id="o-1")
    assert "To be refunded €9.27 Left for refunds €0.00" in text_of(page)
    assert "Refund it, or a part of it" not in page.text


def test_who_paid_from_a_wallet_is_paid_back_to_one(wallet_desk: tuple[Shop, str]) -> None:
    shop, checkout_id = wallet_desk
    page = opens(shop, "/refund", checkout=checkout_id)
    typed = {"amount": "5", "send_amount": "6,5", "send_currency": "usdc-polygon"}
    asked = sends(shop, page, **typed, estimate="1")
    assert "a fee of 0.124 usdc-polygon for sending 7" in text_of(asked)
    assert (payouts(shop), 'value="6,5"' in asked.text) == ([], True)
    assert sends(shop, page, **typed, why="one jar broke").status_code == 303
    [made] = payouts(shop)
    assert (str(made.amount), made.currency, str(made.counts)) == ("6.5", "usdc-polygon", "5.00")
    for path, query in (
        ("/payouts", {}),
        ("/refund", {"checkout": checkout_id}),
        ("/payout", {"reference": made.reference}),
    ):
        assert "6.5 usdc-polygon for $5.00" in text_of(opens(shop, path, **query))
    assert "To be refunded $5.00 Left for refunds $7.50" in text_of(opens(shop, "/order", order_id="o-1"))
    stands(shop, made.reference, status="failed")
    again = opens(shop, "/payout", reference=made.reference)
    link = re.search(r'href="([^"]*/refund\?[^"]*send_amount[^"]*)"', again.text)
    assert link is not None
    assert form_of(shop.browser.get(html.unescape(link[1])))[1]["amount"] == "5.00"


def test_a_refund_to_a_wallet_proposes_the_token_and_the_share_of_it_that_was_paid(
    wallet_desk: tuple[Shop, str],
) -> None:
    shop, checkout_id = wallet_desk
    paid = shop.attempt(checkout_id).payment.token
    assert paid.currency == "usdc-polygon"

    def proposed(page: TestResponse) -> dict[str, str]:
        fields = re.findall(
            r'<input [^>]*name="(amount|send_amount|send_currency|offered)"[^>]*value="([^"]*)"', page.text
        )
        return dict(fields)

    page = opens(shop, "/refund", checkout=checkout_id)
    whole = proposed(page)
    assert (whole["amount"], whole["send_currency"]) == ("12.50", "usdc-polygon")
    assert Decimal(whole["send_amount"]) == paid.amount
    assert '<option value="usdc-polygon">' in page.text
    part = whole | {"amount": "5"}
    answer = sends(shop, page, **part, why="one jar broke")
    assert (answer.status_code, payouts(shop)) == (409, []), "the sum to send was for another amount"
    share = proposed(answer)
    assert Decimal(share["send_amount"]) == paid.amount * 5 / Decimal("12.50")
    assert sends(shop, answer, **share, why="one jar broke").status_code == 303
    [made] = payouts(shop)
    assert (made.currency, str(made.counts)) == ("usdc-polygon", "5.00")
    page = opens(shop, "/refund", checkout=checkout_id)
    assert proposed(page)["amount"] == "7.50"
    assert sends(shop, page, **proposed(page), by_hand="1", why="paid in cash").status_code == 303
    assert payouts(shop)[-1].currency == "USD"


@pytest.mark.parametrize(
    "crypto", [None, {}, {"token": "usdc-polygon"}, {"token": "USD", "amount": 5}, {"token": 5, "amount": "x"}, [7]]
)
def test_what_a_wallet_paid_is_not_guessed(desk: Shop, crypto: Any) -> None:
    checkout_id = desk.has_deposit("completed", paymentCrypto=crypto)
    assert desk.settles(checkout_id).status == "paid"
    assert desk.attempt(checkout_id).payment.token is None
    assert opens(desk, "/refund", checkout=checkout_id).status_code == 200


_UNSENT: list[tuple[dict[str, str], int, str]] = [
    ({"send_amount": "7", "send_currency": "EUR", "estimate": "1"}, 200, "for tokens only"),
    ({"send_amount": "7", "send_currency": "gone-polygon", "estimate": "1"}, 200, "gave no estimate of the fee"),
    ({"send_amount": "7"}, 400, "neither an ISO 4217 code"),
    ({"send_amount": "1e3", "send_currency": "usdc-polygon"}, 400, "must be written like 12.50"),
    ({"send_amount": "7", "send_currency": "USD"}, 400, "in another currency than USD"),
]


def test_an_estimate_that_cannot_be_had_and_a_sum_that_cannot_be_sent_are_told(wallet_desk: tuple[Shop, str]) -> None:
    shop, checkout_id = wallet_desk
    page = opens(shop, "/refund", checkout=checkout_id)
    for typed, code, told in _UNSENT:
        answer = sends(shop, page, **{"amount": "5", "why": "one jar broke"} | typed)
        assert (answer.status_code, payouts(shop)) == (code, [])
        assert told in text_of(answer)


def test_a_form_that_is_sent_twice_makes_one_refund(desk: Shop) -> None:
    page = opens(desk, "/refund", checkout=desk.has_paid())
    assert sends(desk, page, amount="2", why="one jar broke").status_code == 303
    answer = sends(desk, page, amount="2", why="one jar broke")
    assert (answer.status_code, len(payouts(desk))) == (409, 1)
    assert "there is a refund that you had not seen" in answer.text
    assert form_of(answer)[1] | {"seen": ""} == {"seen": "", "amount": "2", "why": "one jar broke"}
    assert sends(desk, answer).status_code == 303, "who wants another one sends it again"
    assert len(payouts(desk)) == 2


def test_a_form_that_is_sent_again_after_its_refund_was_cancelled_makes_none(desk: Shop) -> None:
    page = opens(desk, "/refund", checkout=desk.has_paid())
    sends(desk, page, amount="2", why="one jar broke")
    decides(desk, payouts(desk)[0].reference, "cancel")
    assert sends(desk, page, amount="2", why="one jar broke").status_code == 409
    assert len(payouts(desk)) == 1


@pytest.mark.on_each_database
def test_a_form_that_is_sent_by_many_at_once_makes_one_refund(desk: Shop) -> None:
    page = opens(desk, "/refund", checkout=desk.has_paid())
    with crowd(8) as people:
        codes = people.does([lambda: sends(desk, page, amount="1", why="one jar broke").status_code] * 8)
    # A person who waits for the order's row longer than a second is told to try again.
    assert codes.count(303) == 1
    assert set(codes) <= {303, 409, 503}
    assert len(payouts(desk)) == 1


@pytest.mark.parametrize(
    ("given", "code", "fault"),
    [
        ({"amount": ""}, 400, "say how much"),
        ({"amount": "1E-2"}, 400, "must be written like 12.50"),
        ({"why": "\u200b\u2060 \u3164"}, 400, "Say why"),
        ({"amount": "1,250"}, 400, "write 1250, or 1.2500"),
        ({"amount": "1.2345"}, 400, "more decimals than USD has"),
        ({"amount": "<b>1"}, 400, "is not a decimal number"),
        ({"amount": "12.51"}, 409, "only 12.50 USD of the payment are left"),
    ],
)
def test_a_refund_that_cannot_be_made_is_told_beside_what_was_typed(
    desk: Shop, given: dict[str, str], code: int, fault: str
) -> None:
    page = opens(desk, "/refund", checkout=desk.has_paid())
    typed = {"amount": "2.00", "why": 'the "blue" jar'} | given
    answer = sends(desk, page, **typed)
    assert (answer.status_code, payouts(desk)) == (code, [])
    assert fault in text_of(answer)
    kept = form_of(answer)[1]
    assert (kept["amount"], kept["why"]) == (typed["amount"], typed["why"])
    assert "<b>" not in answer.text
    wrong = re.search(r'id="(\w+)"[^>]*aria-invalid="true"', answer.text)
    assert wrong is not None
    assert wrong[1] == next(iter(given))


def test_the_form_tells_the_fee_that_was_taken_and_not_its_rate(desk: Shop) -> None:
    fee = {"amount": number("0.37"), "percentage": number("0.8"), "currency": "USD"}
    for order_id, rate, told in (("o-1", "1", ""), ("o-2", "1.25", "Exchange rate 1.25 ")):
        checkout_id = desk.starts(order_id)
        desk.settles(checkout_id, says="completed", fee=fee, exchangeInfo={"exchangeRate": number(rate)})
        page = text_of(opens(desk, "/refund", checkout=checkout_id))
        assert f"You received $12.13, after a fee of $0.37 {told}Left for refunds" in page


def test_an_amount_may_have_either_decimal_mark(desk: Shop) -> None:
    checkout_id = desk.has_paid()
    page = opens(desk, "/refund", checkout=checkout_id)
    assert form_of(page)[1]["amount"] == "12.50"
    assert sends(desk, page, amount="1,234", why="no thousands").status_code == 400
    assert sends(desk, page, amount="2,50", why="one jar broke").status_code == 303
    assert [one.amount for one in payouts(desk)] == [Decimal("2.50")]


def test_what_cannot_be_refunded_has_no_form(desk: Shop) -> None:
    waiting = desk.starts("o-1")
    for checkout_id in (waiting, "chk-404", "", "a\nb"):
        assert opens(desk, "/refund", checkout=checkout_id).status_code == 404


def test_money_given_back_by_hand_is_recorded_on_the_refund_form_also_in_the_place_of_a_failed_refund(
    desk: Shop,
) -> None:
    checkout_id = desk.has_paid()
    failed = refunds(desk, checkout_id, "5", to=ToRecipient("rec_1")).reference
    stands(desk, failed, status="failed")
    page = opens(desk, "/payout", reference=failed)
    form = re.search(r'<a href="([^"]+)">record it as given back by hand</a>', page.text)
    assert form is not None
    answer = sends(desk, desk.browser.get(html.unescape(form[1])), why="cash", by_hand="1")
    assert answer.status_code == 303
    replaced, refund = payouts(desk)
    assert (refund.status, refund.to_kind, refund.amount, refund.replaces) == ("completed", "hand", 5, failed)
    assert (replaced.shown_status, replaced.replaced_by) == ("replaced", refund.reference)
    page = opens(desk, "/payout", reference=failed)
    assert "has failed and was replaced" in text_of(page)
    assert 'value="retry"' not in page.text


# The transfer proof


STRANGE = 'a";/../é\u202e.exe'


def test_a_completed_transfer_has_its_proof_to_save(desk: Shop) -> None:
    pays_out(desk, STRANGE)
    stands(desk, STRANGE, status="completed", disbursement_id="d-1")
    pdf = {"Content-Type": "application/pdf"}
    desk.service.deposits["report"] = httpx.Response(200, content=b"%PDF-1.7", headers=pdf)
    assert "payout/proof?reference=" in opens(desk, "/payout", reference=STRANGE).text
    answer = opens(desk, "/payout/proof", reference=STRANGE)
    assert (answer.status_code, answer.mimetype, answer.data) == (200, "application/pdf", b"%PDF-1.7")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="transfer-proof-a-..-.exe.pdf"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_transfer_that_is_not_completed_has_no_proof(desk: Shop) -> None:
    pays_out(desk)
    stands(desk, "maker-1", status="sent", disbursement_id="d-1")
    answer = opens(desk, "/payout/proof", reference="maker-1")
    assert (answer.status_code, desk.service.reads) == (409, [])
    assert "only a completed bank transfer has one" in answer.text
    assert "payout/proof" not in opens(desk, "/payout", reference="maker-1").text


def test_a_service_that_fails_is_told_and_no_transaction_is_open_meanwhile(desk: Shop) -> None:
    pays_out(desk)
    stands(desk, "maker-1", status="completed", disbursement_id="d-1")
    desk.service.deposits["report"] = refusal(503, "closed <b>for lunch")
    pool = desk.runtime.engine().pool
    used: list[int] = []
    desk.service.meanwhile = lambda: used.append(pool.checkedout())  # type: ignore[attr-defined]
    answer = opens(desk, "/payout/proof", reference="maker-1")
    assert (answer.status_code, used) == (502, [0])
    assert "The service gave no transfer proof:" in answer.text
    assert "closed <b>for lunch" in text_of(answer)
    assert "<b>" not in answer.text


def test_a_refund_beside_one_that_failed_takes_its_place(desk: Shop) -> None:
    checkout_id = desk.has_paid()
    failed = refunds(desk, checkout_id, "5.00", to=MAKER)
    stands(desk, failed.reference, status="failed")
    page = opens(desk, "/refund", checkout=checkout_id)
    _, carried = form_of(page)
    assert (carried["amount"], carried["replaces"]) == ("5.00", failed.reference)
    assert sends(desk, page, why="to another bank").status_code == 303
    assert payout(desk, failed.reference).state == "replaced"
    assert "replaces" not in form_of(opens(desk, "/refund", checkout=checkout_id))[1]


def test_who_refunds_the_payment_of_an_order_is_told_of_the_other_that_paid_none(desk: Shop) -> None:
    second = has_second("o-1", desk)
    desk.resolves(second, accept=False)
    first = next(each for each in desk.attempts() if each.status == "paid").checkout_id
    there = f"checkout={second}"
    assert there in opens(desk, "/refund", checkout=first).text
    assert there not in opens(desk, "/refund", checkout=second).text
    assert f"o-1#{second}" in opens(desk).text
    refunds(desk, second, to=MAKER)
    assert there not in opens(desk, "/refund", checkout=first).text
    assert there not in opens(desk, "/order", order_id="o-1").text, "nothing of it is left to refund"


def test_who_asked_for_a_refund_and_why_stands_above_the_buttons(desk: Shop) -> None:
    refund = refunds(desk, desk.has_paid(), to=MAKER, why="one jar broke")
    stands(desk, refund.reference, status="waiting", problem="it waits for the next day")
    page = text_of(opens(desk, "/payout", reference=refund.reference))
    assert "Asked for by Ada: one jar broke" in page.partition("What becomes of")[0]
    assert "It waits for the next day." in page


def test_a_bank_that_the_service_does_not_pay_to_is_named(desk: Shop) -> None:
    pays_out(desk, to=ToBank("Zoë Quist", "40001234", "nowhere", "Bank of Nowhere"))
    stands(desk, "maker-1", status="failed", problem="POST /v2/disbursement/fiat: 400 Bad Request: no bank")
    page = text_of(opens(desk, "/payout", reference="maker-1"))
    assert "The payments service may not pay to Bank of Nowhere: pay it to another account" in page
    stands(desk, "maker-1", disbursement_id="dis_1")
    assert "It did not arrive" in text_of(opens(desk, "/payout", reference="maker-1"))


def test_only_who_may_approve_a_refund_is_asked_before_its_link_is_shown(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_APPROVE_BY_ANOTHER=True)
    who = ["Ada"]
    opens_view(shop, lambda: who[0])
    page = {"reference": refunds(shop, shop.has_paid()).reference}
    assert "/paycheckout/refunds/" in opens(shop, "/payout", **page).text, "who asked for it cannot approve it anyway"
    who[0] = "Bo"
    assert "/paycheckout/refunds/" not in opens(shop, "/payout", **page).text
