"""The money of a status page in words: the sum at the top, the lines of the order, and the rows below.

Every text of a constant here is translated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from enum import Enum

import msgspec

from flask_paycheckout.books.customers import Line
from flask_paycheckout.checkouts.order_status import OrderStatus
from flask_paycheckout.checkouts.payments import sums_of
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.checkouts.stored import MOST_PAYMENTS, Arrival
from flask_paycheckout.payouts.refund_progress import OrderRefunds, RefundProgress
from flask_paycheckout.text import visible
from flask_paycheckout.totals import Pay, Total, number_of
from flask_paycheckout.translations.catalogues import Language
from flask_paycheckout.views.language import format_amount, format_moment, gettext

# In characters; no bank's name is longer.
_MAX_METHOD = 80
# The maximum number of lines that an order's page shows, and of characters in each line.
_MOST_LINES, _MAX_LINE = 100, 200


class Look(Enum):
    """The appearance of a state: the name of its icon, and its tone, which is a class of the style sheet."""

    OPEN = "open", ""
    WAIT = "wait", "wait"
    PAID = "paid", "good"
    REVIEW = "review", "wait"
    CLOSED = "closed", ""
    BACK = "back", ""
    TROUBLE = "trouble", "wait"


class Row(msgspec.Struct, frozen=True):
    """A row of a page: its label and its value, both in the page's language."""

    label: str
    value: str = ""
    note: str = ""
    """A sentence below the row, or facts that distinguish it from other rows."""

    badge: str = ""
    """The state in one word."""

    look: Look = Look.CLOSED


class Receipt(msgspec.Struct, frozen=True):
    """The money of an order, as its page shows it."""

    total: Total | None = None
    """The total of the next payment, or of the held one."""

    left: Decimal = Decimal(0)
    """The sum that is left to pay; 0 if there is nothing to pay."""

    arrivals: Sequence[Arrival] = ()
    """Newest first."""

    is_shown: bool = False
    """Whether the page may name amounts."""

    taken_back: Sequence[bool] = ()
    """Each payment that the service has taken back, as whether it had paid the order."""

    lines: Sequence[Line] = ()
    """The lines of the order, as the shop describes them."""


_STATUS = {Status.REJECTED: ("refused", Look.CLOSED), Status.HELD: ("in review", Look.REVIEW)}
_REFUND = {
    RefundProgress.DONE: ("refunded", "", Look.PAID),
    RefundProgress.STARTED: ("under way", "", Look.WAIT),
    RefundProgress.CLAIMABLE: (
        "unclaimed",
        ("Open the link that the shop sent you, and say where the money should go."),
        Look.WAIT,
    ),
    RefundProgress.FAILED: (
        "delayed",
        (
            "Paying it back did not work at once. You do not have to do anything: the shop sends it again, or asks you"
            " where else it should go."
        ),
        Look.TROUBLE,
    ),
}
_CRYPTO = "Cryptocurrency"


def sum_on_top(standing: OrderStatus, receipt: Receipt) -> tuple[str, str]:
    """The page's main sum, and the words above it; both empty if no sum is known or may be shown."""
    if standing.status in (Status.PAID, Status.HELD):
        counted = (standing.status, Status.PART)
        sums = sums_of(each.payment.paid for each in receipt.arrivals if each.status in counted)
        if len(sums) != 1 or len(receipt.arrivals) + len(receipt.taken_back) == MOST_PAYMENTS:
            return "", ""
        return format_amount(sums[0].amount, sums[0].currency), ""
    total, left = receipt.total, receipt.left
    if total is None or not receipt.is_shown:
        return "", ""
    if left > total.amount:
        caption = gettext("To pay now, of %(left)s") % {"left": format_amount(left, total.currency)}
    elif standing.has_part:
        caption = gettext("Left to pay")
    elif isinstance(total, Pay):
        caption = gettext("To pay")
    else:
        caption = gettext("To pay, plus the fee of your payment method")
    return format_amount(total.amount, total.currency), caption


def pay_label(total: Total, language: Language) -> str:
    """The label of a button that leads to the payment of this total, or of the part that its next checkout asks for."""
    due = getattr(total, "now", None) or total.amount
    is_whole = isinstance(total, Pay)
    text = language.gettext("Pay %(amount)s") if is_whole else language.gettext("Pay %(amount)s and the fee")
    return text % {"amount": format_amount(due, total.currency, language)}


def rows_of(standing: OrderStatus, receipt: Receipt, refunds: OrderRefunds) -> Iterator[Row]:
    """The rows about payments and refunds."""
    if receipt.total is not None and receipt.is_shown and standing.status == Status.HELD:
        yield Row(gettext("Asked for"), format_amount(receipt.total.amount, receipt.total.currency))
    settled = standing.status in (Status.PAID, Status.HELD)
    for arrival in receipt.arrivals:
        yield from _single(arrival) if settled and len(receipt.arrivals) == 1 else [_one_of_several(arrival)]
    for (progress, currency), amount in refunds.sums.items():
        badge, note, look = _REFUND[progress]
        sum_text = format_amount(amount, currency) if receipt.is_shown else ""
        yield Row(gettext("Refund"), sum_text, gettext(note), gettext(badge), look)


def currency_of(receipt: Receipt) -> str | None:
    """The currency of the order's total, or else of its payments; None if both are unknown."""
    paid = next((each.payment.paid for each in receipt.arrivals if each.payment.paid), None)
    return receipt.total.currency if receipt.total else paid.currency if paid else None


def ordered(lines: Sequence[Line], currency: str | None) -> Iterator[Row]:
    """A row for each line of an order.

    :param currency: None if it is unknown; then no row has an amount.
    """
    for line in lines[:_MOST_LINES]:
        number = number_of(str(line.quantity))
        count = str(line.quantity) if number is None else f"{number:f}"
        name, quantity = (visible(text[:_MAX_LINE]) for text in (line.text, count))
        label = name if quantity == "1" else f"{quantity} × {name}"
        amount = None if line.amount is None else number_of(str(line.amount))
        yield Row(label, "" if amount is None or currency is None else format_amount(amount, currency))


def _single(arrival: Arrival) -> Iterator[Row]:
    if method := _method(arrival):
        yield Row(gettext("Paid by"), method)
    yield Row(gettext("Paid on"), format_moment(arrival.payment.completed_at))
    yield Row(gettext("Payment number"), arrival.checkout_id)


def _one_of_several(arrival: Arrival) -> Row:
    paid = arrival.payment.paid
    facts = _method(arrival), format_moment(arrival.payment.completed_at), arrival.checkout_id
    badge, look = _STATUS.get(Status(arrival.status), ("", Look.PAID))
    return Row(
        gettext("Arrived"),
        format_amount(paid.amount, paid.currency) if paid else "",
        "\N{NO-BREAK SPACE}· ".join(filter(None, facts)),
        gettext(badge),
        look,
    )


def _method(arrival: Arrival) -> str:
    payment = arrival.payment
    if payment.method == "crypto" and payment.bank_name is None:
        return gettext(_CRYPTO)
    return visible((payment.bank_name or payment.method or "")[:_MAX_METHOD])
