"""The owner's page of the books: months to download, for the owner alone, with limits, and the missing amounts."""

from __future__ import annotations

import html
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from flask_paycheckout import ByHand
from tests.accounts.conftest import Sellers
from tests.books.test_export import books
from tests.checkouts.test_reversals import takes_back
from tests.conftest import OpenShop
from tests.payouts.shop import refunds
from tests.scripted import Shop
from tests.test_cli import runs
from tests.views.owner import ROOT, opens, opens_view, text_of


@pytest.fixture
def desk(open_shop: OpenShop) -> Shop:
    """A shop with a payment in January 2026, whose owner, Ada, opens its books in March."""
    shop = opens_view(open_shop())
    shop.has_paid()
    shop.clock.now = datetime(2026, 3, 1, 0, 2, tzinfo=UTC)
    return shop


def months(shop: Shop, **query: str) -> list[tuple[str, bool]]:
    """The months on the page, each with whether it is closed."""
    page = opens(shop, "/books", **query)
    assert page.status_code == 200
    values = re.findall(r'<option value="(\d{4}-\d\d)"', page.text)
    pages = {month: opens(shop, "/books", **query, month=month).text for month in values}
    return [(month, "Nothing can be added" in text) for month, text in pages.items()]


def downloads(shop: Shop, **query: str) -> Any:
    return opens(shop, "/books/month", **query)


def test_months_since_the_first_movement_are_listed(desk: Shop) -> None:
    """February ended two minutes ago, so transactions of its last minutes may still be open."""
    assert months(desk) == [("2026-03", False), ("2026-02", False), ("2026-01", True)]
    assert '<time datetime="2026-03">March 2026</time>' in opens(desk, "/books").text, "the present one"
    assert f'{ROOT}/books"' in opens(desk).text, "every page leads there"


def test_a_month_tells_its_sums(desk: Shop) -> None:
    refunds(desk, desk.has_held("o-2"), to=ByHand())

    def cells(language: str = "en", **query: str) -> list[str]:
        answer = desk.browser.get(f"{ROOT}/books", query_string=query, headers={"Accept-Language": language})
        page = answer.text.partition('class="sums"')[2]
        return [html.unescape(cell) for cell in re.findall(r"<t[hd] (?:scope=.row.|data-label=[^>]*)>([^<]*)<", page)]

    zero = "$0.00"
    assert cells(month="2026-01") == ["USD", "$12.50", zero, zero, zero, zero, "$12.50", "$12.13"]
    assert cells(month="2026-03")[:5] == ["USD", zero, "$1.00", zero, "-$1.00"]
    assert cells("de", month="2026-01")[1] == "12,50\xa0$", "like all other amounts of the page"


@pytest.mark.parametrize(
    ("form", "mimetype", "name"),
    [
        ("csv", "text/csv", "books-2026-01.csv"),
        ("jsonl", "application/jsonl", "books-2026-01.jsonl"),
        ("accounting", "text/csv", "accounting-2026-01.csv"),
    ],
)
def test_a_month_is_what_the_command_exports(desk: Shop, form: str, mimetype: str, name: str) -> None:
    answer = downloads(desk, month="2026-01", format=form)
    exported = runs(desk, "export", "--from", "2026-01-01", "--to", "2026-02-01", "--format", form)
    assert answer.data == exported.stdout_bytes
    assert (answer.status_code, answer.mimetype) == (200, mimetype)
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{name}"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert len(downloads(desk, month="2026-02").text.splitlines()) == 1


@pytest.mark.parametrize(("language", "line"), [("de", ";12,50;0;12,50;"), ("en", ",12.50,0,12.50,")])
def test_a_spreadsheet_gets_the_marks_of_its_language(desk: Shop, language: str, line: str) -> None:
    query = {"month": "2026-01", "format": "spreadsheet"}
    answer = desk.browser.get(f"{ROOT}/books/month", query_string=query, headers={"Accept-Language": language})
    assert line in answer.text
    assert answer.text[0] == "\ufeff"


@pytest.mark.parametrize("query", ["", "month=2026-13", "month=9999-12", "month=2026-01&format=xls"])
def test_another_month_or_format_is_refused_in_words(desk: Shop, query: str) -> None:
    answer = opens(desk, f"/books/month?{query}")
    assert (answer.status_code, "Choose a month" in answer.text) == (400, True)


def test_an_account_has_its_own_months(desk: Shop) -> None:
    desk.clock.now = datetime(2026, 2, 2, tzinfo=UTC)
    books(desk, 2, account="north/..")
    desk.changes(desk.starts("o-2"), account="north/..")
    assert months(desk, account="north/..") == [("2026-02", False)]
    answer = downloads(desk, month="2026-02", account="north/..")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="books-2026-02-north-...csv"'
    assert len(answer.text.splitlines()) == 3
    assert len(downloads(desk, month="2026-02", account="").text.splitlines()) == 1
    assert downloads(desk, month="2026-02", account="south").status_code == 404


def test_a_month_is_told_from_sales_to_what_is_left_each_number_with_its_lines(shop: Shop) -> None:
    opens_view(shop)
    checkout_id = shop.has_paid()
    refunds(shop, checkout_id, "2.50", to=ByHand())
    page = opens(shop, "/books")
    assert (
        "Sales $12.50 not said, 1 $12.50 Refunds of sales -$2.50 Fees of sales $0.00 Left of sales $10.00 In all $10.00"
    ) in text_of(page)
    assert "kind=refund&amp;from=2026-01-01&amp;to=2026-01-31" in page.text


def test_the_lines_of_a_month_come_to_its_sales_though_money_was_taken_back_or_paid_no_order(shop: Shop) -> None:
    opens_view(shop)
    shop.has_paid()
    takes_back(shop, shop.has_paid("o-2"), "failed")
    shop.costs("12.50", "o-3")
    rejected = shop.has_rejected("o-3")
    refunds(shop, rejected, "0.40", to=ByHand())
    assert (
        "Sales $12.50 not said, 2 $25.00 taken back by the payments service -$12.50 Refunds of sales $0.00 Fees of"
        " sales $0.00 Left of sales $12.50 Money that paid no order $1.00 Given back of it -$0.40 In all $13.10"
    ) in text_of(opens(shop, "/books"))


@pytest.mark.parametrize(
    ("net", "other", "in_all"), [("-80.58", "Other fees -$0.58 ", "-$68.45"), ("-80", "", "-$67.87")]
)
def test_the_fees_of_sales_are_told_by_themselves_and_the_lines_come_to_the_net_sum(
    shop: Shop, net: str, other: str, in_all: str
) -> None:
    """This also holds if PAYCHECKOUT_PAYOUT_FEES includes the fees in the sent amounts."""
    opens_view(shop)
    books(shop, 1, "12.50", kind="payment", reference=None, subject="o-1", fee="0.37", net="12.13")
    books(shop, 1, "-80", fee="0.58", net=net)
    page = text_of(opens(shop, "/books"))
    assert f"Fees of sales -$0.37 Left of sales $12.13 Paid to others -$80.00 {other}In all {in_all}" in page
    assert "Fees in January $0.37" in text_of(opens(shop)), "the same as on the first page"


def test_each_account_has_the_payment_methods_of_its_own_sales(open_shop: OpenShop) -> None:
    market = Sellers(open_shop())
    market.shop.has_paid("o-1")
    market.shop.has_paid("o-2")
    page = text_of(opens(opens_view(market.shop), "/books"))
    assert page.count("Sales $12.50 not said, 1 $12.50 Refunds of sales") == 2
