"""The text of the status page of an order or payment request, in English.

Every text of a constant here is translated.
"""

from __future__ import annotations

from msgspec.structs import replace

from flask_paycheckout.checkouts.checkout_model import KEPT
from flask_paycheckout.checkouts.order_status import OrderStatus
from flask_paycheckout.checkouts.requests import ShownRequest
from flask_paycheckout.checkouts.states import Reason, Status
from flask_paycheckout.payouts.refund_progress import OrderRefunds
from flask_paycheckout.text import visible
from flask_paycheckout.views.language import format_moment, gettext, of_page
from flask_paycheckout.views.page_text import PageText, translated
from flask_paycheckout.views.receipt_text import (
    Look,
    Receipt,
    Row,
    currency_of,
    ordered,
    pay_label,
    rows_of,
    sum_on_top,
)

_UNPAID = PageText("Not paid yet", "This order is waiting for your payment.", "Pay now", "unpaid", Look.OPEN)
_CLOSED = PageText(
    "Nothing to pay here",
    "The shop is not waiting for a payment for this order. If a payment page is still open, please do not pay"
    " there. If you have questions, please ask the shop.",
    badge="closed",
    look=Look.CLOSED,
)
_UNWANTED = PageText(
    "The shop does not want this payment any more",
    "If you have not sent the money, please do not send it. If you have, it is not lost: a person at the shop looks at"
    " it when it arrives.",
    badge="closed",
    look=Look.CLOSED,
)
_OF_STATUS = {
    "unpaid": _UNPAID,
    Status.CREATED: PageText(
        "Waiting for your payment",
        "This page notices by itself when you have paid.",
        "Go to the payment page",
        "unpaid",
        Look.OPEN,
    ),
    Status.PENDING: PageText(
        "We are waiting for your money",
        "This page notices by itself when it arrives. You can close it: nothing gets lost, and this link stays good.",
        badge="waiting",
        look=Look.WAIT,
    ),
    Status.PART: PageText(
        "Partly paid",
        "A part of what this order costs has arrived. Thank you!",
        "Pay the rest",
        "part-paid",
        Look.OPEN,
    ),
    Status.PAID: PageText("Paid, thank you", "Your payment arrived.", badge="paid", look=Look.PAID),
    Status.HELD: PageText(
        "We are looking at your payment",
        "Your money arrived safely, and a person is checking it against your order. Please do not pay again; the"
        " shop will be in touch.",
        badge="in review",
        look=Look.REVIEW,
    ),
    Status.ABANDONED: PageText(
        "No payment arrived",
        "The payment page was closed or ran out of time. If you did pay, wait a little: a late payment is still"
        " noticed.",
        "Pay again",
        "unpaid",
        Look.OPEN,
    ),
}
# Payment requests for which no money has arrived, by their state.
_OF_REQUEST = {
    "unpaid": PageText(
        _UNPAID.title, "This request is waiting for your payment.", _UNPAID.pay, _UNPAID.badge, Look.OPEN
    ),
    "expired": PageText(
        "The time to pay is over",
        "This request could be paid until the time below. If a payment page is still open, please do not pay there."
        " If you have questions, please ask the shop.",
        badge="expired",
        look=Look.CLOSED,
    ),
    "withdrawn": PageText(
        "Nothing to pay here",
        "The shop has withdrawn this request. If a payment page is still open, please do not pay there. If you have"
        " questions, please ask the shop.",
        badge="closed",
        look=Look.CLOSED,
    ),
}
# Requests that are partly paid and have ended, by their state.
_OF_PART = {
    "expired": "The time to pay the rest is over. If you have questions, please ask the shop.",
    "withdrawn": "The shop does not ask for the rest any more. If you have questions, please ask the shop.",
}
# Abandoned payments whose reason is more precise than the status.
_OF_REASON: dict[str, PageText] = {
    Reason.DEPOSIT_CLOSED: PageText(
        "The payment did not go through",
        "The payment failed or was cancelled. If money left your account all the same, wait a little: a late"
        " payment is still noticed.",
        "Pay again",
        "unpaid",
        Look.TROUBLE,
    ),
    Reason.STALLED: PageText(
        "No payment arrived",
        "You chose how to pay, but no payment arrived in time. If you did pay, wait a little: a late payment is"
        " still noticed.",
        "Pay again",
        "unpaid",
        Look.OPEN,
    ),
}
# An order that has reached its limit of open payment pages. The open pages can still be paid.
_CROWDED = PageText(
    "Waiting for your payment",
    "Many payment pages are open for this order. Please pay on one that you have open; a new one can be opened"
    " again in a few minutes.",
    "Go to the payment page",
    "unpaid",
    Look.OPEN,
)
# A paid order with a refund, by whether everything was paid back.
_OF_REFUND = {
    False: PageText(
        "Partly refunded",
        "Your payment arrived, and the shop has paid a part of it back to you.",
        badge="paid",
        look=Look.PAID,
    ),
    True: PageText(
        "Refunded",
        "Your payment arrived, and the shop has paid it back to you.",
        badge="refunded",
        look=Look.BACK,
    ),
}
_REJECTED = PageText(
    "Your payment was not accepted",
    "Your money arrived, and the shop did not accept it as the payment of this order.",
    "Pay now",
    "unpaid",
    Look.BACK,
)
_ALSO_REJECTED = "Other money arrived, and the shop did not accept it as a payment of this order."
_OF_PAYBACK = {
    None: "The shop has to pay it back to you, and will be in touch. If you have questions, please ask the shop.",
    KEPT: "The shop has recorded that it keeps this money. If you did not agree to that, please ask the shop.",
}
_TAKEN_BACK = PageText(
    "Your payment was taken back",
    "Your payment had arrived, and your bank or payment method has taken it back. Please ask the shop what to do now.",
    badge="taken back",
    print="",
)
_ALSO_TAKEN_BACK = (
    "A payment for this order had arrived, and was taken back. If you have questions, please ask the shop."
)
_SEPARATE = "Paying now is a new payment: the money that was not accepted is separate and does not count."
_DONE = "There is nothing more to do."
SECOND = (
    "A second payment arrived, and a person at the shop is looking at it. Please do not pay again; the shop will be in"
    " touch."
)
"""The sentences of a paid order that has another, held payment."""

UNPRICED = (
    "The shop cannot say at the moment what is to be paid here, since something in it does not work. Your order is"
    " kept. If this lasts, please ask the shop."
)
"""The sentences of an order for which a function of the shop fails."""

OVER = "The payment page that was open is closed. If you have sent the money, please wait, and do not pay again."
CHANGED = (
    "The amount to pay has changed. Please do not pay on the earlier payment page. If you have sent the money already,"
    " please wait, and do not pay again."
)
"""The sentences above the pay button of an order that waits for money of a payment page that is no longer offered."""

UNFINISHED = "Not finished paying? The same payment page is still there, and opening it again is no second payment."
"""The sentences above the link to the open payment page."""

_PAY_ANYWAY = {
    OVER: "I have sent nothing: pay again",
    CHANGED: "I have not sent the money: pay now",
    UNFINISHED: "Back to the payment page",
}

BUTTON: dict[str, str] = {
    "pay": _UNPAID.pay,
    Status.PART: _OF_STATUS[Status.PART].pay,
    Status.PENDING: "See how your payment stands",
    Status.HELD: "See how your payment stands",
    Status.PAID: "Paid: see your receipt",
}
"""The labels of the pay button, and of the link that replaces it, by the order's status."""
_UNRECORDED = (
    "The shop cannot record payments at the moment. If you have paid, your payment is not lost: please do not pay"
    " again. This page shows it as soon as it is recorded."
)


_UNREAD = (
    "We cannot see right now whether your payment has arrived. If you have paid, please do not pay again. This page"
    " shows your payment as soon as we can see it."
)


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
    :param refunds: the refunds of the order's payments.
    :param asked: the payment request that the order belongs to, with the state of the request's own row: `unpaid`,
        `expired` or `withdrawn`; None for an order of the shop.
    :param news: `OVER`, `CHANGED` or `UNFINISHED` if the order waits for money and can be paid; `SECOND`, `UNPRICED`,
        or empty.
    """
    text, above = _of_standing(standing, payable, refunds, asked), [news] if news in _PAY_ANYWAY else []
    notices = [_UNRECORDED if standing.unrecorded else _UNREAD] if standing.is_unsure else []
    if news in (SECOND, UNPRICED):
        notices.append(news)
    if asked and standing.status == Status.PART and asked.status in _OF_PART:
        notices.append(_OF_PART[asked.status])
    if news == UNPRICED:
        text = replace(text, look=Look.TROUBLE, pay="")
    if refunds.of_rejected:
        if standing.status in ("unpaid", Status.ABANDONED):
            text = _REJECTED if payable else replace(_REJECTED, pay="")
        else:
            notices.append(_ALSO_REJECTED)
        notices += [sentence for payback, sentence in _OF_PAYBACK.items() if payback in refunds.of_rejected]
        above.append(_SEPARATE)
    if True in receipt.taken_back:
        text = _TAKEN_BACK
    elif receipt.taken_back:
        notices.append(_ALSO_TAKEN_BACK)
    if text is _OF_STATUS[Status.PAID] and not (notices or refunds.sums):
        notices = [_DONE]
    amount, caption = sum_on_top(standing, receipt)
    text = replace(translated(text), caption=caption, sum=amount)
    if label := _PAY_ANYWAY.get(news):
        text = replace(text, pay=gettext(label))
    elif standing.status != Status.ABANDONED and text.pay and receipt.total is not None and receipt.is_shown:
        # After a failed payment, "Pay again" is more helpful; the sum stands above it.
        text = replace(text, pay=pay_label(receipt.total, of_page()))
    return replace(
        text,
        notices=list(map(gettext, notices)),
        above=" ".join(map(gettext, above)),
        lines=list(ordered(receipt.lines, currency_of(receipt))),
        rows=[*_rows_of_request(standing, asked), *rows_of(standing, receipt, refunds)],
        subject=visible(asked.request.title) if asked else "",
        note=visible(asked.request.note or "") if asked else "",
    )


def _of_standing(standing: OrderStatus, payable: bool, refunds: OrderRefunds, asked: ShownRequest | None) -> PageText:
    status = standing.status
    # The page mentions money that was sent or has arrived even if the shop no longer wants a payment.
    closed = not payable and status not in (Status.PENDING, Status.PART, Status.PAID, Status.HELD)
    if asked and (closed or status == "unpaid"):
        return _OF_REQUEST[asked.status]
    if closed:
        return _CLOSED
    if status == Status.PENDING and not payable:
        return _UNWANTED
    if refunds.of_payment is not None and (status == Status.PAID or (status == Status.PART and refunds.of_payment)):
        return replace(_OF_REFUND[refunds.of_payment], pay=_OF_STATUS[status].pay)
    if status == Status.CREATED and standing.crowded:
        return _CROWDED
    return _OF_REASON.get(standing.reason or "", _OF_STATUS[status])


def _rows_of_request(standing: OrderStatus, asked: ShownRequest | None) -> list[Row]:
    if asked is None or asked.request.expires_at is None or asked.status == "withdrawn":
        return []
    # An expired deadline explains why the request cannot be paid, unless a part of it was paid.
    if standing.status in (Status.PAID, Status.HELD) or (standing.status == Status.PART and asked.status in _OF_PART):
        return []
    return [Row(gettext("To be paid before"), format_moment(asked.request.expires_at))]
