"""The owner's form that refunds a payment: its proposals, its refusals, and that it refunds once."""

from __future__ import annotations

import html
import re
from decimal import Decimal
from typing import Any

import pytest
from werkzeug.test import TestResponse

from flask_paycheckout import ByHand, Receive, ToRecipient
from flask_paycheckout.database.state_table import lines
from flask_paycheckout.testing import Sandbox
from tests.books.test_report import has_second
from tests.checkouts.test_reversals import takes_back
from tests.conftest import OpenShop
from tests.payouts.shop import MAKER, committing, payout, payouts, refunds, stands
from tests.races.crowds import crowd
from tests.scripted import Shop, number
from tests.views.owner import (
    ROOT,
    decides,
    form_of,
    opens,
    opens_view,
    order_page,
    payout_page,
    refund_page,
    sends,
    text_of,
)


def test_a_refund_whose_payment_was_taken_back_is_told_and_leads_nowhere(desk: Shop) -> None:
    checkout_id = desk.has_paid()
    claimable, failed = (refunds(desk, checkout_id, "1").reference for _ in range(2))
    stands(desk, failed, status="failed")
    takes_back(desk, checkout_id)
    for reference, decision in ((claimable, "Cancel it"), (failed, "Give it up")):
        page = payout_page(desk, reference)
        assert "Its payment was taken back, so this refund is not sent" in text_of(page)
        assert (decision in page.text, "owner/refund?" in page.text) == (True, False)
        assert "Link for the customer" not in page.text
    assert refund_page(desk, checkout_id).status_code == 404
    assert "Left for refunds" not in text_of(order_page(desk))


def test_a_payment_is_refunded_in_part_and_whole(desk: Shop) -> None:
    checkout_id = desk.has_paid()
    assert f"refund?checkout={checkout_id}" in order_page(desk).text
    page = refund_page(desk, checkout_id)
    assert form_of(page)[1]["amount"] == "12.50", "all that is left, by default"
    answer = sends(desk, page, amount="2,50", why="one jar broke")
    [refund] = payouts(desk)
    assert (answer.status_code, answer.location.partition("&")[0]) == (
        303,
        f"{ROOT}/payout?reference={refund.reference}",
    )
    assert (refund.amount, refund.refund_of, refund.status) == (Decimal("2.50"), checkout_id, "claimable")
    assert lines(refund.history)[0]["by"] == "Ada"
    page = refund_page(desk, checkout_id)
    assert "Left for refunds $10.00" in text_of(page)
    assert refund.reference in page.text
    assert sends(desk, page, why="all broke").status_code == 303
    assert [str(payout.amount) for payout in payouts(desk)] == ["2.50", "10.00"]
    page = refund_page(desk, checkout_id)
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
    fields: dict[str, Any] = {"inputCurrency": "EUR", "inputAmount": number("9.2734"), "outputAmount": number("10.00")}
    checkout_id = desk.has_deposit("completed", **fields)
    assert desk.settles(checkout_id).status == "paid"
    assert "Refund it, or a part of it" in order_page(desk).text
    with committing(desk) as paycheckout:
        paycheckout.refund(checkout_id, by="Ada", why="broken")
    page = order_page(desk)
    assert "To be refunded €9.27 Left for refunds €0.00" in text_of(page)
    assert "Refund it, or a part of it" not in page.text


def test_a_customer_who_paid_from_a_wallet_is_paid_back_to_one(wallet_desk: tuple[Shop, str]) -> None:
    shop, checkout_id = wallet_desk
    page = refund_page(shop, checkout_id)
    typed = {"amount": "5", "send_amount": "6,5", "send_currency": "usdc-polygon"}
    estimate = sends(shop, page, **typed, estimate="1")
    assert "a fee of 0.124 usdc-polygon for sending 7" in text_of(estimate)
    assert (payouts(shop), 'value="6,5"' in estimate.text) == ([], True)
    assert sends(shop, page, **typed, why="one jar broke").status_code == 303
    [refund] = payouts(shop)
    assert (str(refund.amount), refund.currency, str(refund.counts)) == ("6.5", "usdc-polygon", "5.00")
    for path, query in (
        ("/payouts", {}),
        ("/refund", {"checkout": checkout_id}),
        ("/payout", {"reference": refund.reference}),
    ):
        assert "6.5 usdc-polygon for $5.00" in text_of(opens(shop, path, **query))
    assert "To be refunded $5.00 Left for refunds $7.50" in text_of(order_page(shop))
    stands(shop, refund.reference, status="failed")
    again = payout_page(shop, refund.reference)
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

    page = refund_page(shop, checkout_id)
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
    [refund] = payouts(shop)
    assert (refund.currency, str(refund.counts)) == ("usdc-polygon", "5.00")
    page = refund_page(shop, checkout_id)
    assert proposed(page)["amount"] == "7.50"
    assert sends(shop, page, **proposed(page), by_hand="1", why="paid in cash").status_code == 303
    assert payouts(shop)[-1].currency == "USD"


@pytest.mark.parametrize(
    "crypto", [None, {}, {"token": "usdc-polygon"}, {"token": "USD", "amount": 5}, {"token": 5, "amount": "x"}, [7]]
)
def test_the_amount_that_a_wallet_paid_is_not_guessed(desk: Shop, crypto: Any) -> None:
    checkout_id = desk.has_deposit("completed", paymentCrypto=crypto)
    assert desk.settles(checkout_id).status == "paid"
    assert desk.attempt(checkout_id).payment.token is None
    assert refund_page(desk, checkout_id).status_code == 200


_UNSENT: list[tuple[dict[str, str], int, str]] = [
    ({"send_amount": "7", "send_currency": "EUR", "estimate": "1"}, 200, "for tokens only"),
    ({"send_amount": "7", "send_currency": "gone-polygon", "estimate": "1"}, 200, "gave no estimate of the fee"),
    ({"send_amount": "7"}, 400, "neither an ISO 4217 code"),
    ({"send_amount": "1e3", "send_currency": "usdc-polygon"}, 400, "must be written like 12.50"),
    ({"send_amount": "7", "send_currency": "USD"}, 400, "in another currency than USD"),
]


def test_an_estimate_that_cannot_be_had_and_a_sum_that_cannot_be_sent_are_told(wallet_desk: tuple[Shop, str]) -> None:
    shop, checkout_id = wallet_desk
    page = refund_page(shop, checkout_id)
    for typed, code, message in _UNSENT:
        answer = sends(shop, page, **{"amount": "5", "why": "one jar broke"} | typed)
        assert (answer.status_code, payouts(shop)) == (code, [])
        assert message in text_of(answer)


def test_a_form_that_is_sent_twice_makes_one_refund(desk: Shop) -> None:
    page = refund_page(desk, desk.has_paid())
    assert sends(desk, page, amount="2", why="one jar broke").status_code == 303
    answer = sends(desk, page, amount="2", why="one jar broke")
    assert (answer.status_code, len(payouts(desk))) == (409, 1)
    assert "there is a refund that you had not seen" in answer.text
    assert form_of(answer)[1] | {"seen": ""} == {"seen": "", "amount": "2", "why": "one jar broke"}
    assert sends(desk, answer).status_code == 303, "who wants another one sends it again"
    assert len(payouts(desk)) == 2


def test_a_form_that_is_sent_again_after_its_refund_was_cancelled_makes_none(desk: Shop) -> None:
    page = refund_page(desk, desk.has_paid())
    sends(desk, page, amount="2", why="one jar broke")
    decides(desk, payouts(desk)[0].reference, "cancel")
    assert sends(desk, page, amount="2", why="one jar broke").status_code == 409
    assert len(payouts(desk)) == 1


@pytest.mark.on_each_database
def test_a_form_that_is_sent_by_many_at_once_makes_one_refund(desk: Shop) -> None:
    page = refund_page(desk, desk.has_paid())
    with crowd(8) as people:
        codes = people.does([lambda: sends(desk, page, amount="1", why="one jar broke").status_code] * 8)
    # After a wait of more than a second for the order's row, the page asks to try again.
    assert codes.count(303) == 1
    assert set(codes) <= {303, 409, 503}
    assert len(payouts(desk)) == 1


@pytest.mark.parametrize(
    ("fields", "code", "fault"),
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
    desk: Shop, fields: dict[str, str], code: int, fault: str
) -> None:
    page = refund_page(desk, desk.has_paid())
    typed = {"amount": "2.00", "why": 'the "blue" jar'} | fields
    answer = sends(desk, page, **typed)
    assert (answer.status_code, payouts(desk)) == (code, [])
    assert fault in text_of(answer)
    kept = form_of(answer)[1]
    assert (kept["amount"], kept["why"]) == (typed["amount"], typed["why"])
    assert "<b>" not in answer.text
    wrong = re.search(r'id="(\w+)"[^>]*aria-invalid="true"', answer.text)
    assert wrong is not None
    assert wrong[1] == next(iter(fields))


def test_the_form_tells_the_fee_that_was_taken_and_not_its_rate(desk: Shop) -> None:
    fee = {"amount": number("0.37"), "percentage": number("0.8"), "currency": "USD"}
    for order_id, rate, text in (("o-1", "1", ""), ("o-2", "1.25", "Exchange rate 1.25 ")):
        checkout_id = desk.starts(order_id)
        desk.settles(checkout_id, says="completed", fee=fee, exchangeInfo={"exchangeRate": number(rate)})
        page = text_of(refund_page(desk, checkout_id))
        assert f"You received $12.13, after a fee of $0.37 {text}Left for refunds" in page


def test_money_given_back_by_hand_is_recorded_on_the_refund_form_also_in_the_place_of_a_failed_refund(
    desk: Shop,
) -> None:
    checkout_id = desk.has_paid()
    failed = refunds(desk, checkout_id, "5", to=ToRecipient("rec_1")).reference
    stands(desk, failed, status="failed")
    page = payout_page(desk, failed)
    form = re.search(r'<a href="([^"]+)">record it as given back by hand</a>', page.text)
    assert form is not None
    answer = sends(desk, desk.browser.get(html.unescape(form[1])), why="cash", by_hand="1")
    assert answer.status_code == 303
    replaced, refund = payouts(desk)
    assert (refund.status, refund.to_kind, refund.amount, refund.replaces) == ("completed", "hand", 5, failed)
    assert (replaced.shown_status, replaced.replaced_by) == ("replaced", refund.reference)
    page = payout_page(desk, failed)
    assert "has failed and was replaced" in text_of(page)
    assert 'value="retry"' not in page.text


def test_a_refund_beside_one_that_failed_takes_its_place(desk: Shop) -> None:
    checkout_id = desk.has_paid()
    failed = refunds(desk, checkout_id, "5.00", to=MAKER)
    stands(desk, failed.reference, status="failed")
    page = refund_page(desk, checkout_id)
    _, carried = form_of(page)
    assert (carried["amount"], carried["replaces"]) == ("5.00", failed.reference)
    assert sends(desk, page, why="to another bank").status_code == 303
    assert payout(desk, failed.reference).state == "replaced"
    assert "replaces" not in form_of(refund_page(desk, checkout_id))[1]


def test_a_person_who_refunds_a_payment_is_shown_the_other_one_that_paid_no_order(desk: Shop) -> None:
    second = has_second("o-1", desk)
    desk.resolves(second, accept=False)
    first = next(each for each in desk.attempts() if each.status == "paid").checkout_id
    there = f"checkout={second}"
    assert there in refund_page(desk, first).text
    assert there not in refund_page(desk, second).text
    assert f"o-1#{second}" in opens(desk).text
    refunds(desk, second, to=MAKER)
    assert there not in refund_page(desk, first).text
    assert there not in order_page(desk).text, "nothing of it is left to refund"


def test_a_refund_of_money_that_was_taken_back_takes_nothing_of_other_payments(shop: Shop) -> None:
    opens_view(shop)
    shop.costs("100", parts=True)
    first, _ = (shop.settles(shop.has_arrived(each)).checkout_id for each in ("60", "30"))
    refunds(shop, first, "40", to=ByHand())
    takes_back(shop, first)
    assert "Refunded $40.00 Left for refunds $30.00" in text_of(order_page(shop))
