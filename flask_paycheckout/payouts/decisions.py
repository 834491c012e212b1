"""People's decisions on payouts: approve, cancel, try again, and what became of an unknown one."""

from __future__ import annotations

from typing import Any

from flask_paycheckout.checkouts.outbox import Outbox
from flask_paycheckout.clock import Clock
from flask_paycheckout.errors import PayoutRefused, UnknownPayout
from flask_paycheckout.payouts.requests import new_service_reference
from flask_paycheckout.rules.decisions import MAX_WHY, who_and_why, yes_or_no
from flask_paycheckout.rules.payout_states import PAYOUT_TRANSITIONS, PayoutEvidence, PayoutStatus
from flask_paycheckout.store.payout_model import PayoutMixin
from flask_paycheckout.store.payout_moves import PayoutMove, PayoutMoves
from flask_paycheckout.store.payouts import Payouts

__all__ = ["PayoutDecisions"]

# Simultaneous changes by the customer or a sender that a decision is repeated for.
_MAX_ROUNDS = 20

_LOOK_AGAIN = "Its destination changed since you saw it; look at it again, and approve what you see then."
_REMEDIES = {
    PayoutEvidence.APPROVED: "Only a waiting payout can be approved.",
    PayoutEvidence.CANCELLED: "Only a payout of which nothing was sent can be cancelled.",
    PayoutEvidence.RETRIED: "Only a failed payout can be tried again.",
    PayoutEvidence.SEEN_SENT: "Only an unknown payout can be resolved.",
    PayoutEvidence.SEEN_UNSENT: "Only an unknown payout can be resolved.",
}


class PayoutDecisions:
    """Records people's decisions on the payouts of one app, each with name and reason."""

    def __init__(self, payouts: Payouts, moves: PayoutMoves, outbox: Outbox, clock: Clock) -> None:
        self._payouts = payouts
        self._moves = moves
        self._outbox = outbox
        self._clock = clock

    def approve(self, reference: str, by: str, why: str | None, seen: int | None) -> PayoutMixin:
        """Release a waiting payout, whose destination must be the one that the person saw.

        :param seen: the payout's `revision` that the person saw; None for the stored one.
        """
        if why is None:
            by, why = who_and_why(by, "-")[0], None
        else:
            by, why = who_and_why(by, why)
        found = self._require(reference)
        # Without `seen` too, the approval is of one destination: a change after this read is refused.
        revision = found.revision if seen is None else seen
        return self._decide(reference, PayoutEvidence.APPROVED, by, why, revision)

    def cancel(self, reference: str, by: str, why: str) -> PayoutMixin:
        """Cancel a payout of which nothing was sent."""
        by, why = who_and_why(by, why)
        return self._decide(reference, PayoutEvidence.CANCELLED, by, why)

    def retry(self, reference: str, by: str, why: str) -> PayoutMixin:
        """Have a failed payout sent again, under a new service reference."""
        by, why = who_and_why(by, why)
        return self._decide(reference, PayoutEvidence.RETRIED, by, why)

    def resolve(self, reference: str, sent: bool, by: str, why: str) -> PayoutMixin:
        """Record whether an unknown payout was sent, as a person has found out."""
        by, why = who_and_why(by, why)
        evidence = PayoutEvidence.SEEN_SENT if yes_or_no("sent", sent) else PayoutEvidence.SEEN_UNSENT
        return self._decide(reference, evidence, by, why)

    def _decide(
        self, reference: str, evidence: PayoutEvidence, by: str, why: str | None, seen: int | None = None
    ) -> PayoutMixin:
        for _ in range(_MAX_ROUNDS):
            payout = self._require(reference)
            if (PayoutStatus(payout.status), evidence) not in PAYOUT_TRANSITIONS:
                raise PayoutRefused(reference, payout.status, evidence, _REMEDIES[evidence])
            if seen is not None and payout.revision != seen:
                raise PayoutRefused(reference, payout.status, evidence, _LOOK_AGAIN)
            facts: dict[str, object] = {"by": by, "why": why and why[:MAX_WHY], "revision": payout.revision}
            if evidence is PayoutEvidence.RETRIED:
                facts["replaced"] = payout.service_reference
            move = PayoutMove(evidence, self._values(payout, evidence), facts)
            moved = self._moves.move(payout, move, self._clock())
            if moved is not None:
                self._outbox.deliver(moved.events)
                return self._require(reference)
        raise PayoutRefused(reference, payout.status, evidence, "It keeps changing; try again.")

    def _values(self, payout: PayoutMixin, evidence: PayoutEvidence) -> dict[str, Any]:
        """The columns that a decision sets."""
        now = self._clock()
        healed: dict[str, Any] = {"problem": None, "problem_since": None, "failures": 0, "lease_token": None}
        if evidence is PayoutEvidence.APPROVED:
            return {"next_attempt_at": now}
        if evidence is PayoutEvidence.RETRIED:
            reference = new_service_reference(payout.reference)
            fresh = {"disbursement_id": None, "taken_at": None, "missed_at": None, "doubted": False, "alone": False}
            return healed | fresh | {"service_reference": reference, "next_attempt_at": now}
        if evidence is PayoutEvidence.SEEN_UNSENT:
            # Under its own reference: what the person overlooked, the service then refuses.
            return healed | {"next_attempt_at": now, "missed_at": None}
        if evidence is PayoutEvidence.SEEN_SENT:
            # A bank transfer is followed once its id is known.
            return healed | {"next_attempt_at": None if payout.is_token else now}
        return {"next_attempt_at": None}

    def _require(self, reference: str) -> PayoutMixin:
        payout = self._payouts.find(reference)
        if payout is None:
            raise UnknownPayout(reference)
        return payout
