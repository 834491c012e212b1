"""The text of the customers' pages in English, and how it is translated; `translations/` has the other languages.

Every text of a constant here is translated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import asdict, replace

from flask_paycheckout.text import visible
from flask_paycheckout.translations.catalogues import catalogue
from flask_paycheckout.views.language import gettext, of_page
from flask_paycheckout.views.receipt_text import Look, Row

T = TypeVar("T", bound=msgspec.Struct)

# The most seconds of waiting that are called "in a moment".
_MOMENT = 30


class PageText(msgspec.Struct, frozen=True):
    """The translated texts of one page; templates show them as `words.title` and so on."""

    title: str
    sentence: str
    pay: str = ""
    """The label of the pay button; empty when nothing can be paid."""

    badge: str = ""
    """The state in one word."""

    look: Look = Look.TROUBLE
    caption: str = ""
    """The words above the sum."""

    sum: str = ""
    """The page's main sum; empty if it is unknown, or PAYCHECKOUT_SHOW_TOTAL is off."""

    lines: Sequence[Row] = ()
    """The lines of the order."""

    rows: Sequence[Row] = ()
    """The list of labelled facts about the order, such as its payments and refunds."""

    when: str = ""
    """The advice when to try again; only set when a payment could not be started."""

    notices: Sequence[str] = ()
    """Further sentences, such as about payments that cannot be read now, and money that did not pay the order."""

    above: str = ""
    """The sentences above the pay button, or above the link to the payment page that is open."""

    order: str = "Order"
    """The label of the order's number."""

    back: str = "Back to your order"
    """The label of the link to the shop's own page of the order."""

    again: str = "Check again"
    """The label of the link that reloads the page, shown when JavaScript is off."""

    print: str = "Print or save as PDF"
    """The label of the button that prints a paid order's receipt while JavaScript is on; empty without a receipt."""

    ask: str = "Questions?"
    """The words before the shop's address."""

    offline: str = "No connection, trying again"
    """The message that the browser cannot reach the shop."""

    subject: str = ""
    """The title of a payment request; empty for an order of the shop."""

    note: str = ""
    """The text below the title of a payment request."""

    scan: str = "Scan this code to pay on another device."
    """The caption of the QR code of a payment request's page."""

    language: str = ""
    """The language of these texts, for the attribute `lang`."""

    direction: str = ""
    """The writing direction of the language, for the attribute `dir`."""


BAD_LINK = PageText(
    "This link does not work",
    "It is incomplete, or too old. Please open your order in the shop again, or ask the shop for a new link.",
    look=Look.CLOSED,
)
RETRY = PageText(
    "Payment is not available right now",
    "The payment could not be started. Nothing was charged, and your order is kept.",
    "Try again",
)
EARLIER_UNREAD = PageText(
    "Please wait a moment",
    "We cannot see right now whether a payment of yours has arrived. If you have paid, please do not pay again. Nothing"
    " was charged now, and your order is kept.",
    "Try again",
)
SHOP_FAILED = PageText(
    "The shop cannot take this payment",
    "Something in the shop itself does not work, and trying again does not help until the shop has repaired it. Nothing"
    " was charged, and your order is kept. If you have questions, please ask the shop.",
    again="",
)
AMOUNT_REFUSED = PageText(
    "This amount cannot be paid online",
    "No payment method takes this amount. Nothing was charged, and your order is kept. Please ask the shop how else you"
    " can pay.",
    again="",
)

DATABASE = PageText(
    "This page cannot be shown right now",
    "The shop cannot look this up at the moment. Nothing is lost. If you have paid, please do not pay again.",
)


def plain_text(text: PageText, wait: int | None = None) -> PageText:
    """The text of a page without facts, such as `BAD_LINK`, `RETRY` or `DATABASE`.

    :param wait: seconds to wait before another try; None if another try is of no use.
    """
    return replace(translated(text), when="" if wait is None else when_text(wait))


def named_order(order_id: str) -> str:
    """The order's number, as titles and pages name it."""
    return gettext("Order %(order)s") % {"order": visible(order_id)}


def translated(page: T) -> T:
    """The texts of a page in its language."""
    language, facts = of_page(), asdict(page).items()
    texts = {name: language.gettext(text) for name, text in facts if isinstance(text, str)}
    return replace(page, **texts | {"language": language.code, "direction": language.direction})


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
