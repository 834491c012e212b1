"""The owner's page of the books: each month to download, as CSV or JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from flask import Response, request
from werkzeug.wrappers import Response as AnyResponse

from flask_paycheckout.books.export import Export, Format
from flask_paycheckout.books.periods import month_period
from flask_paycheckout.runtime import runtime
from flask_paycheckout.views.owner_forms import account_asked_for, owner_page

_MOST_MOVEMENTS = 250_000
"""The most movements of one download, which takes a thread of the server; the command has no such limit."""

_MIMETYPES = {Format.CSV: "text/csv", Format.JSONL: "application/jsonl"}
_FILE_NAME = re.compile(r"[^A-Za-z0-9.-]+")


def list_months() -> str:
    """List the months since the first movement, newest first."""
    return _page()[0]


def download_month() -> AnyResponse | tuple[str, int]:
    """Give the movements of one month as a file to save; a stream of parts, each read when the browser takes it."""
    account, _ = account_asked_for()
    try:
        form = Format(request.args.get("format", Format.CSV.value))
        month = request.args.get("month", "")
        period = month_period(month, runtime().settings.time_zone, account)
    except ValueError:
        return _page("Choose a month, and CSV or JSON lines.", 400)
    found = runtime().books.export(period)
    count = found.books.count(found.period)
    if count > _MOST_MOVEMENTS:
        return _page(
            f"This month has {count} movements, which is too much for a download from this page. On the server, run:"
            f" flask paycheckout export --from {period.start:%Y-%m-%dT%H:%MZ} --to {period.end:%Y-%m-%dT%H:%MZ}",
            413,
        )
    response = Response(_parts(found, form), mimetype=_MIMETYPES[form])
    of_account = f"-{_FILE_NAME.sub('-', account).strip('-.')[:60]}" if account else ""
    name = f"books-{month}{of_account}.{form.value}"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _parts(found: Export, form: Format) -> Iterator[bytes]:
    for part in found.text(form):
        yield part.encode()


def _page(fault: str | None = None, code: int = 200) -> tuple[str, int]:
    account, accounts = account_asked_for()
    books = runtime().books
    months = books.months(account)
    # The last two may not be closed yet.
    closed = [
        place > 1 or books.export(month_period(month, books.zone, account)).closed()
        for place, month in enumerate(months)
    ]
    shown = owner_page(
        "books",
        months=list(zip([date.fromisoformat(f"{month}-01") for month in months], closed, strict=True)),
        formats={Format.CSV.value: "CSV", Format.JSONL.value: "JSON lines"},
        account=account,
        accounts=accounts,
        fault=fault,
    )
    return shown, code
