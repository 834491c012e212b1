"""The books as a file for bookkeepers: one row for each line, with the local date and the code of an account."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import tzinfo

from flask_paycheckout.books.customers import Described
from flask_paycheckout.books.ledger import Line, LineKind
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.text import csv_text, request_of, visible

COLUMNS = ("date", "kind", "text", "order", "reference", "currency", "amount", "fee", "net", "code")

MARK = "\ufeff"
"""The first character of the file, by which spreadsheets know UTF-8."""


def require_line_kinds(codes: Mapping[str, str]) -> None:
    """Refuse PAYCHECKOUT_ACCOUNT_CODES with a kind that no line of the books has.

    :raises ConfigurationError: with the kinds that there are.
    """
    unknown = sorted(set(codes) - set(LineKind))
    if unknown:
        kinds = ", ".join(LineKind)
        raise ConfigurationError(f"PAYCHECKOUT_ACCOUNT_CODES has the unknown kind {unknown[0]!r}. Use these: {kinds}.")


def accounting_cells(
    line: Line, zone: tzinfo, codes: Mapping[str, str], orders: Mapping[str, Described], decimal_mark: str
) -> list[str]:
    """The cells of a line of the books, in the order of `COLUMNS`.

    :param zone: the time zone of the date.
    :param codes: the code of each kind of line.
    :param orders: the shop's descriptions, by id.
    :param decimal_mark: the mark before decimals.
    """
    day, reference = line.booked_at.astimezone(zone).date().isoformat(), line.reference or line.checkout_id
    texts = day, line.kind.value, _text(line, orders), line.order_id, reference, line.currency, codes.get(line.kind)
    *others, code = (csv_text(text or "") for text in texts)
    numbers = (
        "" if number is None else f"{number:f}".replace(".", decimal_mark)
        for number in (line.gross, line.fee, line.net)
    )
    return [*others, *numbers, code]


def _text(line: Line, orders: Mapping[str, Described]) -> str:
    """The subject of a line, for people."""
    if line.order_id is None:
        return f"Payout {line.reference}"
    request, described = request_of(line.order_id), orders.get(line.order_id)
    if request is not None:
        return f"Request {request}"
    customer = described.customer if described else None
    return f"Order {line.order_id}{f', {visible(customer)}' if customer else ''}"
