"""Every word that a customer reads on our pages, in the customer's language.

The sentences stand here in English, marked for translation; `translations/` holds them in the other languages.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from flask_paycheckout.rules.states import DEPOSIT_CLOSED, STALLED, Status
from flask_paycheckout.totals import Pay, Total
from flask_paycheckout.translations.catalogues import Tongue, catalogue
from flask_paycheckout.views.money import written

__all__ = ["Words", "bad_link_words", "opens_new_tab", "order_words", "pay_now", "retry_words"]

# Longer than this, and "in a moment" is not true.
_MOMENT = 30


def message(text: str) -> str:
    """Marks a text for translation; it is looked up where it is shown."""
    return text


@dataclass(frozen=True)
class Words:
    """The texts of one page, translated. Templates show them as `words.title` and so on."""

    title: str
    sentence: str
    pay: str
    """On the button that leads to paying; empty where nothing can be paid."""

    when: str = ""
    """When another try is worthwhile; empty but where a payment could not be started."""

    total: str = ""
    """What is to be paid; empty unless PAYCHECKOUT_SHOW_TOTAL is on and something is to be paid."""

    back: str = message("Back to your order")
    """On the link to the shop's own page of the order."""

    again: str = message("Check again")
    """On the link that asks how the order stands, where JavaScript is off."""

    language: str = "en"
    """The language that all of this is in, for `lang`."""


_UNPAID = Words(message("Not paid yet"), message("This order is waiting for your payment."), message("Pay now"))
_CLOSED = Words(
    message("Nothing to pay here"),
    message(
        "The shop is not waiting for a payment for this order. If a payment page is still open, please do not pay"
        " there. If you have questions, please ask the shop."
    ),
    "",
)
_OF_STATUS = {
    "unpaid": _UNPAID,
    Status.CREATED: Words(
        message("Waiting for your payment"),
        message("Your payment page is open. This page notices by itself when you have paid."),
        message("Go to the payment page"),
    ),
    Status.PENDING: Words(
        message("Your payment is on its way"),
        message(
            "The bank or network is still working on it. You can close this page: nothing gets lost, and this link"
            " stays good."
        ),
        message("Back to the payment page"),
    ),
    Status.PAID: Words(message("Paid, thank you"), message("Your payment arrived. There is nothing more to do."), ""),
    Status.HELD: Words(
        message("We are looking at your payment"),
        message(
            "Your money arrived safely, and a person is checking it against your order. Please do not pay again; the"
            " shop will be in touch."
        ),
        "",
    ),
    Status.ABANDONED: Words(
        message("No payment arrived"),
        message(
            "The payment page was closed or ran out of time. If you did pay, wait a little: a late payment is still"
            " noticed."
        ),
        message("Pay again"),
    ),
}
# An abandoned payment whose end is known better than by its status.
_OF_REASON = {
    DEPOSIT_CLOSED: Words(
        message("The payment did not go through"),
        message(
            "The payment failed or was cancelled. If money left your account all the same, wait a little: a late"
            " payment is still noticed."
        ),
        message("Pay again"),
    ),
    STALLED: Words(
        message("No payment arrived"),
        message(
            "You chose how to pay, but no payment arrived in time. If you did pay, wait a little: a late payment is"
            " still noticed."
        ),
        message("Pay again"),
    ),
}
# An order with so many open payment pages that it gets no other one now; those that are there can be paid.
_CROWDED = Words(
    message("Waiting for your payment"),
    message(
        "Many payment pages are open for this order. Please pay on one that you have open; a new one can be opened"
        " again in a few minutes."
    ),
    message("Go to the payment page"),
)
_BAD_LINK = Words(
    message("This link does not work"),
    message("It is incomplete, or too old. Please open your order in the shop again, or ask the shop for a new link."),
    "",
)
_RETRY = Words(
    message("Payment is not available right now"),
    message("The payment could not be started. Nothing was charged, and your order is kept."),
    message("Try again"),
)


def order_words(
    status: str,
    payable: bool,
    total: Total | None,
    tongue: Tongue,
    *,
    reason: str | None = None,
    crowded: bool = False,
) -> Words:
    """What the status page says.

    :param payable: the shop wants a payment of this order now.
    :param total: what is shown as the amount to pay; None: no amount is shown.
    :param reason: why the order's newest attempt was abandoned.
    :param crowded: the order gets no other payment page now.
    """
    # Money that is on its way, or here, is told of, whatever the shop wants by now.
    closed = not payable and status not in (Status.PENDING, Status.PAID, Status.HELD)
    ended = _OF_REASON.get(reason) if reason and status == Status.ABANDONED else None
    waiting = _CROWDED if crowded and status == Status.CREATED else None
    words = _translated(_CLOSED if closed else waiting or ended or _OF_STATUS[status], tongue)
    return words if total is None else replace(words, total=_to_pay(total, tongue))


def retry_words(wait: int, tongue: Tongue) -> Words:
    """What the page says when a payment could not be started.

    :param wait: seconds after which another try is worthwhile.
    """
    return replace(_translated(_RETRY, tongue), when=_when(wait, tongue))


def bad_link_words(tongue: Tongue) -> Words:
    """What the page says to whom a link leads nowhere."""
    return _translated(_BAD_LINK, tongue)


def opens_new_tab(tongue: Tongue) -> str:
    """Behind the label of a pay button that opens a new tab."""
    return catalogue(tongue.language).gettext("(opens in a new tab)")


def pay_now(tongue: Tongue) -> str:
    """The pay button's own label."""
    return catalogue(tongue.language).gettext(_UNPAID.pay)


def _translated(words: Words, tongue: Tongue) -> Words:
    messages = catalogue(tongue.language)
    # gettext gives the catalogue's head for an empty message.
    texts = {name: messages.gettext(text) if text else "" for name, text in vars(words).items()}
    return Words(**texts | {"language": tongue.language})


def _when(wait: int, tongue: Tongue) -> str:
    messages = catalogue(tongue.language)
    if wait <= _MOMENT:
        return messages.gettext("Please try again in a moment.")
    minutes = -(-wait // 60)
    return messages.ngettext(
        "Please try again in about %(minutes)d minute.", "Please try again in about %(minutes)d minutes.", minutes
    ) % {"minutes": minutes}


def _to_pay(total: Total, tongue: Tongue) -> str:
    messages = catalogue(tongue.language)
    if isinstance(total, Pay):
        text = messages.gettext("To pay: %(amount)s")
    else:
        text = messages.gettext("To pay: %(amount)s, and the fee of your payment method")
    return text % {"amount": written(total.amount, total.currency, tongue.tag)}
