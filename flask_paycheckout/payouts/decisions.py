"""People's decisions on payouts: approve, cancel, retry, and resolve."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from flask_paycheckout.database.connections import read_rows
from flask_paycheckout.database.deeds import stored_name, who_and_why, yes_or_no
from flask_paycheckout.errors import PayoutRefused
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_moves import PayoutMove, PayoutMoves
from flask_paycheckout.payouts.payout_states import (
    DEED_OF,
    PASSED_ON,
    PAYOUT_TRANSITIONS,
    Doubt,
    PayoutEvidence,
    PayoutState,
    PayoutStatus,
)
from flask_paycheckout.payouts.payout_table import (
    all_tries,
    asked_columns,
    next_transfers,
    references_of,
    service_reference,
    tries_text,
)
from flask_paycheckout.shop_functions import present_door
from flask_paycheckout.text import trimmed
from flask_paycheckout.wiring import Wiring

# The number of retries of a decision after concurrent changes by customers and senders.
_MAX_ROUNDS = 60

_E = PayoutEvidence
APPROVALS = _E.APPROVED, _E.RELEASED
SENDING_ON = *APPROVALS, _E.RETRIED
"""Decisions after which money leaves; refused for a refund whose payment was taken back."""
_LOOK_AGAIN = "Its destination changed since you saw it; look at it again, and approve what you see then."
_REMEDIES = {
    _E.APPROVED: "Only a waiting payout can be approved, and over the daily limit only with over_limit.",
    _E.RELEASED: "Only a waiting payout can be approved.",
    _E.CANCELLED: "Only a payout of which nothing was sent, or that failed, can be cancelled.",
    _E.RETRIED: "Only a failed payout can be tried again.",
    _E.SEEN_SENT: "Only an unknown payout, and one that the service reports otherwise, was sent.",
    _E.SEEN_UNSENT: "Only an unknown, sent or completed payout can turn out not to have been sent.",
}
# Decisions with several meanings, of which the payout's state selects one.
_MEANINGS = {
    _E.SEEN_UNSENT: (_E.SEEN_UNSENT, _E.RETURNED),
    _E.SEEN_SENT: (_E.SEEN_SENT, _E.AMENDED),
    _E.CANCELLED: (_E.CANCELLED, _E.GIVEN_UP),
}
# Decisions that make a payout sendable again, with the evidence for when another person must approve it.
_TO_APPROVE = {_E.SEEN_UNSENT: _E.UNSENT_TO_APPROVE, _E.RETRIED: _E.RETRY_TO_APPROVE}
# A person with one of these deeds cannot approve the payout.
_BARRING = ("asked", "linked", "resolved", "retried")
_BY_ANOTHER = (
    "Who asked for it, saw its link, had it tried again, or said what became of it, or of a refund before it, cannot"
    " decide this; let another person look at it."
)
_STOPPED = "The payment was taken back, so this would be paid on top of that: cancel it."
_DOUBTED = (
    "It may have been paid: reconcile sends it again under the same reference, which the service takes only once."
)
_WIPED = "It was given back by hand, or its destination was wiped at its end; make a new one in its place."


@dataclass(frozen=True, eq=False)
class PayoutDecisions:
    """Records people's decisions on the payouts of one app, each with name and reason."""

    wiring: Wiring
    moves: PayoutMoves
    outbox: Outbox

    def approve(
        self, reference: str, by: str, why: str | None, seen: int | None, *, over_limit: bool = False
    ) -> PayoutMixin:
        """Release a waiting payout, if its destination is still the one that the person saw.

        :param seen: the payout's `revision` that the person saw; None for the stored one.
        :param over_limit: whether it may exceed the daily limit.
        """
        by, reason = who_and_why(by, "-" if why is None else why)
        if seen is not None and type(seen) is not int:
            # True would equal the first revision.
            raise TypeError(f"seen must be the payout's revision, an int, not {type(seen).__name__}")
        # Without `seen`, the approval still covers one destination only: a change after this read is refused.
        revision = self.moves.payouts.require(reference).revision if seen is None else seen
        evidence = _E.RELEASED if yes_or_no("over_limit", over_limit) else _E.APPROVED
        return self._decide(reference, evidence, by, why and reason, revision)

    def may_approve(self, payout: PayoutMixin, by: str) -> bool:
        """Whether this person may approve a payout.

        If two persons are needed, a person may not approve a payout that they requested, retried or resolved, whose
        link they saw, or whose payment had an earlier refund that has ended and that they said came back. The system
        user who did so by a command may not either. The check reads the deeds, which remain after the history is
        pruned.
        """
        return payout.reference not in self.barred([payout.reference], by)

    def barred(self, references: Sequence[str], by: str) -> set[str]:
        """The references of the payouts that this person may not approve; see `may_approve`."""
        if not self.wiring.settings.approve_by_another or not references:
            return set()
        c, payouts = self.wiring.models.deeds.c, self.wiring.models.payouts.c
        deeds = select(c.subject, c.by, c.system_user).where(c.subject.in_(references), c.deed.in_(_BARRING))
        requests = select(payouts.reference, payouts.asked_by).where(payouts.reference.in_(references))
        # A person who said that an earlier refund came back could otherwise pay it again by a new refund of the
        # payment.
        earlier = self.wiring.models.payouts.alias().c
        returns = select(payouts.reference, c.by, c.system_user).where(
            payouts.reference.in_(references),
            *(earlier.refund_of == payouts.refund_of, earlier.state.in_(PASSED_ON), earlier.id != payouts.id),
            *(c.subject == earlier.reference, c.deed == DEED_OF[_E.RETURNED]),
        )
        own = {_compared(stored_name(by)), _compared(present_door().by)}
        rows = [row for statement in (deeds, requests, returns) for row in read_rows(self.wiring.engine(), statement)]
        return {reference for reference, *names in rows if not own.isdisjoint(map(_compared, filter(None, names)))}

    def cancel(self, reference: str, by: str, why: str) -> PayoutMixin:
        """Cancel a payout of which nothing was sent."""
        return self._decide(reference, PayoutEvidence.CANCELLED, *who_and_why(by, why))

    def retry(self, reference: str, by: str, why: str) -> PayoutMixin:
        """Retry a failed payout under a new service reference."""
        return self._decide(reference, PayoutEvidence.RETRIED, *who_and_why(by, why))

    def resolve(self, reference: str, sent: bool, by: str, why: str) -> PayoutMixin:
        """Record that an unknown payout was sent or not, or that a sent payout came back, as a person found out.

        A payout that the service reports with another amount or destination is completed as the service reports it.
        """
        by, why = who_and_why(by, why)
        decision = PayoutEvidence.SEEN_SENT if yes_or_no("sent", sent) else PayoutEvidence.SEEN_UNSENT
        return self._decide(reference, decision, by, why)

    def move(self, reference: str, plan: Callable[[PayoutMixin], PayoutMove]) -> PayoutMixin:
        """Move a payout, deliver the event, and return the payout after the move.

        :param plan: returns the move of the payout as just loaded; called again after a concurrent change.
        """
        for _ in range(_MAX_ROUNDS):
            payout = self.moves.payouts.require(reference)
            move = plan(payout)
            try:
                events = self.moves.move(payout, move, self.wiring.clock())
            except IntegrityError:
                # Another transaction gave the same number to another refund of the payment.
                continue
            if events is not None:
                self.outbox.deliver(events)
                return self.moves.payouts.require(reference)
        raise PayoutRefused(reference, payout.status, move.evidence, "It keeps changing; try again.")

    def open_to(self, payout: PayoutMixin, by: str) -> set[PayoutEvidence]:
        """The decisions that this person may make on a payout, as the evidence that its state allows."""
        barred = () if self.may_approve(payout, by) else _of_another(payout)
        return possible(payout, stopped=self.moves.payouts.is_stopped(payout)) - {*barred}

    def _decide(
        self, reference: str, decision: PayoutEvidence, by: str, why: str | None, seen: int | None = None
    ) -> PayoutMixin:
        def plan(payout: PayoutMixin) -> PayoutMove:
            meaning = _meaning(payout, decision)
            refusal = _LOOK_AGAIN if seen not in (None, payout.revision) else None
            stopped = decision in (*SENDING_ON, _E.CANCELLED) and self.moves.payouts.is_stopped(payout)
            if meaning is None:
                refusal = _remedy(payout, decision)
            else:
                refusal = refusal or _refusal(payout, decision, meaning, stopped)
            if refusal is None and meaning in _of_another(payout) and not self.may_approve(payout, by):
                refusal = _BY_ANOTHER
            if meaning is None or refusal is not None:
                raise PayoutRefused(reference, payout.status, decision, refusal or "")
            waits = self.wiring.settings.approve_by_another and (
                payout.status == PayoutStatus.UNKNOWN or any(each.paid_by is not None for each in all_tries(payout))
            )
            evidence = _TO_APPROVE.get(meaning, meaning) if waits else meaning
            facts = {"by": by, "why": why, "revision": payout.revision}
            problem = evidence.value if evidence is _E.RETURNED else None
            return PayoutMove(evidence, self._values(payout, meaning), problem, facts)

        return self.move(reference, plan)

    def _values(self, payout: PayoutMixin, meaning: PayoutEvidence) -> dict[str, Any]:
        """The columns that a decision sets."""
        if meaning is _E.RETRIED:
            return self._next_try(payout)
        if meaning is _E.AMENDED:
            amount = Decimal(payout.reported_amount or payout.exact_amount)
            # A refund in another currency keeps the amount that it counts, whatever amount was sent. No refund counts
            # more than before, because other refunds may have taken the rest.
            counts = payout.counts
            if payout.counts_currency == payout.currency:
                counts = min(amount, counts or amount)
            asked_amount = payout.asked_amount or payout.exact_amount
            return {"amount": f"{amount:f}", "counts": counts and f"{counts:f}", "asked_amount": asked_amount}
        if meaning is _E.SEEN_UNSENT:
            # Keep the service reference, so that the service refuses the payout if it was sent after all. Send it with
            # the keys that the account has now, because the earlier keys may be gone.
            return dict.fromkeys(("disbursement_id", "fee", "client_id", "paid_by")) | {"doubt": Doubt.DENIED}
        return {"doubt": Doubt.DENIED} if meaning is _E.RETURNED else {}

    def _next_try(self, payout: PayoutMixin) -> dict[str, Any]:
        """The columns of a payout that is sent under its next service reference."""
        earlier = all_tries(payout)
        key = self.moves.payouts.installation_key()
        columns = dict.fromkeys(
            (
                "client_id",
                "paid_by",
                "disbursement_id",
                "fee",
                "taken_at",
                "doubt",
                "counted_on",
            )
        )
        if payout.refund_of is None:
            reference = service_reference(key, payout.account, payout.reference, len(earlier) + 1)
        else:
            references = references_of(self.moves.payouts.of_checkout(payout.refund_of))
            (reference,) = next_transfers(key, payout.account, payout.refund_of, references)
        return columns | asked_columns(payout) | {"service_reference": reference, "earlier": tries_text(earlier)}


def _remedy(payout: PayoutMixin, decision: PayoutEvidence) -> str:
    """The remedy for a decision that the payout's state does not allow."""
    if decision is _E.RETRIED and payout.replaced_by is not None:
        return f"Refund {payout.replaced_by} was made in its place; go on with that one, or make a new refund."
    return _REMEDIES[decision]


def _of_another(payout: PayoutMixin) -> Collection[PayoutEvidence]:
    """The decisions that need a second person; for tokens, also the decision that a repeated payout was paid once."""
    return (*APPROVALS, _E.AMENDED) if payout.is_token else APPROVALS


def _compared(name: str) -> str:
    """A person's name for comparisons: in lower case, without blanks at its ends."""
    return trimmed(name).casefold()


def possible(payout: PayoutMixin, *, stopped: bool) -> set[PayoutEvidence]:
    """The decisions that a payout's state allows, as evidence.

    :param stopped: whether it is a refund of a payment that was taken back, of which nothing more may be sent.
    """
    meanings = {decision: _meaning(payout, decision) for decision in _REMEDIES}
    return {each for decision, each in meanings.items() if each and not _refusal(payout, decision, each, stopped)}


def _meaning(payout: PayoutMixin, decision: PayoutEvidence) -> PayoutEvidence | None:
    """The evidence that a decision means in the payout's state; None if the state does not allow the decision."""
    state, meanings = PayoutState(payout.state), _MEANINGS.get(decision, (decision,))
    return next((evidence for evidence in meanings if (state, evidence) in PAYOUT_TRANSITIONS), None)


def _refusal(payout: PayoutMixin, decision: PayoutEvidence, meaning: PayoutEvidence, stopped: bool) -> str | None:
    """The remedy if nobody may make this decision now; None if it is allowed."""
    is_reported = payout.reported_amount is not None
    unfounded = meaning is _E.AMENDED and not is_reported
    if payout.state in PASSED_ON:
        # If the service pays it after all, a person resolves it; otherwise a person can only give it up.
        unfounded = is_reported is (meaning is _E.GIVEN_UP)
    refusals = {
        _REMEDIES[decision]: unfounded,
        _DOUBTED: meaning is _E.CANCELLED and payout.doubt in (Doubt.SPLIT, Doubt.LOST) and not stopped,
        _WIPED: decision is _E.RETRIED and payout.to_details is None,
        _STOPPED: decision in SENDING_ON and stopped,
    }
    return next((remedy for remedy, refused in refusals.items() if refused), None)
