"""The owner's page of the books: a month's money by account and currency, to view and to download."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from flask import request
from werkzeug.wrappers import Response

from flask_paycheckout.books.export import Format
from flask_paycheckout.books.figures import payments_in
from flask_paycheckout.books.periods import month_period
from flask_paycheckout.runtime import runtime
from flask_paycheckout.views.language import decimal_mark
from flask_paycheckout.views.owner_forms import faults, form, form_url, to_save, why_given
from flask_paycheckout.views.owner_page import Fault, Page, go_to, owner, owner_page, requested_filters

_SPREADSHEET = "spreadsheet"
# The maximum number of accounts whose payments of a month are shown by method.
_BY_METHOD = 6
_FORMATS = {
    Format.ACCOUNTING: ("For accounting", "text/csv"),
    _SPREADSHEET: ("For a spreadsheet", "text/csv"),
    Format.CSV: ("CSV", "text/csv"),
    Format.JSONL: ("JSON lines", "application/jsonl"),
}
"""The name and the media type of each format. The spreadsheet's file is the accounting file in another notation."""


def show_books(fault: Fault | None = None, month: str | None = None) -> Page:
    """Show the sums of a month, by default the newest, with its downloads."""
    books, filters, month = runtime().books, requested_filters(), month or request.args.get("month", "")
    months = books.months(filters.account)
    month = month if month in months else next(iter(months), "")
    place = months.index(month) if month else 0
    return owner_page(
        "books",
        fault,
        asked=filters,
        months={each: f"{date.fromisoformat(f'{each}-01'):%B %Y}" for each in months},
        **_days_of(month, filters.account),
        # The newest month comes first.
        earlier=next(iter(months[place + 1 :]), None),
        later=months[place - 1] if place else None,
        formats=_FORMATS,
        action=form_url,
    )


def _days_of(name: str, account: str | None) -> dict[str, Any]:
    """The template's variables about a month: its sums, its first and last day, and the figures of its story."""
    if not name:
        return {"month": None}
    shop, first = runtime(), date.fromisoformat(f"{name}-01")
    month = shop.books.month(name, account)
    accounts = sorted({of for of, _ in month.sums.totals})[:_BY_METHOD]
    return {
        "month": month,
        "first_day": first,
        "last_day": (first + timedelta(days=31)).replace(day=1) - timedelta(days=1),
        "told_accounts": accounts,
        "by_method": {
            (of, currency): figures.by_method
            for of in accounts
            for period in [replace(month.period, account=of)]
            for currency, figures in payments_in(shop.engine(), shop.models, period).items()
        },
        "given_back": shop.books.given_back(month.period),
    }


@form(lambda month, fault: show_books(fault, month))
def compare_month(month: str) -> Response:
    """Make the next rounds of reconcile compare a month again."""
    with faults("month"):
        runtime().month_audits.again(month)
    return go_to("books", month=month, _anchor="audit")


@form(lambda month, fault: show_books(fault, month))
def settle_month(month: str) -> Response:
    """Record that the differences of a month are settled, with name and reason."""
    runtime().month_audits.settle(month, owner(), why_given())
    return go_to("books", month=month, _anchor="audit")


def download_month() -> Response | Page:
    """Stream the movements of one month as a file to save; each part is read when the browser receives it."""
    books, filters, month = runtime().books, requested_filters(), request.args.get("month", "")
    try:
        format_name = request.args.get("format", Format.CSV.value)
        form = Format.ACCOUNTING if format_name == _SPREADSHEET else Format(format_name)
        period = month_period(month, books.zone_of(filters.account), filters.account)
    except ValueError:
        return show_books(Fault("Choose a month, and one of the files."))
    books.record_export(period, owner())
    of_account = f"-{filters.account}" if filters.account else ""
    name = "accounting" if form is Format.ACCOUNTING else "books"
    text = books.text(period, form, **(_notation() if format_name == _SPREADSHEET else {}))
    return to_save(text, _FORMATS[form][1], f"{name}-{month}{of_account}.{form.extension}")


def _notation() -> dict[str, Any]:
    """The decimal mark and delimiter with which a spreadsheet in the browser's language opens the file correctly."""
    mark = decimal_mark()
    return {"decimal_mark": mark, "delimiter": "," if mark == "." else ";"}
