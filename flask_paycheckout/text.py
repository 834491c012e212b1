"""Conversion of values to text for people and to JSON values for programs, and the check of order ids. Pure.

Every call that takes an order id checks it before the id reaches the database or a log.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from flask_paycheckout.clock import as_utc

PRUNED_TEXT = "PRUNED: the earlier history was removed; flask paycheckout deeds tells who decided"
PRUNED_EVENTS_TEXT = "PRUNED: earlier events were removed after their delivery"

# The most characters of an error that are stored.
_MAX_ERROR = 500
# Characters that are drawn as nothing: all of Unicode's property Default_Ignorable_Code_Point, and the empty braille.
_UNSEEN_CHARACTERS = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSEEN, _SEEN = re.compile(f"[{_UNSEEN_CHARACTERS}]+"), re.compile(rf"[^\s{_UNSEEN_CHARACTERS}]")
# Unicode's spaces in a line.
_SPACES = re.compile("[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
# Blanks of Asian keyboards, and those before the marks of French. One between two signs is a part of a name or of a
# sentence; more of them could push the rest of a line out of sight.
_BLANK = rf"(?<=[^\s{_UNSEEN_CHARACTERS}])[\u3000\u00a0\u202f](?=[^\s{_UNSEEN_CHARACTERS}])"
# Joiners of Persian and Indic scripts, and of emoji, where one may also stand behind a selector of the emoji's form. In
# Latin text they would only let two names look alike.
_JOINED = "[^\x00-\x7f\\s{}]".format(_UNSEEN_CHARACTERS.replace("\ufe0f", "\ufe0e"))
_JOINER = rf"(?<={_JOINED})[\u200c\u200d](?={_JOINED})"
_TYPED = re.compile(f"{_BLANK}|{_JOINER}")
_UNSEEN_BUT_JOINERS = re.compile(f"({_JOINER})|[{_UNSEEN_CHARACTERS}]")
# The addresses that pages link to: http(s), or a path of the shop.
_ADDRESS = re.compile(r"(https?://|/(?!/))[^\s\x00-\x1f\\]*", re.IGNORECASE)
# A spreadsheet runs a cell that begins like this; some also look behind spaces, and read the wide forms of Asian fonts.
# Some split a line at commas, semicolons and tabs, whichever the file has between its columns. An apostrophe, which a
# spreadsheet takes for the mark of a text, is doubled, so that each cell can be read back.
_FORMULA = re.compile(r"(^|[,;\t\r\n])(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20\u2212]|')")


Show = Callable[[Decimal, str], str]
"""Formats an amount with its currency: plainly for terminals and files, in the reader's notation for pages."""


def plain_sum(amount: Decimal, currency: str) -> str:
    """An amount in digits, with its currency."""
    return f"{amount:f} {currency}"


def moment_text(moment: datetime) -> str:
    """Format a time for people: UTC, to the second."""
    return as_utc(moment).strftime("%Y-%m-%d %H:%M:%S") + "Z"


def account_text(account: str) -> str:
    """A merchant account's name to stand behind a subject; nothing for the account of the settings."""
    return f" (account {account})" if account else ""


def payout_sum_text(payout: Any, show: Show = plain_sum) -> str:
    """The sum that a payout sends, and what that counts of a payment in another currency."""
    sent = stored_sum_text(payout.exact_amount, payout.currency, show)
    if payout.counts_currency in (None, payout.currency):
        return sent
    return f"{sent} for {stored_sum_text(payout.exact_counts, payout.counts_currency, show)}"


def stored_sum_text(stored: str, currency: str, show: Show = plain_sum) -> str:
    """A stored amount with its currency; a text that is no number, which another program wrote, as it is."""
    try:
        return show(Decimal(stored), currency)
    except InvalidOperation:
        return f"{amount_text(stored)} {currency}"


def amount_text(stored: str) -> str:
    """A stored amount in digits; a text that is no number, which another program wrote, as it is."""
    try:
        return f"{Decimal(stored):f}"
    except InvalidOperation:
        return f"{stored} (no number)"


def one_line(name: str, text: str, longest: int) -> str | None:
    """A text that people typed, for one line of a page, without blanks at its ends; None for an empty one.

    :param name: of the argument, for the errors.
    :raises TypeError: it is not a string.
    :raises ValueError: it is too long, or has characters that are not printed: line breaks, marks of direction.
    """
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a string, not {type(text).__name__}")
    if len(text) > longest or not is_printed(text):
        raise ValueError(
            f"{name} must have {longest} characters at most, in one line without control characters and marks of"
            " direction"
        )
    return trimmed(text) or None


def is_printed(text: str) -> bool:
    """Whether a text is shown as it is: in one line, and without characters that are not drawn, or that turn it."""
    return _TYPED.sub(" ", text).isprintable()


def trimmed(text: str) -> str:
    """A text without blanks at its ends: spaces, and characters that are drawn as nothing."""
    first, last = _SEEN.search(text), _SEEN.search(text[::-1])
    return text[first.start() : len(text) - last.start()] if first and last else ""


def drawn(text: str) -> str:
    """A text as a reader sees it: without characters that are drawn as nothing, and with one space for many blanks.

    Joiners stay where scripts need them.
    """
    return _SPACES.sub(" ", _UNSEEN_BUT_JOINERS.sub(r"\1", text)).strip()


def unjoined(text: str) -> str:
    """A text to compare with others: as it is drawn, and without joiners, which few people type."""
    return _UNSEEN.sub("", drawn(text))


def is_address(text: str) -> bool:
    """Whether pages may link to this address: an http(s) address, or a path."""
    return _ADDRESS.fullmatch(text) is not None


def storable(text: str) -> str:
    """A text that every database takes, with NUL and halves of characters escaped."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def first_line(error: BaseException) -> str:
    """The type of an error with the first line of its message, bounded, in a text that every database takes.

    Of an error of the database it is the driver's line, without SQLAlchemy's statement and PostgreSQL's refused row.
    """
    try:
        told = getattr(error, "orig", None) or error
        message = str(reply_of(told).get("M") or told).partition("\n")[0]
    except Exception as fault:
        # Errors of the shop may fail even at that.
        message = f"its message raised {type(fault).__name__}"
    return storable(f"{type(error).__name__}: {message}")[:_MAX_ERROR]


def reply_of(error: BaseException | None) -> dict[str, str]:
    """The fields of the server's reply, which an error of pg8000 has in place of a message; empty for other errors."""
    argument = next(iter(getattr(error, "args", ())), None)
    return argument if isinstance(argument, dict) else {}


def csv_text(text: str) -> str:
    """A text for a cell of a CSV file, with control characters escaped, which no spreadsheet takes for a formula."""
    return _FORMULA.sub(r"\1'", visible(text))


def visible(line: str) -> str:
    """A line for a terminal, a log or a page, with control and format characters escaped.

    Names, statuses and errors can contain text of strangers: an escape sequence could clear the screen, a line break
    forge a line, and a mark of direction let a name be read as another one.
    """
    if line.isprintable():
        # Plain text also of a string that a template would take for markup.
        return str(line)
    typed = {found.start() for found in _TYPED.finditer(line)}
    return "".join(
        char if char.isprintable() or place in typed else char.encode("unicode_escape", "surrogatepass").decode()
        for place, char in enumerate(line)
    )


def table_lines(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Lay out rows as lines of a table, the first of which names the columns.

    :param left: how many columns hold text, aligned to the left; the others hold numbers.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [
        [cell.ljust(width) if place < left else cell.rjust(width) for place, (cell, width) in enumerate(pairs)]
        for pairs in (zip(row, widths, strict=True) for row in rows)
    ]
    return ["  ".join(row).rstrip() for row in cells]


def plain(value: Any) -> Any:
    """Convert nested values to those that JSON has: times become ISO 8601 text, amounts exact text."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(inner) for inner in value]
    return value


MAX_ID = 255
"""The most characters of an order id or a checkout id."""

_REQUEST = "request:"

# Control characters, halves of surrogate pairs, line and paragraph separators. PostgreSQL refuses some of them, and in
# a log each could forge a line or hide one.
REFUSED = frozenset({"Cc", "Cs", "Zl", "Zp"})


def require_order_id(order_id: object, name: str = "order_id") -> str:
    """Return a valid order id as a plain text: a member of an enumeration of the shop's is written by its name.

    :param name: of the argument, for the errors.
    :raises TypeError: it is not a string.
    :raises ValueError: it is empty, longer than `MAX_ID` characters, or contains a control character, a line break or
        half of a surrogate pair. The message gives the character's number and never quotes the id.
    """
    if not isinstance(order_id, str):
        remedy = "write str(order.id), in a template order.id|string"
        raise TypeError(f"{name} must be a string, not {type(order_id).__name__}; {remedy}")
    fault = _fault(order_id)
    if fault is not None:
        raise ValueError(
            f"{name} must have 1 to {MAX_ID} characters, none of them a control character, a line break or half of a"
            f" surrogate pair; this one {fault}. Use the order's number or another plain text."
        )
    return str.__str__(order_id)


def is_order_id(text: object) -> bool:
    """Whether this is a valid order id; a caller may give anything, such as a checkout in the place of its id."""
    return isinstance(text, str) and _fault(text) is None


def _fault(text: str) -> str | None:
    if not text:
        return "is empty"
    if len(text) > MAX_ID:
        return f"has {len(text)}"
    if text.isprintable():
        return None
    for position, character in enumerate(text):
        if unicodedata.category(character) in REFUSED:
            return f"holds U+{ord(character):04X} at position {position}"
    return None


def require_account_name(name: object) -> str:
    """Return a valid account name as a plain text; "" is the account of the settings.

    :raises TypeError: it is not a string.
    :raises ValueError: it is longer than 255 characters, or contains control characters.
    """
    if not isinstance(name, str):
        raise TypeError(f"account must be a string, not {type(name).__name__}; '' is the account of the settings")
    if name and not is_order_id(name):
        raise ValueError(f"account must have {MAX_ID} characters at most, none of them a control character")
    return str.__str__(name)


def order_of_request(reference: str) -> str:
    """The order id of a payment request."""
    return _REQUEST + reference


def request_of(order_id: str) -> str | None:
    """The reference of the payment request whose order id this is; None for an order of the shop."""
    return order_id.removeprefix(_REQUEST) if order_id.startswith(_REQUEST) else None


def order_text(order_id: str) -> str:
    """An order or a payment request as sentences name it, such as `order o-1` or `request logo`."""
    request = request_of(order_id)
    return f"order {order_id}" if request is None else f"request {request}"
