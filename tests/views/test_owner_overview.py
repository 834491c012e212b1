"""The owner's first page: the work that waits for this person, and the figures of today and of the month."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime

import pytest

from flask_paycheckout import Described, Person, ToBank
from flask_paycheckout.views.owner_page import method_name
from tests.books.test_alarms import orders, starts_in_vain
from tests.books.test_report import has_second
from tests.checkouts.test_order_problems import is_down
from tests.checkouts.test_requests import asks
from tests.checkouts.test_reversals import takes_back
from tests.conftest import OpenShop
from tests.payouts.shop import pays_out, refunds, stands
from tests.scripted import Shop, refusal
from tests.views.owner import opens, opens_view, order_page, sends, text_of
from tests.views.pages import presses_pay

ADAS_BANK = ToBank("Anna Klee", "40001234", "river", "River Bank")


def waiting(page: str) -> list[str]:
    """The lines of waiting work, each with its button's text."""
    listed = page[page.index('id="waiting"') : page.index("</section>")]
    return [
        " ".join(html.unescape(re.sub(r"<textarea.*?</textarea>|<[^>]+>", " ", line, flags=re.DOTALL)).split())
        for line in re.findall(r"<li>(.*?)</li>", listed, flags=re.DOTALL)
    ]


def test_each_decision_is_a_line_with_a_button_that_leads_to_its_end(desk: Shop) -> None:
    desk.has_held()
    page = opens(desk).text
    (line,) = [each for each in waiting(page) if "Order o-1" in each]
    assert line == "today: Order o-1: $1.00 of $12.50 arrived, not what was asked for Decide"
    (payment,) = re.findall(r'href="[^"]*/order\?order_id=o-1#([^"]+)">Decide', page)
    assert f'id="{payment}"' in order_page(desk).text
    assert '<span class="count">1<' in opens(desk, "/books").text


def test_a_page_knows_nothing_of_the_one_before_in_the_same_application_context(shop: Shop) -> None:
    """Tests of shops keep one context open for all their requests."""
    people = ["Ada"]
    opens_view(shop, lambda: people[0] if people else None)
    checkout_id = shop.has_held()
    with shop.app.app_context():
        assert len(waiting(opens(shop).text)) == 1
        shop.paycheckout.resolve(checkout_id, False, by="Ada", why="too little")
        shop.paycheckout.keep(checkout_id, by="Ada", why="agreed")
        assert waiting(opens(shop).text) == []
        people.clear()
        assert "To the payments" not in opens(shop).text


def test_money_that_was_taken_back_is_told_by_its_order_and_ends_on_its_page(desk: Shop) -> None:
    takes_back(desk, desk.has_paid(), "failed")
    (line,) = waiting(opens(desk).text)
    assert line.startswith("at once: Order o-1: $12.50 had arrived and was taken back")
    page = order_page(desk)
    assert "12.50 USD of it were taken back" in text_of(page)
    assert sends(desk, page, why="she paid again").status_code == 303
    assert waiting(opens(desk).text) == []
    assert "Ada says that it is dealt with: she paid again" in text_of(order_page(desk))


def test_the_sums_in_what_waits_are_in_the_notation_of_the_reader_and_in_the_report_plain(desk: Shop) -> None:
    desk.has_held()
    desk.settles(paid := desk.has_arrived("20", "o-2"))
    desk.resolves(paid, accept=False)
    german = desk.browser.get("/paycheckout/owner/", headers={"Accept-Language": "de"}).text
    assert any("Order o-1: 1,00 $ of 12,50 $ arrived" in line for line in waiting(german))
    assert any("Order o-2: 20,00 $ arrived" in line for line in waiting(german))
    report = desk.runs("report").output
    assert "1 USD arrived of 12.50 USD" in report
    assert "20 USD arrived of 12.50 USD" in report


def test_customers_who_could_not_pay_are_named_with_their_orders_until_they_begin(desk: Shop) -> None:
    desk.paycheckout.describe_orders(
        lambda order_ids: {"o-1": Described(customer="Anna Klee", email="anna@example.com")}
    )
    is_down(desk, "o-1", "o-2")
    (line,) = waiting(opens(desk).text)
    assert line.startswith("at once: The payments service does not answer")
    assert "2 customers could not pay: Order o-2, $12.50 ; Order o-1, Anna Klee, $12.50" in line
    (began,) = orders(desk)
    desk.starts(began)
    page = opens(desk).text
    (line,) = waiting(page)
    assert line.startswith("today: 2 customers could not pay between today, 12:00 and 12:09. Send them the link again:")
    (address,) = re.findall(r'href="([^"]*)">Order o-1', page)
    order = desk.browser.get(html.unescape(address)).text
    text = text_of(desk.browser.get(html.unescape(address)))
    assert "The customer could not pay, the last time today, 12:06" in text
    assert "Anna Klee could not begin to pay" in text
    (link,) = re.findall(r'id="pay-url" readonly value="([^"]*)"', order)
    assert presses_pay(desk).status_code == 303
    assert desk.browser.get(html.unescape(link)).status_code == 200
    assert "mailto:anna@example.com?" in order
    (line,) = waiting(opens(desk).text)
    assert line.startswith("today: 1 customer could not pay")
    assert "o-1" not in line


def test_a_person_takes_a_customer_who_could_not_pay_off_the_list_once_and_with_a_reason(desk: Shop) -> None:
    is_down(desk, "o-1")
    page = order_page(desk)
    assert sends(desk, page, why=" ").status_code == 400
    for _ in range(2):
        answer = sends(desk, page, why="she paid in cash")
        assert "Recorded: it is dealt with" in desk.browser.get(answer.location).text
    assert "o-1" not in "".join(waiting(opens(desk).text))
    assert desk.runs("deeds").output.count("Ada settled o-1 (page): she paid in cash") == 1


def test_of_many_customers_who_could_not_pay_the_line_shows_three_and_folds_the_rest(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flask_paycheckout.books.service_alarms.EXAMPLES", 5)
    monkeypatch.setattr("flask_paycheckout.books.order_alarms.EXAMPLES", 5)
    opens_view(shop)
    for order_id in orders(shop, 7):
        starts_in_vain(shop, refusal(503), order_id)
    shop.waits(hours=2)
    (line,) = waiting(opens(shop).text)
    assert "nobody has tried since. 7 customers could not pay: Order" in line
    shop.starts()
    (line,) = waiting(opens(shop).text)
    assert line.startswith("today: 7 customers could not pay (today, 12:00)")
    assert "4 more Order" in line
    assert "and 2 more" in line


def test_a_decision_is_told_in_a_sentence_when_its_reason_was_erased(desk: Shop) -> None:
    desk.resolves(desk.has_held(), accept=False, why="Zoë told us")
    desk.calls.erase("o-1", by="Ada", why="she asked")
    page = text_of(order_page(desk))
    assert ("Ada rejected the held payment" in page, "Zoë" in page, "{" in page) == (True, False, False)


def test_a_person_who_may_not_decide_sees_a_count_and_no_button(shop: Shop) -> None:
    opens_view(shop, lambda: Person("Bo", may=frozenset({"look"})))
    shop.has_held()
    assert "today: 1 payment waits for a decision. Show" in waiting(opens(shop).text)


def test_the_requester_of_a_refund_sees_that_it_waits_for_somebody_else(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_APPROVE_BY_ANOTHER=True)
    who = ["Ada"]
    opens_view(shop, lambda: who[0])
    refunds(shop, shop.has_paid(), "5.00", to=ADAS_BANK)
    shop.executes(shop.runtime.models.payouts.update().values(status="waiting", state="waiting"))
    page = opens(shop).text
    assert "waits for somebody else, since you asked for it" in waiting(page)[0]
    assert 'class="count"' not in page, "nothing waits for her"
    (address,) = set(re.findall(r'href="([^"]*/payout\?reference=[^"]*)">See it', page))
    text = text_of(shop.browser.get(html.unescape(address)))
    assert ("It waits for somebody else: you asked for it" in text, "Send 5.00 USD" in text) == (True, False)
    who[0] = "Bo"
    page = opens(shop).text
    assert "waits for an approval Look and approve" in waiting(page)[0]
    assert '<span class="count">1<' in page


def test_no_line_speaks_to_developers_but_the_one_that_is_folded(desk: Shop) -> None:
    desk.starts()
    desk.clock.advance(minutes=60)
    page = opens(desk).text
    assert waiting(page)[0].startswith("at once: Payments are noticed too late")
    folded = re.findall(r"<textarea[^>]*>(.*?)</textarea>", page, flags=re.DOTALL)
    assert any("flask paycheckout reconcile" in each for each in folded)
    assert "flask paycheckout" not in re.sub(r"<textarea.*?</textarea>", "", page, flags=re.DOTALL)


def test_today_and_the_month_stand_beside_as_many_days_of_the_month_before(desk: Shop) -> None:

    def pays(amount: str) -> None:
        (order_id,) = orders(desk)
        desk.costs(amount, order_id)
        desk.settles(desk.has_arrived(amount, order_id))

    desk.clock.now = datetime(2026, 2, 10, 9, tzinfo=UTC)
    pays("50.00")
    desk.clock.now = datetime(2026, 2, 20, 9, tzinfo=UTC)
    pays("7.00")
    desk.clock.now = datetime(2026, 3, 9, 9, tzinfo=UTC)
    pays("30.00")
    desk.clock.now = datetime(2026, 3, 12, 9, tzinfo=UTC)
    pays("10.00")
    desk.starts(*orders(desk))
    page = opens(desk)
    words = text_of(page)
    assert "Taken today $10.00 1 payment" in words
    assert "March $40.00 2 payments -20 % against as many days of the month before ($50.00)" in words
    assert "Begun and not paid 1 of 3" in words
    assert "2026-03-09 $30.00 2026-03-12 $10.00" in words, "the table of the bars"
    heights = re.findall(r'<rect x="[0-9]+" y="[0-9.]+" width="14" height="([0-9.]+)"', page.text)
    assert heights == ["80.0", "26.7"]


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("us_bank_transfer", "US bank transfer"),
        ("sepa_transfer", "SEPA transfer"),
        ("open_banking", "Open banking"),
        ("Nationalbank", "Nationalbank"),
        ("crypto", "From a wallet"),
    ],
)
def test_a_payment_method_is_named_in_words(method: str, words: str) -> None:
    assert method_name(method) == words


def test_the_filters_count_the_orders_of_each_state(desk: Shop) -> None:
    desk.has_held()
    for order_id in orders(desk, 2):
        desk.has_paid(order_id)
    words = text_of(opens(desk, "/orders"))
    assert "all paid 2 needs you 1 Today This week This month" in words


def test_a_payout_is_named_by_who_is_paid_and_one_over_the_limit_says_when_it_goes(desk: Shop) -> None:
    pays_out(desk, to=ADAS_BANK, note="jars")
    stands(desk, "maker-1", status="waiting", state="postponed", problem="it would exceed the daily limit")
    (line,) = waiting(opens(desk).text)
    assert line.startswith(
        "today: Payout of $80.00 to Anna Klee, jars: over the limit of today, so it is sent tomorrow"
    )


def test_many_refunds_are_told_apart_by_who_may_approve_them(open_shop: OpenShop) -> None:
    shop = open_shop(PAYCHECKOUT_APPROVE_BY_ANOTHER=True)
    opens_view(shop, lambda: "Ada")
    for place, by in enumerate(("Ada", "Ada", "Ada", "Bo")):
        pays_out(shop, f"maker-{place}", by=by, approve=True)
    page = opens(shop).text
    mine, others = waiting(page)
    assert mine.startswith("today: 1 refund or payout waits for an approval. Show")
    assert others.startswith("to know: 3 refunds or payouts wait for an approval: for somebody else")
    assert '<span class="count">1<' in page


def test_an_order_that_is_paid_shows_the_payment_that_still_needs_a_decision(desk: Shop) -> None:
    second = has_second("o-1", desk)
    assert "paid needs you" in text_of(opens(desk, "/orders"))
    page = order_page(desk)
    assert f'href="#{second}">Decide about $13.00' in page.text
    desk.resolves(second, accept=False)
    assert "needs you" not in text_of(opens(desk, "/orders")).partition("When")[2]
    assert f'href="#{second}">Give back or keep $13.00' in order_page(desk).text


def test_the_next_step_after_accepting_too_much_is_the_link_of_its_refund(desk: Shop) -> None:
    held_id = desk.has_arrived("20")
    desk.settles(held_id)
    answer = sends(desk, order_page(desk), decision="excess", why="gave too much")
    page = desk.browser.get(answer.location).text
    assert "the refund of what came too much is made" in page
    assert "/paycheckout/refunds/" in page


def test_a_paid_request_is_listed_by_its_title(desk: Shop) -> None:
    request = asks(desk, title="Workshop for the choir")
    desk.has_paid(request.order_id)
    assert "Workshop for the choir" in text_of(opens(desk, "/orders"))


def test_payouts_that_are_found_are_told_by_sum_and_payee(desk: Shop) -> None:
    for reference in ("maker-1", "maker-2"):
        pays_out(desk, reference, to=ADAS_BANK, approve=True)
    text = text_of(opens(desk, "/orders", search="Anna Klee"))
    assert text.count("Anna Klee waits for approval $80.00") == 2
