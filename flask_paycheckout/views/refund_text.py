"""The text of the refund page in English; `translations/` has the other languages.

Every text of a constant here is translated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from flask_paycheckout.config.checks import PayoutFees
from flask_paycheckout.payouts import destinations
from flask_paycheckout.payouts.claims import Fault, claims_left, max_length
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutKind, PayoutState, PayoutStatus
from flask_paycheckout.runtime import runtime
from flask_paycheckout.text import visible
from flask_paycheckout.views.language import format_amount, format_moment, gettext
from flask_paycheckout.views.page_text import translated
from flask_paycheckout.views.receipt_text import Look


class RefundText(msgspec.Struct, frozen=True):
    """The translated texts of the refund page; templates show them as `words.title` and so on."""

    title: str
    sentence: str
    badge: str = ""
    """The state in one word."""

    look: Look = Look.CLOSED
    payout_title: str = ""
    payout_sentence: str = ""
    """Title and sentence of a payout that is no refund; if they are empty, the two above are shown."""

    amount: str = ""
    """The amount that is sent."""

    counts: str = ""
    """The sentence that says how much of the payment this pays back; empty if the currency is the payment's."""

    destination: Mapping[str, str] = {}
    """The facts about the customer's destination, by label, without an account number; empty until it is stored."""

    is_wallet: bool = False
    """Whether the destination is a wallet, whose address is shown in groups of four characters."""

    unchecked: str = ""
    """The warning that a wrong character of the wallet's address would not be noticed; empty if it would be."""

    unlisted: str = ""
    """The warning that the service does not list the bank; empty if it does, or if it is too late for a correction."""

    problem: str = ""
    """The reason why the form that was just sent changed nothing; empty if no form was sent."""

    detail: str = ""
    """The service's own message about the form that was just sent, in the service's language."""

    when: str = ""
    """The advice when to send the form again; only set while the service cannot be reached."""

    deadline: str = ""
    """The time until which the form can be sent; empty without a deadline."""

    about: Sequence[str] = ()
    """Sentences that say who sees the typed data, who pays the transfer's fee, and how long the transfer takes."""

    ask_about: str = "Who sees this, and when does the money come?"
    """The heading of the sentences in `about`, which are collapsed."""

    send: str = "Send my bank details"
    """The label of the form's button."""

    change: str = "Change where the money goes"
    """The label of the form if a destination is stored already."""

    where: str = "Bank account"
    person: str = "Your address"
    check: str = "Check and send"
    """The headings of the steps of the form."""

    compare: str = (
        "Please compare the account number with your bank's once more: money may not come back from a wrong one."
    )
    """The advice to check before the form is sent."""

    ask_why_person: str = "Why is this asked?"
    why_person: str = (
        "Banks ask for the address of whoever is paid. The e-mail address is for questions about the transfer."
    )

    order: str = "Order"
    ask: str = "Questions?"
    """As in `PageText`."""

    back: str = "Back to your order"
    again: str = "Check again"
    """The label of the link that reloads the page."""

    language: str = ""
    direction: str = ""
    """The language of these texts, and its direction, for the attributes `lang` and `dir`."""


_ON_ITS_WAY = RefundText(
    "Your refund is being sent",
    "The shop has approved it. You can close this page: this link stays good.",
    "under way",
    Look.WAIT,
    "Your payout is being sent",
)
_OF_STATUS = {
    PayoutStatus.CLAIMABLE: RefundText(
        "Where should your refund go?",
        "The shop pays you back. Please say where the money should go. A person at the shop checks it before it is"
        " sent.",
        "unclaimed",
        Look.BACK,
        "Where should your money go?",
        "The shop pays you. Please say where the money should go. A person at the shop checks it before it is sent.",
    ),
    PayoutStatus.WAITING: RefundText(
        "The shop is checking your refund",
        "It is sent when a person at the shop has approved it. You can close this page: this link stays good.",
        "in review",
        Look.REVIEW,
        "The shop is checking your payout",
    ),
    PayoutStatus.READY: _ON_ITS_WAY,
    PayoutStatus.SENDING: _ON_ITS_WAY,
    PayoutStatus.SENT: RefundText(
        "Your refund was sent",
        "The money is on its way to your bank. It usually arrives within one to three working days.",
        "sent",
        Look.WAIT,
        "Your payout was sent",
    ),
    PayoutStatus.COMPLETED: RefundText(
        "Refunded", "The money was paid out to you. There is nothing more to do.", "paid out", Look.PAID, "Paid out"
    ),
    PayoutStatus.FAILED: RefundText(
        "The shop is looking at your refund",
        "The transfer did not go through. You do not have to do anything: the shop sends it again, or asks you where"
        " else it should go.",
        "delayed",
        Look.TROUBLE,
        "The shop is looking at your payout",
    ),
    PayoutStatus.UNKNOWN: RefundText(
        "The shop is looking at your refund",
        "It could not be completed yet. You do not have to do anything; the shop will be in touch.",
        "delayed",
        Look.TROUBLE,
        "The shop is looking at your payout",
    ),
    PayoutStatus.CANCELLED: RefundText(
        "This refund was cancelled",
        "The shop will not send it. If you have questions, please ask the shop.",
        "cancelled",
        Look.CLOSED,
        "This payout was cancelled",
    ),
}
# A transfer of tokens cannot be followed further than "sent".
_SENT_TO_WALLET = RefundText(
    "Refunded", "The money was sent to your wallet. There is nothing more to do.", "paid out", Look.PAID, "Paid out"
)
_EXPIRED = RefundText(
    "The time to say where the money goes is over",
    "The shop sends nothing before it has asked you again. Please ask the shop for a new link.",
    "expired",
    Look.CLOSED,
)
_REPLACED = RefundText(
    "Another refund was made in the place of this one",
    "This transfer did not go through, and is not sent again. If you have no link of the new one, please ask the shop.",
    "replaced",
    Look.CLOSED,
)
_NO_MORE = RefundText(
    "Please ask the shop about your refund",
    "This form was sent too often, and cannot be used any more. The shop can send you a new link.",
    "unclaimed",
    Look.TROUBLE,
    "Please ask the shop about your payout",
)

# The reasons why the form that was just sent changed nothing.
FAULTS = "Please look at the marked fields again. Nothing was saved yet."
REFUSED = "The payment service did not accept this. Please correct it, and send it again."
UNREACHABLE = (
    "This could not be saved right now. Everything except the account number is still here; please send it again."
)
WALLET_UNREACHABLE = "This could not be saved right now. What you typed is still here; please send it again."
TOO_LATE = "This changed nothing: the shop had already approved or cancelled it."
TOO_OFTEN = "This changed nothing: the form was sent too often. Please ask the shop."

_ABOUT_BANK = (
    (
        "The payment service makes the transfer and gets what you type here. The shop sees your name, the bank and the"
        " last digits of the account number."
    ),
    "Once the shop has approved it, a transfer usually arrives within one to three working days.",
)
_ABOUT_WALLET = ("The shop and the payment service, which sends the tokens, see the address of your wallet.",)
_WHO_PAYS = {
    PayoutFees.ON_TOP: "The shop pays the fee of the transfer.",
    PayoutFees.INCLUDED: "The fee of the transfer is taken off this amount.",
}

_FAULTS = {
    Fault.MISSING: "Please fill in this field.",
    Fault.TOO_LONG: "This is too long; please write it in %(longest)d characters or fewer.",
    Fault.SEVERAL_LINES: "Please write this in one line, without special control characters.",
    Fault.BULLET: "Please leave out the bullets, such as •.",
    Fault.NO_EMAIL: "This is not an e-mail address; it looks like name@example.com.",
    Fault.NO_ACCOUNT_NUMBER: (
        "This is not an account number: it has up to 64 letters and digits. Please copy it from your bank."
    ),
    Fault.NO_IBAN: (
        "This begins like an IBAN, but a character of it is wrong or missing. Please compare it with your bank's."
    ),
    Fault.NO_WALLET: "This is not the address of a wallet for %(token)s. Please copy it from your wallet again.",
}

_LABELS = {
    "account_name": "Name of the account holder",
    "account_number": "Account number or IBAN",
    "bank_name": "Name of the bank",
    "country": "Country of the bank",
    "email": "E-mail address",
    "address": "Street and number",
    "city": "City",
    "post_code": "Postal code",
    "wallet_address": "Address of your wallet for %(token)s",
}
# The facts of a destination, by their stored labels.
_FACTS = {
    "Name": _LABELS["account_name"],
    "Bank": _LABELS["bank_name"],
    "IBAN": "Bank that the IBAN names",
    "Number ends with": "The account number ends with",
    "Wallet": "Your wallet",
}
_UNCHECKED = (
    "This address has nothing by which a wrong character could be noticed. Please compare each one with your wallet."
)
_UNLISTED = (
    "The payment service does not list %(bank)s among the banks that it pays to. Please compare the name with the list"
    " in the form, and change it if your bank has another one there."
)
_SEND_WALLET = "Send my wallet address"
_DEADLINE = "Please say it before %(time)s; otherwise the shop has to ask you again."
_TYPE_AGAIN = "For your safety this is not kept on this page. Please type it again."
_OWN_WALLET = "Check that the wallet is yours: a payment to a wrong address cannot be taken back."


def refund_text(payout: PayoutMixin, *, stopped: bool = False) -> RefundText:
    """The text of a refund, or of another payout that its receiver claims, in its state.

    :param stopped: whether its payment was taken back, so that it is not sent.
    """
    status, token = PayoutStatus.UNKNOWN if stopped else PayoutStatus(payout.status), payout.is_token
    # A postponed payout is approved already.
    text = _ON_ITS_WAY if payout.state == PayoutState.POSTPONED else _OF_STATUS[status]
    if token:
        text = replace(text, send=_SEND_WALLET, where=_FACTS["Wallet"], compare=_OWN_WALLET)
    if status is PayoutStatus.SENT and token:
        text = _SENT_TO_WALLET
    if payout.state == PayoutState.REPLACED:
        text = _REPLACED
    if payout.has_lapsed:
        text = _EXPIRED
    if status is PayoutStatus.CLAIMABLE and not claims_left(payout):
        text = _NO_MORE
    if payout.kind != PayoutKind.REFUND:
        text = replace(text, title=text.payout_title or text.title, sentence=text.payout_sentence or text.sentence)
    about = [*(_ABOUT_WALLET if token else _ABOUT_BANK), _WHO_PAYS[runtime().settings.payout_fees]]
    ends_at = payout.claim_ends_at if status is PayoutStatus.CLAIMABLE else None
    return replace(
        translated(text),
        amount=format_amount(payout.amount, payout.currency),
        counts=_counted(payout),
        destination=_destination(payout),
        unchecked=gettext(_UNCHECKED) if destinations.hides_errors(payout.destination, payout.currency) else "",
        unlisted=_unlisted(payout),
        is_wallet=payout.is_token,
        deadline=gettext(_DEADLINE) % {"time": format_moment(ends_at)} if ends_at else "",
        about=list(map(gettext, about)),
    )


def _unlisted(payout: PayoutMixin) -> str:
    bank = destinations.facts_in(payout.destination).get("Bank") if payout.revision else None
    if not bank or payout.status != PayoutStatus.WAITING or not claims_left(payout):
        return ""
    is_listed = not runtime().banks.lacks(payout.account, payout.currency, bank)
    return "" if is_listed else gettext(_UNLISTED) % {"bank": visible(bank)}


def _destination(payout: PayoutMixin) -> destinations.Facts:
    """The destination that the customer entered; one that the shop entered is not shown to holders of the link."""
    if not payout.revision or payout.status == PayoutStatus.CANCELLED or payout.destination == destinations.ERASED:
        return {}
    facts = destinations.facts_in(payout.destination)
    return {gettext(_FACTS.get(label, label)): visible(value) for label, value in facts.items()}


def _counted(payout: PayoutMixin) -> str:
    counts, currency = payout.counts, payout.counts_currency
    if counts is None or currency is None or currency == payout.currency:
        return ""
    return gettext("This pays %(amount)s of your payment back.") % {"amount": format_amount(counts, currency)}


def field_text(name: str, fault: Fault | None, currency: str, *, again: bool) -> tuple[str, str, str]:
    """The label, hint and fault of a field; the hint and the fault may be empty.

    :param again: whether the form is shown again, so that an account number must be typed once more.
    """

    def translated(text: str) -> str:
        return gettext(text) % {"token": currency, "longest": max_length(name)}

    hint = _TYPE_AGAIN if name == "account_number" and again else ""
    return translated(_LABELS[name]), translated(hint), translated(_FAULTS[fault] if fault is not None else "")
