"""The owner's pages about payouts and refunds: their content, decisions, and the transfer proof."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from urllib.parse import unquote_plus

import httpx
import pytest
from werkzeug.test import TestResponse

from flask_paycheckout import ToBank, ToWallet
from flask_paycheckout.database.state_table import lines
from tests.conftest import OpenShop
from tests.payouts.claiming import TOKEN, WALLET, refunded
from tests.payouts.shop import MAKER, committing, payout, pays_out, refunds, stands
from tests.scripted import Shop, refusal
from tests.views.owner import (
    ROOT,
    decides,
    opens,
    opens_view,
    payout_page,
    sends,
    text_of,
)

ACCOUNT = "GB29NWBK60161331926819"


def listed(answer: TestResponse) -> list[str]:
    """The references of the payouts on a page."""
    references = re.findall(r'<th scope="row"><a href="[^"]*/payout\?reference=([^"]*)">', answer.text)
    return [unquote_plus(html.unescape(reference)) for reference in references]


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
    text = text_of(opens(desk, "/payouts"))
    assert "Refund no. 3 (order o-1) not said yet waits for its receiver asked for by Ada $1.50" in text
    assert "Not sent yet: $161.50." in text
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
    text = text_of(opens(desk, "/payouts"))
    assert "asked for by Bo approved by Ada $80.00 today" in text
    assert "Went out: $80.00. Not paid: $1.50." in text
    log = text_of(opens(desk, "/deeds"))
    assert "today, 12:00 Ada approved Payout p-1 of $80.00" in log
    assert "Ada made Refund no. 2 (order o-1) of $1.50" in log, "not the whole payment"
    assert "today, 12:00 Ada approved it: checked" in text_of(payout_page(desk, "p-1"))
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
    """Otherwise a person with the link could show the approver the expected account."""
    customer = refunded(desk)
    customer.sends(account_name="Ada, Deutsche Bank, IBAN: Germany", bank_name="Number ends with: 3000")
    page = payout_page(desk, customer.reference)
    facts = dict(re.findall(r"<dt>(.*?)</dt>\s*<dd>(.*?)</dd>", page.text))
    assert (facts["Name"], facts["Bank"]) == ("Ada, Deutsche Bank, IBAN: Germany", "Number ends with: 3000")
    assert facts["Number ends with"] == "3456"
    assert "IBAN" not in facts


def test_an_approver_is_told_where_nobody_notices_a_wrong_letter(desk: Shop) -> None:
    for reference, address in (("maker-1", WALLET), ("maker-2", WALLET.lower())):
        pays_out(desk, reference, currency=TOKEN, to=ToWallet(address), approve=True)
        page = text_of(payout_page(desk, reference))
        assert ("compare each character" in page) == (address != WALLET)


# One payout


def test_a_payout_shows_what_a_person_needs_and_no_account_number(desk: Shop) -> None:
    pays_out(desk, to=ToBank("Bo <b>", ACCOUNT, "nwb", "NatWest"), note="jars", order_id="o-1", approve=True)
    stands(desk, "maker-1", fee="0.58", problem="The bank <i>slept", problem_since=desk.clock())
    page = payout_page(desk)
    text = text_of(page)
    for fact in (
        "Amount $80.00",
        "Fee $0.58",
        "Name Bo <b> Bank NatWest IBAN United Kingdom, NWBK Number ends with 6819",
        "jars",
        "The bank <i>slept",
        "Made for 80.00 USD",
    ):
        assert fact in text
    assert payout(desk, "maker-1").service_reference in text
    for page_of in (page, opens(desk, "/payouts")):
        assert ACCOUNT not in page_of.text
        assert "<b>" not in page_of.text
        assert "<i>" not in page_of.text


def test_a_payout_that_nobody_has_claimed_waits_for_its_receiver_and_for_no_customer(desk: Shop) -> None:
    pays_out(desk, "prize-1", to=None)
    text = text_of(payout_page(desk, "prize-1"))
    assert ("waits for its receiver" in text, "customer" in text) == (True, False)


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


def test_both_ends_of_an_unknown_payout_are_offered_alike(desk: Shop) -> None:
    pays_out(desk)
    stands(desk, "maker-1", status="unknown")
    form = payout_page(desk).text.partition("<fieldset>")[2].partition("</fieldset>")[0]
    assert ("It was sent" in form, "It was not sent" in form, "<details" in form) == (True, True, False)


def test_a_transfer_that_came_back_is_not_sent_again_when_its_state_has_changed(desk: Shop) -> None:
    pays_out(desk)
    stands(desk, "maker-1", status="sent")
    page = payout_page(desk)
    stands(desk, "maker-1", status="unknown")
    answer = sends(desk, page, decision="returned", why="the bank says so")
    assert (answer.status_code, payout(desk, "maker-1").status) == (409, "unknown")


def test_one_whose_account_number_was_wiped_is_not_offered_to_be_tried_again(desk: Shop) -> None:
    pays_out(desk)
    stands(desk, "maker-1", status="failed", to_details=None)
    assert "Try again" not in text_of(payout_page(desk))


def test_the_page_of_a_payout_leads_to_its_order_though_nobody_has_paid_that(desk: Shop) -> None:
    pays_out(desk, order_id="o-9")
    link = re.search(r'href="([^"]*/order\?order_id=o-9)"', payout_page(desk).text)
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
    page = payout_page(desk)
    stands(desk, "maker-1", revision=1, destination="recipient rec_2")
    answer = sends(desk, page, decision="approve", why="as agreed")
    assert (answer.status_code, payout(desk, "maker-1").status) == (409, "waiting")
    text = text_of(answer)
    assert "Its destination changed since you saw it" in text
    assert "recipient rec_2" in text
    assert 'value="as agreed"' in answer.text, "nothing typed is lost"
    assert "checked>" not in answer.text, "but the choice was made for something else"
    assert sends(desk, answer, decision="approve").status_code == 303
    assert payout(desk, "maker-1").status == "ready"


def test_an_approval_without_the_revision_approves_nothing(desk: Shop) -> None:
    pays_out(desk, approve=True)
    for seen in ("", "x", "-1", "1", "٣", "9" * 40):
        assert decides(desk, "maker-1", "approve", seen=seen).status_code == 409, seen
    assert payout(desk, "maker-1").status == "waiting"


# The transfer proof


STRANGE = 'a";/../é\u202e.exe'


def test_a_completed_transfer_has_its_proof_to_save(desk: Shop) -> None:
    pays_out(desk, STRANGE)
    stands(desk, STRANGE, status="completed", disbursement_id="d-1")
    pdf = {"Content-Type": "application/pdf"}
    desk.service.deposits["report"] = httpx.Response(200, content=b"%PDF-1.7", headers=pdf)
    assert "payout/proof?reference=" in payout_page(desk, STRANGE).text
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
    assert "payout/proof" not in payout_page(desk).text


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


def test_requester_and_reason_of_a_refund_stand_above_the_buttons(desk: Shop) -> None:
    refund = refunds(desk, desk.has_paid(), to=MAKER, why="one jar broke")
    stands(desk, refund.reference, status="waiting", problem="it waits for the next day")
    page = text_of(payout_page(desk, refund.reference))
    assert "Asked for by Ada: one jar broke" in page.partition("What becomes of")[0]
    assert "It waits for the next day." in page


def test_a_bank_that_the_service_does_not_pay_to_is_named(desk: Shop) -> None:
    pays_out(desk, to=ToBank("Zoë Quist", "40001234", "nowhere", "Bank of Nowhere"))
    stands(desk, "maker-1", status="failed", problem="POST /v2/disbursement/fiat: 400 Bad Request: no bank")
    page = text_of(payout_page(desk))
    assert "The payments service may not pay to Bank of Nowhere: pay it to another account" in page
    stands(desk, "maker-1", disbursement_id="dis_1")
    assert "It did not arrive" in text_of(payout_page(desk))


def test_only_who_may_approve_a_refund_is_asked_before_its_link_is_shown(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_APPROVE_BY_ANOTHER=True)
    who = ["Ada"]
    opens_view(shop, lambda: who[0])
    page = {"reference": refunds(shop, shop.has_paid()).reference}
    assert "/paycheckout/refunds/" in opens(shop, "/payout", **page).text, "who asked for it cannot approve it anyway"
    who[0] = "Bo"
    assert "/paycheckout/refunds/" not in opens(shop, "/payout", **page).text
