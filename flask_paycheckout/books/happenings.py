"""The history of a checkout or payout for people: each entry in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.states import Evidence
from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.state_table import lines
from flask_paycheckout.payouts.payout_model import PayoutMixin

Facts = Mapping[str, Any]
Texts = Mapping[str, str | Callable[[Facts], str]]
"""The wording of each kind of entry: a format string for its facts, or a function of them."""

REASON_TEXT = {
    "amount_mismatch": "the payment is not what was asked for",
    "duplicate": "another payment already paid this order; this money probably has to go back",
    "order_changed": "the order's total has changed since the customer was sent to pay",
    "order_not_payable": "the shop no longer wants a payment for this order (order_total returned None or zero)",
    "excess": "more arrived than the order costs",
    "order_total_failed": "the shop could not say what the order costs now (order_total raised)",
}

REASON_WORDS = {
    "amount_mismatch": "not what was asked for",
    "duplicate": "the order was paid already",
    "order_changed": "the order costs something else now",
    "order_not_payable": "the order is not wanted any more",
    "order_total_failed": "the shop could not say what the order costs",
    "excess": "more than the order costs",
}
"""The short texts for reasons in the owner's lists."""

_MOVE_TEXT = {
    "pending": "The customer picked a payment method; waiting for the money",
    "part": "A part is paid",
    "paid": "Paid",
    "held": "Money arrived and is held for a person to decide",
    "abandoned": "Given up",
    "rejected": "Rejected",
}

_MONEY_TEXT = {
    Evidence.DEPOSIT_REVERSED: "The money was taken back",
    Evidence.DEPOSIT_CHANGED: "The amount was changed; the stored one is taken back",
    Evidence.DEPOSIT_RESTORED: "The money arrived again",
}
"""The texts of moves that change the money and not the state."""

_RESOLVED_TEXT = {"paid": "accepted the held payment", "part": "accepted the held payment as a part"}

# The beginning of evidence that a person gives.
_PERSON = "a person"


@dataclass(frozen=True)
class Happening:
    """One entry of the history of an attempt, or of a payout, with its wording for people."""

    at: datetime
    what: str
    """The kind of entry: `created`, `webhook`, `read`, `no answer`, `not applied`, `moved`, `resolved` or `payback`."""

    facts: dict[str, Any]
    text: str


def happenings_of(row: CheckoutMixin | PayoutMixin) -> tuple[Happening, ...]:
    """The entries of a history, oldest first, including kinds that this version does not know."""
    texts = _PAYOUT_TEXT if isinstance(row, PayoutMixin) else _CHECKOUT_TEXT
    happenings = []
    for facts in lines(row.history):
        what = facts.pop("what")
        at = as_utc(datetime.fromisoformat(facts.pop("at"))) if "at" in facts else row.created_at
        try:
            form = texts[what]
            text = form.format(**facts) if isinstance(form, str) else form(facts)
        except KeyError:
            text = f"{what}: {json.dumps(facts)}"
        happenings.append(Happening(at, what, facts, text))
    return tuple(happenings)


def _moved_text(facts: Facts) -> str:
    reason = f" because {REASON_TEXT.get(facts['reason'], facts['reason'])}" if "reason" in facts else ""
    # No deposit is read when an order's total falls to the amount that was paid.
    read = _if_any(". Deposit read ({via}): {deposit}", facts)
    text = _MONEY_TEXT.get(facts["rule"]) or _MOVE_TEXT[facts["to"]]
    return f"{text}{reason}{_if_any(': {error}', facts)}{read}; {facts['rule']}"


def person_text(facts: Facts) -> str:
    """The decision of a person in a move of a payout, with name and reason; empty for other moves."""
    rule = str(facts["rule"])
    if not rule.startswith(_PERSON) or "by" not in facts:
        return ""
    return f"{facts['by']}{rule.removeprefix(_PERSON)}{_if_any(': {why}', facts)}"


def _payout_moved_text(facts: Facts) -> str:
    text = person_text(facts) or f"{facts['rule']}{'' if 'destination' in facts else _answer_text(facts)}"
    return f"{str(facts['to']).capitalize()}: {text}"


def _answer_text(facts: Facts) -> str:
    """The facts about a move that came from the service or the network."""
    return _if_any("; as {disbursement_id}", facts) + _if_any("; {problem}", facts)


def _if_any(form: str, facts: Facts) -> str:
    """A format string filled with facts; empty if one of them is missing."""
    try:
        return form.format(**facts)
    except KeyError:
        return ""


_CHECKOUT_TEXT: Texts = {
    "created": lambda facts: f"Checkout made for {facts['total']}{_if_any(', which replaces {replaces}', facts)}",
    "webhook": "Webhook received; it is only a hint to read the deposit",
    "read": "Deposit read ({via}): {deposit}; nothing to change",
    "no answer": "No reliable answer, so nothing changed: {error}",
    "not applied": "Deposit read, but its result could not be applied, and is tried again: {error}",
    "moved": _moved_text,
    "resolved": lambda facts: (
        f"{facts['by']} {_RESOLVED_TEXT.get(facts['to'], 'rejected the held payment')}{_if_any(': {why}', facts)}"
    ),
    # An erased reason is missing.
    "payback": lambda facts: (
        f"{facts['by']} says that"
        f" {'it is dealt with' if 'gone' in facts else 'the money is kept'}{_if_any(': {why}', facts)}"
    ),
}

_PAYOUT_TEXT: Texts = {
    "created": lambda facts: (
        f"Made for {facts['total']}{_if_any(' in place of {counts}', facts)}{_if_any(' by {by}: {why}', facts)}"
    ),
    "moved": _payout_moved_text,
    "read": "Looked up: {result}",
    "no answer": "The call failed: {problem}",
    "not applied": lambda facts: (
        f"An answer that could not be stored, or came late: {facts['rule']}{_answer_text(facts)}"
    ),
}
