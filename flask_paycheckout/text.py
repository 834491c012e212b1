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

# The maximum number of characters of a stored error.
_MAX_ERROR = 500
# Invisible characters: Unicode's property Default_Ignorable_Code_Point, and the empty braille pattern.
_UNSEEN_CHARACTERS = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_UNSEEN, _SEEN = re.compile(f"[{_UNSEEN_CHARACTERS}]+"), re.compile(rf"[^\s{_UNSEEN_CHARACTERS}]")
# Unicode's spaces within a line.
_SPACES = re.compile("[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]+")
# Blanks of Asian keyboards, and blanks before French punctuation. A single blank between two characters is a part of a
# name or sentence; several could push the rest of a line out of sight.
_BLANK = rf"(?<=[^\s{_UNSEEN_CHARACTERS}])[\u3000\u00a0\u202f](?=[^\s{_UNSEEN_CHARACTERS}])"
# Joiners of Persian and Indic scripts, and of emoji, in which a joiner may also follow a variation selector. In Latin
# text, joiners would only make different names look alike.
_JOINED = "[^\x00-\x7f\\s{}]".format(_UNSEEN_CHARACTERS.replace("\ufe0f", "\ufe0e"))
_JOINER = rf"(?<={_JOINED})[\u200c\u200d](?={_JOINED})"
_TYPED = re.compile(f"{_BLANK}|{_JOINER}")
_UNSEEN_BUT_JOINERS = re.compile(f"({_JOINER})|[{_UNSEEN_CHARACTERS}]")
# The addresses to which pages link: http(s), or a path of the shop.
_ADDRESS = re.compile(r"(https?://|/(?!/))[^\s\x00-\x1f\\]*", re.IGNORECASE)
# Spreadsheets run a cell that begins with such a character as a formula; some skip leading spaces, and accept the wide
# forms of Asian fonts. Some split a line at commas, semicolons and tabs, regardless of the file's own delimiter. An
# apostrophe, by which spreadsheets mark a text, is doubled, so that each cell can be read back.
_FORMULA = re.compile(r"(^|[,;\t\r\n])(?=\s*[=+\-@\uff1d\uff0b\uff0d\uff20\u2212]|')")


Show = Callable[[Decimal, str], str]
"""Formats an amount with its currency: plainly for terminals and files, or in the reader's notation for pages."""


def plain_sum(amount: Decimal, currency: str) -> str:
    """An amount in digits, with its currency."""
    return f"{amount:f} {currency}"


def moment_text(moment: datetime) -> str:
    """Format a time for people: UTC, to the second."""
    return as_utc(moment).strftime("%Y-%m-%d %H:%M:%S") + "Z"


def account_text(account: str) -> str:
    """A merchant account's name, to follow a subject; empty for the account of the settings."""
    return f" (account {account})" if account else ""


def payout_sum_text(payout: Any, show: Show = plain_sum) -> str:
    """The sum that a payout sends, and the sum that it counts as of a payment in another currency."""
    amount = stored_sum_text(payout.exact_amount, payout.currency, show)
    if payout.counts_currency in (None, payout.currency):
        return amount
    return f"{amount} for {stored_sum_text(payout.exact_counts, payout.counts_currency, show)}"


def stored_sum_text(stored: str, currency: str, show: Show = plain_sum) -> str:
    """A stored amount with its currency; a text that is no number, from another program, is marked as such."""
    try:
        return show(Decimal(stored), currency)
    except InvalidOperation:
        return f"{amount_text(stored)} {currency}"


def amount_text(stored: str) -> str:
    """A stored amount in digits; a text that is no number, from another program, is marked as such."""
    try:
        return f"{Decimal(stored):f}"
    except InvalidOperation:
        return f"{stored} (no number)"


def one_line(name: str, text: str, longest: int) -> str | None:
    """A text that a person typed, for one line of a page, without blanks at its ends; None if it is empty.

    :param name: the name of the argument, for the errors.
    :raises TypeError: the text is not a string.
    :raises ValueError: the text is too long, or has characters that are not printed: line breaks, marks of direction.
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
    """Whether a text is one line without invisible characters, and without characters that change its direction."""
    return _TYPED.sub(" ", text).isprintable()


def trimmed(text: str) -> str:
    """A text without spaces and invisible characters at its ends."""
    first, last = _SEEN.search(text), _SEEN.search(text[::-1])
    return text[first.start() : len(text) - last.start()] if first and last else ""


def drawn(text: str) -> str:
    """A text as it looks: without invisible characters, except joiners that scripts need, and with single spaces."""
    return _SPACES.sub(" ", _UNSEEN_BUT_JOINERS.sub(r"\1", text)).strip()


def unjoined(text: str) -> str:
    """A text for comparisons: as it looks, and without joiners, which few people type."""
    return _UNSEEN.sub("", drawn(text))


def is_address(text: str) -> bool:
    """Whether pages may link to this address: an http(s) address, or a path."""
    return _ADDRESS.fullmatch(text) is not None


def storable(text: str) -> str:
    """A text that every database accepts, with NUL and unpaired surrogates escaped."""
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode()


def first_line(error: BaseException) -> str:
    """The type of an error and the first line of its message, of limited length, as a text that every database accepts.

    For a database error it is the driver's line, without SQLAlchemy's statement and PostgreSQL's refused row.
    """
    try:
        cause = getattr(error, "orig", None) or error
        message = str(reply_of(cause).get("M") or cause).partition("\n")[0]
    except Exception as fault:
        # An error of the shop may not even have a working message.
        message = f"its message raised {type(fault).__name__}"
    return storable(f"{type(error).__name__}: {message}")[:_MAX_ERROR]


def reply_of(error: BaseException | None) -> dict[str, str]:
    """The fields of the server's reply, which pg8000's errors have instead of a message; empty for other errors."""
    argument = next(iter(getattr(error, "args", ())), None)
    return argument if isinstance(argument, dict) else {}


def csv_text(text: str) -> str:
    """A text for a cell of a CSV file, with control characters escaped, which spreadsheets do not run as a formula."""
    return _FORMULA.sub(r"\1'", visible(text))


def visible(line: str) -> str:
    """A line for a terminal, a log or a page, with control and format characters escaped.

    Names, statuses and errors can contain untrusted text: an escape sequence could clear the screen, a line break could
    forge a line, and a mark of direction could make a name look like another one.
    """
    if line.isprintable():
        # Return plain text, also for a string that templates treat as markup.
        return str(line)
    typed = {match.start() for match in _TYPED.finditer(line)}
    return "".join(
        char if char.isprintable() or place in typed else char.encode("unicode_escape", "surrogatepass").decode()
        for place, char in enumerate(line)
    )


def table_lines(rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Format rows as lines of a table; the first row names the columns.

    :param left: the number of columns with text, aligned to the left; the other columns have numbers.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    cells = [
        [cell.ljust(width) if place < left else cell.rjust(width) for place, (cell, width) in enumerate(pairs)]
        for pairs in (zip(row, widths, strict=True) for row in rows)
    ]
    return ["  ".join(row).rstrip() for row in cells]


def plain(value: Any) -> Any:
    """Convert nested values to JSON values: times become ISO 8601 text, amounts exact text."""
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
"""The maximum number of characters of an order id or a checkout id."""

_REQUEST = "request:"

# Control characters, unpaired surrogates, line and paragraph separators. PostgreSQL refuses some of them, and in a log
# each could forge or hide a line.
REFUSED = frozenset({"Cc", "Cs", "Zl", "Zp"})


def require_order_id(order_id: object, name: str = "order_id") -> str:
    """Return a valid order id as a plain text: a member of the shop's own enumeration would be formatted by its name.

    :param name: the name of the argument, for the errors.
    :raises TypeError: the id is not a string.
    :raises ValueError: the id is empty, longer than `MAX_ID` characters, or contains a control character, a line break
        or half of a surrogate pair. The message gives the character's number and never quotes the id.
    """
    if not isinstance(order_id, str):
        remedy = "a number is written as str(number), in a template number|string"
        raise TypeError(f"{name} must be a string, not {type(order_id).__name__}; {remedy}")
    fault = _fault(order_id)
    if fault is not None:
        raise ValueError(
            f"{name} must have 1 to {MAX_ID} characters, none of them a control character, a line break or half of a"
            f" surrogate pair; this one {fault}. Use a number or another plain text."
        )
    return str.__str__(order_id)


def is_order_id(text: object) -> bool:
    """Whether this is a valid order id; a caller may pass any object, such as a checkout instead of its id."""
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

    :raises TypeError: the name is not a string.
    :raises ValueError: the name is longer than 255 characters, or contains control characters.
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
    """The reference of the payment request with this order id; None for an order of the shop."""
    return order_id.removeprefix(_REQUEST) if order_id.startswith(_REQUEST) else None


def order_text(order_id: str) -> str:
    """The name of an order or a payment request in sentences, such as `order o-1` or `request logo`."""
    request = request_of(order_id)
    return f"order {order_id}" if request is None else f"request {request}"
