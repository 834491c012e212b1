"""People's decisions on payouts: approve, cancel, try again, and what became of an unknown one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine

from flask_paycheckout.checkouts.decisions import MAX_WHY, who_and_why, yes_or_no
from flask_paycheckout.clock import Clock
from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.errors import PayoutRefused, UnknownPayout
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_moves import PayoutMove, PayoutMoves
from flask_paycheckout.payouts.payout_states import PAYOUT_TRANSITIONS, PayoutEvidence, PayoutStatus
from flask_paycheckout.payouts.payout_tries import (
    installation_key,
    present_try,
    service_reference,
    tries_of,
    tries_text,
)
from flask_paycheckout.payouts.stored import Payouts

if TYPE_CHECKING:
    from flask_paycheckout.models import Models

# Simultaneous changes by the customer or a sender that a decision is repeated for.
_MAX_ROUNDS = 20

_LOOK_AGAIN = "Its destination changed since you saw it; look at it again, and approve what you see then."
_REMEDIES = {
    PayoutEvidence.APPROVED: "Only a waiting payout can be approved.",
    PayoutEvidence.CANCELLED: "Only a payout of which nothing was sent can be cancelled.",
    PayoutEvidence.RETRIED: "Only a failed payout can be tried again.",
    PayoutEvidence.SEEN_SENT: "Only an unknown payout, and one that the service reports with another amount, was sent.",
    PayoutEvidence.SEEN_UNSENT: "Only an unknown, sent or completed payout can turn out not to have been sent.",
}
_WIPED = "Its account number was wiped when it was completed; make a new one in its place."


class PayoutDecisions:
    """Records people's decisions on the payouts of one app, each with name and reason."""

    def __init__(
        self,
        engine: Callable[[], Engine],
        models: Models,
        payouts: Payouts,
        moves: PayoutMoves,
        outbox: Outbox,
        clock: Clock,
    ) -> None:
        self._engine = engine
        self._models = models
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
        """Record what a person has found out: that an unknown payout was sent or not, or that a sent one came back.

        One that the service reports with another amount is completed with that amount.
        """
        by, why = who_and_why(by, why)
        evidence = PayoutEvidence.SEEN_SENT if yes_or_no("sent", sent) else PayoutEvidence.SEEN_UNSENT
        return self._decide(reference, evidence, by, why)

    def _decide(
        self, reference: str, evidence: PayoutEvidence, by: str, why: str | None, seen: int | None = None
    ) -> PayoutMixin:
        said = evidence
        for _ in range(_MAX_ROUNDS):
            payout = self._require(reference)
            evidence = _as_correction(payout, said)
            if (PayoutStatus(payout.status), evidence) not in PAYOUT_TRANSITIONS:
                raise PayoutRefused(reference, payout.status, said, _REMEDIES[said])
            if evidence is PayoutEvidence.RETRIED and payout.to_kind == "bank" and payout.to_details is None:
                raise PayoutRefused(reference, payout.status, evidence, _WIPED)
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
            return healed | self._next_try(payout) | {"next_attempt_at": now}
        if evidence is PayoutEvidence.AMENDED:
            amended = {"amount": payout.reported_amount, "reported_amount": None}
            return healed | amended | {"next_attempt_at": None}
        if evidence is PayoutEvidence.RETURNED:
            problem = "a person found that it came back, or never left"
            return healed | {"problem": problem, "problem_since": now, "next_attempt_at": None}
        if evidence is PayoutEvidence.SEEN_UNSENT:
            # Under its own reference: what the person overlooked, the service then refuses.
            return healed | {"next_attempt_at": now, "missed_at": None, "doubted": False}
        if evidence is PayoutEvidence.SEEN_SENT:
            # A bank transfer is followed once its id is known.
            return healed | {"next_attempt_at": None if payout.is_token else now}
        return {"next_attempt_at": None}

    def _next_try(self, payout: PayoutMixin) -> dict[str, Any]:
        """The columns of a payout that is sent under its next service reference."""
        earlier = (*tries_of(payout.earlier), present_try(payout))
        with begin_limited(self._engine()) as connection:
            key = installation_key(connection, self._models.services)
        names = ("client_id", "paid_by", "disbursement_id", "fee", "reported_amount", "taken_at", "missed_at")
        new = {"service_reference": service_reference(key, payout.account, payout.reference, len(earlier) + 1)}
        unsent = dict.fromkeys(names) | dict.fromkeys(("doubted", "refused", "alone"), False)
        return unsent | new | {"earlier": tries_text(earlier)}

    def _require(self, reference: str) -> PayoutMixin:
        payout = self._payouts.find(reference)
        if payout is None:
            raise UnknownPayout(reference)
        return payout


def _as_correction(payout: PayoutMixin, said: PayoutEvidence) -> PayoutEvidence:
    """The evidence that a person's word is: about a payout that was sent already it is a correction."""
    if said is PayoutEvidence.SEEN_UNSENT and payout.status in (PayoutStatus.SENT, PayoutStatus.COMPLETED):
        return PayoutEvidence.RETURNED
    if said is PayoutEvidence.SEEN_SENT and payout.status == PayoutStatus.SENT and payout.reported_amount is not None:
        return PayoutEvidence.AMENDED
    return said
