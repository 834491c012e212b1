"""The owner's page of the books: the money of a month by account and currency, to look at and to download."""

from __future__ import annotations

from datetime import date
from shlex import quote

from flask import request
from werkzeug.wrappers import Response

from flask_paycheckout.books.export import Format, Sums
from flask_paycheckout.books.periods import month_period
from flask_paycheckout.runtime import runtime
from flask_paycheckout.views.owner_forms import Asked, Fault, Page, asked_for, owner, owner_page, to_save

_FORMATS = {Format.CSV: ("CSV", "text/csv"), Format.JSONL: ("JSON lines", "application/jsonl")}
"""The name and the media type of each format."""


def show_month(fault: Fault | None = None) -> Page:
    """Show the sums of a month, by default of the present one, with its downloads."""
    books, asked, month = runtime().books, asked_for(), request.args.get("month", "")
    months = books.months(asked.account)
    month = month if month in months else next(iter(months), "")
    return owner_page(
        "books",
        fault,
        asked=asked,
        months={each: f"{date.fromisoformat(f'{each}-01'):%B %Y}" for each in months},
        month=books.month(month, asked.account) if month else None,
        formats=_FORMATS,
        quoted=quote,
    )


def download_month() -> Response | Page:
    """Give the movements of one month as a file to save; a stream of parts, each read when the browser takes it."""
    asked, month = asked_for(), request.args.get("month", "")
    try:
        form = Format(request.args.get("format", Format.CSV.value))
        period = month_period(month, runtime().books.zone_of(asked.account), asked.account)
    except ValueError:
        return show_month(Fault("Choose a month, and CSV or JSON lines."))
    books = runtime().books
    books.record_export(period, owner())
    of_account = f"-{asked.account}" if asked.account else ""
    return to_save(books.text(period, form), _FORMATS[form][1], f"books-{month}{of_account}.{form.value}")


def sums_of_days(asked: Asked) -> Sums | None:
    """The sums of the days that a list is limited to; None where it is not."""
    return runtime().books.sums(asked.period) if asked.period.is_limited else None
