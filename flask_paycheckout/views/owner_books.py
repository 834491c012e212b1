"""The owner's page of the books: the money of a month by account and currency, to look at and to download."""

from __future__ import annotations

from datetime import date

from flask import Response, request
from werkzeug.wrappers import Response as AnyResponse

from flask_paycheckout.books.export import Format, Sums
from flask_paycheckout.books.periods import month_period
from flask_paycheckout.runtime import runtime
from flask_paycheckout.views.owner_forms import Asked, asked_for, file_name, owner, owner_page

_MIMETYPES = {Format.CSV: "text/csv", Format.JSONL: "application/jsonl"}
_NAMES = {Format.CSV.value: "CSV", Format.JSONL.value: "JSON lines"}


def show_month() -> tuple[str, int]:
    """Show the sums of a month, by default of the present one, with its downloads."""
    return _page(asked_for())


def download_month() -> AnyResponse | tuple[str, int]:
    """Give the movements of one month as a file to save; a stream of parts, each read when the browser takes it."""
    asked, month = asked_for(), request.args.get("month", "")
    try:
        form = Format(request.args.get("format", Format.CSV.value))
        period = month_period(month, runtime().books.zone_of(asked.account), asked.account)
    except ValueError:
        return _page(asked, "Choose a month, and CSV or JSON lines.", 400)
    books = runtime().books
    books.record_export(period, owner())
    response = Response(books.text(period, form), mimetype=_MIMETYPES[form])
    of_account = f"-{file_name(asked.account)}" if asked.account else ""
    response.headers["Content-Disposition"] = f'attachment; filename="books-{month}{of_account}.{form.value}"'
    return response


def sums_of_days(asked: Asked) -> Sums | None:
    """The sums of the days that a list is limited to; None where it is not."""
    return runtime().books.sums(asked.period) if asked.period.is_limited else None


def _page(asked: Asked, fault: str | None = None, code: int = 200) -> tuple[str, int]:
    books, month = runtime().books, request.args.get("month", "")
    months = books.months(asked.account)
    month = month if month in months else next(iter(months), "")
    page = owner_page(
        "books",
        asked=asked,
        months={each: f"{date.fromisoformat(f'{each}-01'):%B %Y}" for each in months},
        month=books.month(month, asked.account) if month else None,
        formats=_NAMES,
        fault=fault,
    )
    return page, code
