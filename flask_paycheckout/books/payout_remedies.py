"""The commands by which a person decides about a payout, each with the condition for using it."""

from __future__ import annotations

from collections.abc import Iterator

from flask_paycheckout.payouts.decisions import possible
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutEvidence, PayoutState
from flask_paycheckout.text import amount_text

BY_WHY = "--by YOU --why REASON"

_E = PayoutEvidence
_COMMANDS = {
    _E.APPROVED: ("Approve what you see", "approve {reference} --seen {seen} --by YOU"),
    _E.RELEASED: ("Let it exceed the daily limit", "approve {reference} --seen {seen} --by YOU --over-limit"),
    _E.SEEN_SENT: ("If it went out", f"resolve {{reference}} --sent {BY_WHY}"),
    _E.SEEN_UNSENT: ("If it did not go out", f"resolve {{reference}} --not-sent {BY_WHY}"),
    _E.AMENDED: ("If it is right as the service, or the chain, shows it", f"resolve {{reference}} --sent {BY_WHY}"),
    _E.RETURNED: ("If it came back, or never left", f"resolve {{reference}} --not-sent {BY_WHY}"),
    _E.RETRIED: ("If it was not paid, try it again", f"retry {{reference}} {BY_WHY}"),
    _E.GIVEN_UP: ("If it is paid otherwise, or not owed any more", f"cancel {{reference}} {BY_WHY}"),
    _E.CANCELLED: ("Or cancel it", f"cancel {{reference}} {BY_WHY}"),
}


def remedies(payout: PayoutMixin, *, named: bool = True, stopped: bool = False) -> Iterator[str]:
    """The decisions that a person can make about a payout in its state, each a sentence with a command.

    :param named: whether the commands have its reference and revision; otherwise they have REFERENCE and N.
    :param stopped: whether it is a refund of a payment that was taken back, of which nothing more may be sent.
    """
    reference, seen = (payout.reference, payout.revision) if named else ("REFERENCE", "N")
    open_now = possible(payout, stopped=stopped)
    for evidence, (words, command) in _COMMANDS.items():
        # Only the attempt to send a payout shows whether it exceeds the limit.
        if evidence in open_now and (evidence is not _E.RELEASED or payout.state == PayoutState.POSTPONED):
            yield f"{words}: flask paycheckout payouts {command.format(reference=reference, seen=seen)}"
        again = evidence is _E.RETRIED and payout.state == PayoutState.FAILED
        if again and payout.refund_of is not None and not stopped:
            amount = amount_text(payout.exact_counts or "") if named else "AMOUNT"
            of = f"{payout.refund_of if named else 'CHECKOUT_ID'} --amount {amount} --replaces {reference}"
            yield f"To refund it to another destination: flask paycheckout refund {of} {BY_WHY}"
