"""The text of the customer's pages in English; `translations/` has the other languages.

Every text of a constant here is translated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TypeVar

import msgspec
from msgspec.structs import asdict, replace

from flask_paycheckout.checkouts.order_status import OrderStatus
from flask_paycheckout.checkouts.payments import Payment
from flask_paycheckout.checkouts.requests import ShownRequest
from flask_paycheckout.checkouts.states import Reason, Status
from flask_paycheckout.payouts.refund_progress import OrderRefunds, RefundProgress
from flask_paycheckout.text import visible
from flask_paycheckout.totals import Pay, Total
from flask_paycheckout.translations.catalogues import catalogue
from flask_paycheckout.views.language import format_amount, format_moment, gettext, of_page

T = TypeVar("T", bound=msgspec.Struct)

# Longer than the name of any bank.
_MAX_METHOD = 80
# Seconds of waiting that still count as "in a moment".
_MOMENT = 30


class PageText(msgspec.Struct, frozen=True):
    """The translated texts of one page; templates show them as `words.title` and so on."""

    title: str
    sentence: str
    pay: str = ""
    """The label of the pay button; empty when nothing can be paid."""

    when: str = ""
    """The advice when to try again; only set when a payment could not be started."""

    refund: str = ""
    """The sentence about the money of a payment that did not pay the order; empty without one."""

    separate: str = ""
    """The sentences above the pay button about money that was sent or not accepted before; else empty."""

    unfinished: str = ""
    """The sentence about the payment page of an order that waits for money, with a link to it while it is open."""

    total: str = ""
    """The amount to pay; empty where nothing can be paid, or PAYCHECKOUT_SHOW_TOTAL is off."""

    arrived: Sequence[str] = ()
    """Each payment that arrived, newest first: amount, method and time; empty where PAYCHECKOUT_SHOW_TOTAL is off."""

    arrived_is: str = "Arrived:"
    paid_back_is: str = "Paid back:"
    """The labels of the two."""

    paid_back: Sequence[str] = ()
    """The sums that were paid back; empty where PAYCHECKOUT_SHOW_TOTAL is off."""

    back: str = "Back to your order"
    """The label of the link to the shop's own page of the order."""

    again: str = "Check again"
    """The label of the link that reloads the page, shown when JavaScript is off."""

    unrecorded: str = ""
    """The news that payments cannot be recorded now; empty while they can."""

    offline: str = "No connection, trying again"
    """The news that the browser cannot reach the shop."""

    subject: str = ""
    """The title of a payment request; empty for an order of the shop."""

    note: str = ""
    """The text below the title of a payment request."""

    deadline: str = ""
    """Until when a payment request can be paid; empty without an end, and once money has come."""

    scan: str = "Scan this code to pay on another device."
    """The caption of the QR code of a payment request's page."""

    language: str = ""
    """The language of these texts, for the attribute `lang`."""


_UNPAID = PageText("Not paid yet", "This order is waiting for your payment.", "Pay now")
_CLOSED = PageText(
    "Nothing to pay here",
    "The shop is not waiting for a payment for this order. If a payment page is still open, please do not pay"
    " there. If you have questions, please ask the shop.",
)
_UNWANTED = PageText(
    "The shop does not want this payment any more",
    "If you have not sent the money, please do not send it. If you have, it is not lost: a person at the shop looks at"
    " it when it arrives.",
)
_OF_STATUS = {
    "unpaid": _UNPAID,
    Status.CREATED: PageText(
        "Waiting for your payment",
        "This page notices by itself when you have paid.",
        "Go to the payment page",
    ),
    Status.PENDING: PageText(
        "We are waiting for your money",
        "This page notices by itself when it arrives. You can close it: nothing gets lost, and this link stays good.",
        "Back to the payment page",
    ),
    Status.PART: PageText(
        "Partly paid",
        "A part of what this order costs has arrived. Thank you!",
        "Pay the rest",
    ),
    Status.PAID: PageText("Paid, thank you", "Your payment arrived."),
    Status.HELD: PageText(
        "We are looking at your payment",
        "Your money arrived safely, and a person is checking it against your order. Please do not pay again; the"
        " shop will be in touch.",
    ),
    Status.ABANDONED: PageText(
        "No payment arrived",
        "The payment page was closed or ran out of time. If you did pay, wait a little: a late payment is still"
        " noticed.",
        "Pay again",
    ),
}
# Payment requests that no money has come for, by their state.
_OF_REQUEST = {
    "unpaid": PageText(_UNPAID.title, "This request is waiting for your payment.", _UNPAID.pay),
    "expired": PageText(
        "The time to pay is over",
        "This request could be paid until the time below. If a payment page is still open, please do not pay there."
        " If you have questions, please ask the shop.",
    ),
    "withdrawn": PageText(
        "Nothing to pay here",
        "The shop has withdrawn this request. If a payment page is still open, please do not pay there. If you have"
        " questions, please ask the shop.",
    ),
}
# Abandoned payments whose reason says more than the status.
_OF_REASON: dict[str, PageText] = {
    Reason.DEPOSIT_CLOSED: PageText(
        "The payment did not go through",
        "The payment failed or was cancelled. If money left your account all the same, wait a little: a late"
        " payment is still noticed.",
        "Pay again",
    ),
    Reason.STALLED: PageText(
        "No payment arrived",
        "You chose how to pay, but no payment arrived in time. If you did pay, wait a little: a late payment is"
        " still noticed.",
        "Pay again",
    ),
}
# An order that has reached its limit of open payment pages; those can still be paid.
_CROWDED = PageText(
    "Waiting for your payment",
    "Many payment pages are open for this order. Please pay on one that you have open; a new one can be opened"
    " again in a few minutes.",
    "Go to the payment page",
)
# A paid order, by how far its payment was paid back.
_OF_REFUND = {
    RefundProgress.FAILED: PageText(
        "The shop is looking at your refund",
        "Your payment arrived, and paying it back did not work at once. You do not have to do anything: the shop"
        " sends it again, or asks you where else it should go.",
    ),
    RefundProgress.CLAIMABLE: PageText(
        "The shop will refund you",
        "Open the link that it sent you, and say where the money should go.",
    ),
    RefundProgress.STARTED: PageText(
        "The shop is refunding you",
        "Your payment arrived, and the shop is paying all or a part of it back to you.",
    ),
    RefundProgress.PARTLY: PageText(
        "Partly refunded",
        "Your payment arrived, and the shop has paid a part of it back to you.",
    ),
    RefundProgress.WHOLLY: PageText("Refunded", "Your payment arrived, and the shop has paid it back to you."),
}
# Payments that did not pay the order, such as a second one.
_OF_OTHER_REFUND = {
    RefundProgress.FAILED: "The shop is looking at the refund of a payment for this order.",
    RefundProgress.CLAIMABLE: (
        "The shop will refund a payment for this order: open the link that it sent you, and say where the money should"
        " go."
    ),
    RefundProgress.STARTED: "A payment for this order is being refunded.",
    RefundProgress.PARTLY: "A part of a payment for this order was refunded.",
    RefundProgress.WHOLLY: "A payment for this order was refunded.",
}
_REJECTED = PageText(
    "Your payment was not accepted",
    "Your money arrived, and the shop did not accept it as the payment of this order.",
    "Pay now",
)
_ALSO_REJECTED = "Other money arrived, and the shop did not accept it as a payment of this order."
# The sentences about the money of a payment that was not accepted.
_OF_REJECTED = {
    RefundProgress.OWED: (
        "The shop has to pay it back to you, and will be in touch. If you have questions, please ask the shop."
    ),
    RefundProgress.FAILED: (
        "Paying it back did not work at once. You do not have to do anything: the shop sends it again, or asks you"
        " where else it should go."
    ),
    RefundProgress.CLAIMABLE: (
        "A refund waits for you: open the link that the shop sent you, and say where the money should go."
    ),
    RefundProgress.STARTED: "The shop is paying it back to you.",
    RefundProgress.PARTLY: "A part of it was paid back to you.",
    RefundProgress.WHOLLY: "It was paid back to you.",
    RefundProgress.KEPT: (
        "The shop has recorded that it keeps this money. If you did not agree to that, please ask the shop."
    ),
}
_SEPARATE = "Paying now is a new payment: the money that was not accepted is separate and does not count."
_DONE = "There is nothing more to do."
SECOND = (
    "A second payment arrived, and a person at the shop is looking at it. Please do not pay again; the shop will be in"
    " touch."
)
"""The sentences of a paid order of which another payment is held."""

_NOT_SENT = "I have not sent the money: pay now"
OVER = (
    "The payment page that was open is closed. If you have sent the money, please wait, and do not pay again. If you"
    " have not, please ask the shop."
)
CHANGED = (
    "The amount to pay has changed. Please do not pay on the earlier payment page. If you have sent the money already,"
    " please wait, and do not pay again."
)
"""The sentences about the payment page of an order that waits for money, where it cannot be gone back to."""

UNFINISHED = "Not finished paying? The same payment page is still there, and opening it again is no second payment."
"""The sentences above the link to it, where it can."""

BUTTON: dict[str, str] = {
    "pay": _UNPAID.pay,
    Status.PART: _OF_STATUS[Status.PART].pay,
    Status.PENDING: "See how your payment stands",
    Status.HELD: "See how your payment stands",
    Status.PAID: "Paid: see your receipt",
}
"""The labels of the pay button, and, by the order's status, of the link that stands in its place."""

BAD_LINK = PageText(
    "This link does not work",
    "It is incomplete, or too old. Please open your order in the shop again, or ask the shop for a new link.",
)
RETRY = PageText(
    "Payment is not available right now",
    "The payment could not be started. Nothing was charged, and your order is kept.",
    "Try again",
)

DATABASE = PageText(
    "This page cannot be shown right now",
    "The shop cannot look this up at the moment. Nothing is lost. If you have paid, please do not pay again.",
)
_UNRECORDED = (
    "The shop cannot record payments at the moment. If you have paid, your payment is not lost: please do not pay"
    " again. This page shows it as soon as it is recorded."
)


class Receipt(msgspec.Struct, frozen=True):
    """The money of an order, as its page shows it."""

    total: Total | None = None
    """The total that the next payment is asked for, or that a held one was."""

    left: Decimal = Decimal(0)
    """All that is left to pay; 0 where nothing is asked for."""

    payments: Sequence[Payment] = ()
    paid_back: Mapping[str, Decimal] = {}
    """By currency."""


def order_text(
    standing: OrderStatus,
    payable: bool,
    receipt: Receipt,
    refunds: OrderRefunds,
    asked: ShownRequest | None,
    news: str = "",
) -> PageText:
    """The text of the status page.

    :param payable: whether the shop wants a payment of this order now.
    :param receipt: the amounts to show.
    :param refunds: what was paid back of the order's payments.
    :param asked: the payment request whose order it is, with its state by its own row: `unpaid`, `expired` or
        `withdrawn`; None for an order of the shop.
    :param news: `OVER`, `CHANGED` or `UNFINISHED` where the order waits for money and can be paid; `SECOND`; or empty.
    """
    status = standing.status
    text = _of_standing(standing, payable, refunds, asked)
    notices = [] if refunds.of_others is None else [_OF_OTHER_REFUND[refunds.of_others]]
    if refunds.of_rejected is not None:
        becomes = _OF_REJECTED[refunds.of_rejected]
        if status in ("unpaid", Status.ABANDONED):
            text, notices = _REJECTED if payable else replace(_REJECTED, pay=""), [becomes]
        else:
            notices = [_ALSO_REJECTED, becomes, *notices]
    before = []
    if news == SECOND:
        notices.insert(0, news)
    elif news == CHANGED:
        text, before = replace(text, pay=_NOT_SENT), [news]
    if text is _OF_STATUS[Status.PAID] and not notices:
        notices = [_DONE]
    if text.pay and refunds.of_rejected is not None:
        before.append(_SEPARATE)
    return replace(
        translated(text),
        separate=" ".join(map(gettext, before)),
        unrecorded=gettext(_UNRECORDED) if standing.unrecorded else "",
        unfinished=gettext(news) if status == Status.PENDING and news != CHANGED else "",
        refund=" ".join(map(gettext, notices)),
        total="" if receipt.total is None else _to_pay(receipt.total, receipt.left, standing),
        arrived=list(map(_arrived, receipt.payments)),
        paid_back=[format_amount(amount, currency) for currency, amount in receipt.paid_back.items()],
        subject=visible(asked.request.title) if asked else "",
        note=visible(asked.request.note or "") if asked else "",
        deadline=_deadline(asked) if asked and status not in (Status.PAID, Status.HELD) else "",
    )


def _of_standing(standing: OrderStatus, payable: bool, refunds: OrderRefunds, asked: ShownRequest | None) -> PageText:
    status = standing.status
    # Money that was sent or has arrived is told of even when the shop wants no payment any more.
    closed = not payable and status not in (Status.PENDING, Status.PART, Status.PAID, Status.HELD)
    if asked and (closed or status == "unpaid"):
        return _OF_REQUEST[asked.status]
    if closed:
        return _CLOSED
    if status == Status.PENDING and not payable:
        return _UNWANTED
    if status == Status.PAID and refunds.of_payment is not None:
        return _OF_REFUND[refunds.of_payment]
    if status == Status.CREATED and standing.crowded:
        return _CROWDED
    return _OF_REASON.get(standing.reason or "", _OF_STATUS[status])


def _deadline(asked: ShownRequest) -> str:
    if asked.request.expires_at is None or asked.status == "withdrawn":
        return ""
    return gettext("To be paid before %(time)s") % {"time": format_moment(asked.request.expires_at)}


def plain_text(text: PageText, wait: int | None = None) -> PageText:
    """The text of a page that looks nothing up: `BAD_LINK`, `RETRY` or `DATABASE`.

    :param wait: seconds to wait before another try; None where that is of no use.
    """
    return replace(translated(text), when="" if wait is None else when_text(wait))


def named_order(order_id: str) -> str:
    """The order's number, as titles and pages name it."""
    return gettext("Order %(order)s") % {"order": visible(order_id)}


def translated(page: T) -> T:
    """The texts of a page in its language."""
    language, facts = of_page(), asdict(page).items()
    texts = {name: language.gettext(text) for name, text in facts if isinstance(text, str)}
    return replace(page, **texts | {"language": language.code})


def when_text(wait: int) -> str:
    """The advice when to try again.

    :param wait: seconds to wait before another try.
    """
    if wait <= _MOMENT:
        return gettext("Please try again in a moment.")
    minutes = -(-wait // 60)
    return catalogue(of_page().code).ngettext(
        "Please try again in about %(minutes)d minute.", "Please try again in about %(minutes)d minutes.", minutes
    ) % {"minutes": minutes}


def _to_pay(total: Total, left: Decimal, standing: OrderStatus) -> str:
    if standing.status == Status.HELD:
        text = gettext("Asked for: %(amount)s")
    elif left > total.amount:
        text = gettext("To pay now: %(amount)s, of %(left)s")
    elif standing.has_part:
        text = gettext("Left to pay: %(amount)s")
    elif isinstance(total, Pay):
        text = gettext("To pay: %(amount)s")
    else:
        text = gettext("To pay: %(amount)s, and the fee of your payment method")
    sums = {"amount": total.amount, "left": left}
    return text % {name: format_amount(each, total.currency) for name, each in sums.items()}


def _arrived(payment: Payment) -> str:
    method = payment.bank_name or payment.method
    parts = (
        payment.paid and format_amount(payment.paid.amount, payment.paid.currency),
        method and visible(method[:_MAX_METHOD]),
        format_moment(payment.completed_at),
    )
    return ", ".join(part for part in parts if part)
