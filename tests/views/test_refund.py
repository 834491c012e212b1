"""The refund page: one answer for every bad link, typed text is kept and escaped, and each state is shown."""

from __future__ import annotations

import html
import re
from datetime import timedelta

import pytest

from flask_paycheckout import UnknownPayout
from flask_paycheckout.payouts.payout_states import PayoutStatus
from flask_paycheckout.security.signed_links import REFUND, STATUS
from tests.conftest import OpenShop
from tests.payouts.claiming import (
    FORM,
    NUMBER,
    TOKEN,
    WALLET,
    Customer,
    recipients,
    refunded,
    refunded_in_tokens,
)
from tests.payouts.shop import MAKER, committing, pays_out, refunds, sends, stands
from tests.scripted import CLIENT_SECRET, SAME_SITE, Shop, refusal
from tests.security.answers import told
from tests.security.test_markup import PAYLOADS, marks
from tests.views.owner import text_of
from tests.views.pages import heading, names

# A valid account: its last characters are a checksum.
STELLAR = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"

# The link


def test_a_refund_has_its_link_before_the_shop_commits(shop: Shop) -> None:
    checkout_id = shop.has_paid()
    with shop.app.app_context():
        reference = shop.paycheckout.refund(checkout_id, by="Ada", why="one jar broke").reference
        assert shop.paycheckout.refund_url(reference)
        shop.db.session.rollback()
        with pytest.raises(UnknownPayout, match="flask paycheckout payouts"):
            shop.paycheckout.refund_url(reference)
        pays_out(shop)
        with pytest.raises(ValueError, match="'maker-1' was made with its destination"):
            shop.paycheckout.refund_url("maker-1")


def test_a_link_that_opens_no_refund_gets_the_answer_of_the_other_pages_and_changes_nothing(shop: Shop) -> None:
    customer, sign = refunded(shop), shop.runtime.signed_links.sign
    pays_out(shop)
    answers = set()
    for token in (sign(STATUS, customer.reference), sign(REFUND, "maker-1"), sign(REFUND, "refund-0")):
        for method in ("GET", "POST"):
            path = f"/paycheckout/refunds/{token}"
            answers.add(told(shop.browser.open(path, method=method, data=FORM, headers=SAME_SITE)))
    answers.add(told(shop.browser.get("/paycheckout/orders/x", headers=SAME_SITE)))
    assert [answer.status for answer in answers] == [404]
    assert (customer.refund.claims, customer.refund.status, recipients(shop)) == (0, "claimable", [])
    assert customer.opens().status_code == 200, "a good one still opens it"


# The form


def test_a_body_that_is_no_text_or_has_thousands_of_fields_changes_nothing(shop: Shop) -> None:
    customer, form = refunded(shop), "application/x-www-form-urlencoded"
    for data in (b"account_name=%ff%fe&account_number=%ff", b"&".join(b"f%d=1" % count for count in range(3_000))):
        answer = shop.browser.post(customer.path, data=data, content_type=form, headers=SAME_SITE)
        assert (answer.status_code, customer.refund.claims, recipients(shop)) == (422, 0, [])


@pytest.mark.parametrize(
    ("field", "typed", "fault"),
    [
        ("city", None, "Please fill in this field."),
        ("account_number", "DE89 3704 0044 0532 0130 01", "This begins like an IBAN"),
        ("address", "1 Main\nStreet", "Please write this in one line"),
        ("bank_name", "x" * 256, "This is too long"),
        ("email", "zoe@example.com, bo@example.com", "This is not an e-mail address"),
        ("account_number", "canary-12 <3>", "This is not an account number"),
    ],
)
def test_a_fault_is_told_at_its_field_and_nothing_else_is_lost(
    shop: Shop, field: str, typed: str | None, fault: str
) -> None:
    customer = refunded(shop)
    answer = customer.sends(**{field: typed})
    assert (answer.status_code, recipients(shop), customer.refund.claims) == (422, [], 0)
    assert re.findall(r'<p id="(\w+)-fault" class="paycheckout-fault">', answer.text) == [field]
    assert fault in answer.text
    (input_,) = re.findall(f'<input id="{field}"[^>]*>', answer.text)
    assert 'aria-invalid="true"' in input_
    assert f"{field}-fault" in input_
    assert "autofocus" in input_
    values = dict(re.findall(r'<input id="(\w+)"[^>]*value="([^"]*)"', answer.text))
    values["country"] = "".join(re.findall(r'value="([^"]+)" selected', answer.text))
    kept = {name: html.unescape(value) for name, value in values.items() if name != field}
    assert kept == {name: value for name, value in FORM.items() if name != field} | (
        {} if field == "account_number" else {"account_number": ""}
    )


def test_nothing_typed_is_shown_unescaped(shop: Shop) -> None:
    customer = refunded(shop)
    # A line break is the same fault in each field, with any other text.
    fields = [name for name in FORM if name != "account_number"]
    refused = {text: customer.sends(**dict.fromkeys(fields, f"{text}\n.")) for text in ("plain", *PAYLOADS)}
    assert {answer.status_code for answer in refused.values()} == {422}
    marks_by_text = {}
    # A link takes at most 20 destinations.
    for text in ("plain", *PAYLOADS[:6]):
        customer.sends(account_name=f"{text}.", bank_name=f"{text}.")
        marks_by_text[text] = customer.opens()
    for answers in (refused, marks_by_text):
        for text, answer in answers.items():
            assert marks(answer.text) == marks(answers["plain"].text), text


def test_the_services_refusal_is_shown_beside_the_form_without_the_number(shop: Shop) -> None:
    customer = refunded(shop)
    shop.service.instead_of_created = [refusal(400, f"<b>accountNumber {NUMBER} is unknown</b>")]
    answer = customer.sends()
    assert answer.status_code == 422
    assert "The payment service did not accept this." in answer.text
    assert "&lt;b&gt;accountNumber *** is unknown&lt;/b&gt;" in answer.text
    assert 'value="First Bank"' in answer.text
    assert "Please type it again." in answer.text


def test_a_service_that_is_away_is_a_503_that_keeps_what_was_typed(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    customer = refunded(shop)
    shop.service.instead_of_created = [refusal(503, "Down")]
    response = customer.sends()
    assert (response.status_code, response.headers["Retry-After"]) == (503, "3600")
    assert "This could not be saved right now." in response.text
    assert "Please try again in about 60 minutes." in response.text
    assert 'value="Zoë Quist"' in response.text
    assert f"the destination of refund {customer.reference} was not stored" in caplog.text
    assert CLIENT_SECRET not in caplog.text
    shop.waits(seconds=5)
    assert customer.sends().status_code == 303


@pytest.mark.parametrize("address", ["", WALLET[:-1], "<b>"])
def test_a_wallet_of_the_wrong_form_is_told_and_kept(shop: Shop, address: str) -> None:
    customer = refunded_in_tokens(shop)
    answer = customer.names_wallet(address)
    assert answer.status_code == 422
    assert html.escape(address) in answer.text
    assert (f"not the address of a wallet for {TOKEN}" in answer.text) is bool(address)
    assert customer.refund.status == "claimable"


def test_a_refund_in_another_currency_asks_for_what_that_needs_and_says_both_sums(shop: Shop) -> None:
    refund = refunds(shop, shop.has_paid(), "5", send=("4.9", "usdc-stellar"))
    customer = Customer(shop, refund.reference)
    page = customer.opens("de").text
    assert ('name="wallet_address"' in page, "account_number" in page) == (True, False)
    assert "4,9\u00a0usdc-stellar" in page
    assert "5,00\u00a0$ Ihrer Zahlung" in page
    assert customer.names_wallet(WALLET).status_code == 422, "a wallet of another network"
    assert customer.names_wallet(STELLAR).status_code == 303
    assert (customer.refund.status, customer.refund.destination) == ("waiting", f"Wallet: {STELLAR}")


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        pytest.param("Ada\u3164\u2800\u200b\u202e Lovelace" + "\u115f" * 99, "Ada Lovelace", id="letters like nothing"),
        pytest.param("Ada" + " \u00a0" * 70 + "Lovelace", "Ada Lovelace", id="many blanks"),
        pytest.param("Ada •••• 3000", None, id="a bullet"),
        pytest.param("x" * 71, None, id="longer than a bank takes"),
        pytest.param("x" * 70, "x" * 70, id="as long as a bank takes"),
    ],
)
def test_an_approver_compares_the_text_that_is_stored(shop: Shop, typed: str, stored: str | None) -> None:
    customer = refunded(shop)
    assert customer.sends(account_name=typed, bank_name=typed).status_code == (422 if stored is None else 303)
    lines = (customer.refund.destination or "").split("\n")
    assert (f"Name: {stored}" in lines, f"Bank: {stored}" in lines) == ((stored is not None),) * 2


@pytest.mark.parametrize("address", [WALLET, WALLET.lower()])
def test_a_customer_is_told_where_nobody_notices_a_wrong_letter(shop: Shop, address: str) -> None:
    customer = refunded_in_tokens(shop)
    assert customer.names_wallet(WALLET.replace("A", "a", 1)).status_code == 422
    assert customer.names_wallet(address).status_code == 303
    assert ("compare each one with your wallet" in text_of(customer.opens())) == (address != WALLET)


# How it stands

HEADINGS = {
    PayoutStatus.CLAIMABLE: "Where should your refund go?",
    PayoutStatus.WAITING: "The shop is checking your refund",
    PayoutStatus.READY: "Your refund is being sent",
    PayoutStatus.SENDING: "Your refund is being sent",
    PayoutStatus.SENT: "Your refund was sent",
    PayoutStatus.COMPLETED: "Refunded",
    PayoutStatus.FAILED: "The shop is looking at your refund",
    PayoutStatus.UNKNOWN: "The shop is looking at your refund",
    PayoutStatus.CANCELLED: "This refund was cancelled",
}


def test_the_page_tells_how_the_refund_stands_and_has_a_form_until_it_is_approved(shop: Shop) -> None:
    customer = refunded(shop)
    for status in PayoutStatus:
        stands(shop, customer.reference, status=status.value, problem="bank 0815 refused zoe")
        answer = customer.opens()
        assert (answer.status_code, heading(answer.text)) == (200, HEADINGS[status])
        assert f'data-status="{status}"' in answer.text
        assert ("<form" in answer.text) is (status in ("claimable", "waiting"))
        assert "$5.00" in answer.text
        assert ("Check again" in answer.text) is (status not in ("claimable", "completed", "cancelled"))
        assert "bank 0815" not in answer.text
        assert customer.refund.refund_of not in answer.text
    stands(shop, customer.reference, status="failed", state="replaced")
    assert "Check again" not in customer.opens().text, "nothing becomes of it any more"


def test_a_refund_that_waits_for_a_day_with_room_is_not_called_unapproved(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_DAILY_LIMIT={"USD": "4.99"}, PAYCHECKOUT_ACCESS_TOKEN="token")
    customer = refunded(shop)
    customer.sends()
    with committing(shop) as paycheckout:
        paycheckout.approve_payout(customer.reference, by="Bo")
    sends(shop)
    assert (customer.refund.status, heading(customer.opens().text)) == ("waiting", "Your refund is being sent")


def test_a_payout_that_its_receiver_claims_is_not_called_a_refund(shop: Shop) -> None:
    pays_out(shop, "prize-1", to=None)
    for status in PayoutStatus:
        stands(shop, "prize-1", status=status.value)
        page = re.sub("<[^>]+>", "", Customer(shop, "prize-1").opens().text)
        assert "80" in page
        assert re.search("refund|pays you back", page, re.IGNORECASE) is None, status


def test_a_claim_page_tells_until_when_it_takes_an_answer(shop: Shop) -> None:
    pays_out(shop, "prize-1", to=None, expires=timedelta(days=14))
    end = shop.clock() + timedelta(days=14)
    assert f"Please say it before {end:%b} {end.day}, {end.year}, " in Customer(shop, "prize-1").opens("en").text
    assert f"{end:%Y/%m/%d} {end.hour}:{end:%M}\xa0UTCまで" in Customer(shop, "prize-1").opens("ja").text


def test_a_refund_in_tokens_ends_with_being_sent(shop: Shop) -> None:
    customer = refunded_in_tokens(shop)
    page = customer.opens().text
    assert f"5\xa0{TOKEN}" in page
    assert "a payment to a wrong address cannot be taken back" in page
    customer.names_wallet()
    groups = [WALLET[start : start + 4] for start in range(0, len(WALLET), 4)]
    assert f"Your wallet {' '.join(groups)}" in text_of(customer.opens()), "for eyes; copied, it has no spaces"
    assert f"<dd>{WALLET}</dd>" in re.sub("</?span[^>]*>", "", customer.opens().text)
    stands(shop, customer.reference, status="sent")
    page = customer.opens().text
    assert heading(page) == "Refunded"
    assert "was sent to your wallet" in page


def test_only_what_the_customer_said_is_shown_of_the_destination(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_APPROVE_OVER={"USD": "1"})
    customer = Customer(shop, refunds(shop, shop.has_paid(), "5", to=MAKER).reference)
    assert customer.refund.destination == "Recipient: rec_1"
    assert not names(customer.opens().text, "rec_1")
    customer.sends()
    page = customer.opens().text
    text = "Name of the account holder Zoë Quist Name of the bank First Bank The account number ends with 3456"
    assert text in text_of(customer.opens())
    assert "zoe@example.com" not in page
    assert "Main Street" not in page
    stands(shop, customer.reference, status="cancelled")
    assert "Zoë" not in customer.opens().text
