"""The owner's page of the books: months to download, for the owner alone, in bounds, and what is missing in them."""

from __future__ import annotations

import html
import re
import shlex
from datetime import UTC, datetime
from typing import Any

import pytest

from flask_paycheckout import ByHand
from tests.books.test_export import books
from tests.conftest import OpenShop
from tests.scripted import Shop
from tests.test_cli import runs
from tests.views.test_owner import ROOT, opens, opens_view, text_of


@pytest.fixture
def desk(open_shop: OpenShop) -> Shop:
    """A shop with a payment in January 2026, whose owner, Ada, looks at it in March."""
    shop = opens_view(open_shop())
    shop.has_paid()
    shop.clock.now = datetime(2026, 3, 1, 0, 2, tzinfo=UTC)
    return shop


def months(shop: Shop, **query: str) -> list[tuple[str, bool]]:
    """The months that the page offers, each with whether it is closed."""
    page = opens(shop, "/books", **query)
    assert page.status_code == 200
    found = re.findall(r'<option value="(\d{4}-\d\d)"', page.text)
    pages = {month: opens(shop, "/books", **query, month=month).text for month in found}
    return [(month, "Nothing can be added" in text) for month, text in pages.items()]


def downloads(shop: Shop, **query: str) -> Any:
    return opens(shop, "/books/month", **query)


def test_months_since_the_first_movement_are_listed(desk: Shop) -> None:
    """February ended two minutes ago, when transactions of its last minutes may still be open."""
    assert months(desk) == [("2026-03", False), ("2026-02", False), ("2026-01", True)]
    assert '<time datetime="2026-03">March 2026</time>' in opens(desk, "/books").text, "the present one"
    assert f'{ROOT}/books"' in opens(desk).text, "every page leads there"


def test_a_month_tells_its_sums_and_what_the_last_audit_found(desk: Shop) -> None:
    with desk.app.app_context():
        desk.paycheckout.refund(desk.has_held("o-2"), by="Ada", why="too little", to=ByHand())
        desk.db.session.commit()

    def cells(**query: str) -> list[str]:
        page = opens(desk, "/books", **query).text
        return [html.unescape(cell) for cell in re.findall(r"<t[hd] (?:scope=.row.|data-label=[^>]*)>([^<]*)<", page)]

    assert cells(month="2026-01") == ["USD", "12.50", "0", "0", "0", "0", "12.50", "12.13"]
    assert cells(month="2026-03")[:5] == ["USD", "0", "1", "0", "-1"]
    never = opens(desk, "/books?month=2026-01").text
    assert "Not run for this month." in never
    told = re.search(r"<code>flask paycheckout (audit [^<]*)</code>", never)
    assert told is not None
    runs(desk, *told[1].split())
    page = text_of(opens(desk, "/books?month=2026-01"))
    assert ("1 of 2 do not agree" in page, "from the beginning" in page) == (True, False)
    desk.clock.advance(days=1)
    runs(desk, "audit", "--keep")
    assert "from the beginning to 2026-03-02" in text_of(opens(desk, "/books?month=2026-01"))


@pytest.mark.parametrize(("form", "mimetype"), [("csv", "text/csv"), ("jsonl", "application/jsonl")])
def test_a_month_is_what_the_command_exports(desk: Shop, form: str, mimetype: str) -> None:
    answer = downloads(desk, month="2026-01", format=form)
    exported = runs(desk, "export", "--from", "2026-01-01", "--to", "2026-02-01", "--format", form)
    assert answer.data == exported.stdout_bytes
    assert (answer.status_code, answer.mimetype) == (200, mimetype)
    assert answer.headers["Content-Disposition"] == f'attachment; filename="books-2026-01.{form}"'
    assert answer.headers["Cache-Control"] == "no-store"
    assert len(downloads(desk, month="2026-02").text.splitlines()) == 1


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


def test_the_command_for_the_server_is_one_that_a_shell_reads_as_it_is_meant(desk: Shop) -> None:
    desk.changes(desk.starts("o-2"), account='Ada "$(id)"')
    books(desk, 2, account='Ada "$(id)"')
    (command,) = re.findall("<code>(.+?)</code>", opens(desk, "/books", account='Ada "$(id)"').text)
    assert shlex.split(html.unescape(command))[-2:] == ["--account", 'Ada "$(id)"']
