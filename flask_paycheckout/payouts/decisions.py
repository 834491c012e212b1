"""People's decisions on payouts: approve, cancel, try again, and what became of an unknown one."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.database.deeds import stored_name, who_and_why, yes_or_no
from flask_paycheckout.errors import PayoutRefused
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.parts import Parts
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

# Simultaneous changes by customers and senders that a decision is repeated for.
_MAX_ROUNDS = 60

_LOOK_AGAIN = "Its destination changed since you saw it; look at it again, and approve what you see then."
_REMEDIES = {
    PayoutEvidence.APPROVED: "Only a waiting payout can be approved.",
    PayoutEvidence.CANCELLED: "Only a payout of which nothing was sent can be cancelled.",
    PayoutEvidence.RETRIED: "Only a failed payout can be tried again.",
    PayoutEvidence.SEEN_SENT: "Only an unknown payout, and one that the service reports otherwise, was sent.",
    PayoutEvidence.SEEN_UNSENT: "Only an unknown, sent or completed payout can turn out not to have been sent.",
}
# The evidence that a person gives, and its meaning for a payout that was sent already.
_CORRECTIONS = {
    PayoutEvidence.SEEN_UNSENT: PayoutEvidence.RETURNED,
    PayoutEvidence.SEEN_SENT: PayoutEvidence.AMENDED,
}
_BY_ANOTHER = "The person who asked for it cannot approve it; let another person look at it."
_DOUBTED = (
    "An answer was lost, so that it may have been paid: reconcile sends it again under the same reference, which the"
    " service takes only once."
)
_WIPED = "It was given back by hand, or its destination was wiped at its end; make a new one in its place."


@dataclass(frozen=True, eq=False)
class PayoutDecisions:
    """Records people's decisions on the payouts of one app, each with name and reason."""

    parts: Parts
    moves: PayoutMoves
    outbox: Outbox

    def approve(
        self, reference: str, by: str, why: str | None, seen: int | None, *, over_limit: bool = False
    ) -> PayoutMixin:
        """Release a waiting payout, whose destination must be the one that the person saw.

        :param seen: the payout's `revision` that the person saw; None for the stored one.
        :param over_limit: it may exceed the daily limit.
        """
        by, given = who_and_why(by, "-" if why is None else why)
        # Without `seen` too, the approval is of one destination: a change after this read is refused.
        revision = self.moves.payouts.require(reference).revision if seen is None else seen
        return self._decide(
            reference,
            PayoutEvidence.APPROVED,
            by,
            why and given,
            revision,
            over_limit=yes_or_no("over_limit", over_limit),
        )

    def may_approve(self, payout: PayoutMixin, by: str) -> bool:
        """Whether this person may approve a payout: where two persons are needed, the one who asked for it may not."""
        asked_by = payout.asked_by if self.parts.settings.approve_by_another else None
        return asked_by is None or _compared(asked_by) != _compared(stored_name(by))

    def cancel(self, reference: str, by: str, why: str) -> PayoutMixin:
        """Cancel a payout of which nothing was sent."""
        return self._decide(reference, PayoutEvidence.CANCELLED, *who_and_why(by, why))

    def retry(self, reference: str, by: str, why: str) -> PayoutMixin:
        """Have a failed payout sent again, under a new service reference."""
        return self._decide(reference, PayoutEvidence.RETRIED, *who_and_why(by, why))

    def resolve(self, reference: str, sent: bool, by: str, why: str) -> PayoutMixin:
        """Record what a person has found out: that an unknown payout was sent or not, or that a sent one came back.

        One that the service reports with another amount, or another destination, is completed as the service has it.
        """
        by, why = who_and_why(by, why)
        said = PayoutEvidence.SEEN_SENT if yes_or_no("sent", sent) else PayoutEvidence.SEEN_UNSENT
        return self._decide(reference, said, by, why)

    def move(self, reference: str, plan: Callable[[PayoutMixin], PayoutMove]) -> PayoutMixin:
        """Move a payout and deliver the event; returns the payout as it is then.

        :param plan: returns the move of the payout as it was just loaded; again when it changes meanwhile.
        """
        for _ in range(_MAX_ROUNDS):
            payout = self.moves.payouts.require(reference)
            move = plan(payout)
            events = self.moves.move(payout, move, self.parts.clock())
            if events is not None:
                self.outbox.deliver(events)
                return self.moves.payouts.require(reference)
        raise PayoutRefused(reference, payout.status, move.evidence, "It keeps changing; try again.")

    def _decide(
        self, reference: str, said: PayoutEvidence, by: str, why: str | None, seen: int | None = None, **values: bool
    ) -> PayoutMixin:
        def plan(payout: PayoutMixin) -> PayoutMove:
            status = PayoutStatus(payout.status)
            evidence = said if (status, said) in PAYOUT_TRANSITIONS else _CORRECTIONS.get(said, said)
            amends_nothing = evidence is PayoutEvidence.AMENDED and payout.reported_amount is None
            refusals = (
                ((status, evidence) not in PAYOUT_TRANSITIONS or amends_nothing, _REMEDIES[said]),
                (evidence is PayoutEvidence.CANCELLED and payout.doubted, _DOUBTED),
                (evidence is PayoutEvidence.RETRIED and payout.to_details is None, _WIPED),
                (seen not in (None, payout.revision), _LOOK_AGAIN),
                (evidence is PayoutEvidence.APPROVED and not self.may_approve(payout, by), _BY_ANOTHER),
            )
            for refused, remedy in refusals:
                if refused:
                    raise PayoutRefused(reference, payout.status, said, remedy)
            facts = {"by": by, "why": why, "revision": payout.revision}
            problem = evidence.value if evidence is PayoutEvidence.RETURNED else None
            return PayoutMove(evidence, self._values(payout, evidence) | values, problem, facts)

        return self.move(reference, plan)

    def _values(self, payout: PayoutMixin, evidence: PayoutEvidence) -> dict[str, Any]:
        """The columns that a decision sets."""
        if evidence is PayoutEvidence.RETRIED:
            return self._next_try(payout)
        if evidence is PayoutEvidence.AMENDED:
            sent = Decimal(payout.reported_amount or payout.exact_amount)
            # A refund in another currency counts what a person said, whatever of that was sent. No refund counts more
            # than it did, since others may have taken the rest.
            counted = payout.counts if payout.counts_currency != payout.currency else min(sent, payout.counts or sent)
            asked = payout.asked_amount or payout.exact_amount
            counts = counted and f"{counted:f}"
            return {"amount": f"{sent:f}", "counts": counts, "asked_amount": asked, "reported_amount": None}
        if evidence is PayoutEvidence.SEEN_UNSENT:
            # Under its own reference: what the person overlooked, the service then refuses. But with the keys that the
            # account has now, as nobody can ask with those of before if they are gone.
            return dict.fromkeys(("disbursement_id", "fee", "client_id", "paid_by")) | {"doubted": False}
        return {}

    def _next_try(self, payout: PayoutMixin) -> dict[str, Any]:
        """The columns of a payout that is sent under its next service reference."""
        earlier = (*tries_of(payout.earlier), present_try(payout))
        with begin_limited(self.parts.engine()) as connection:
            key = installation_key(connection, self.parts.models.services)
        unsent = dict.fromkeys(
            ("client_id", "paid_by", "disbursement_id", "fee", "reported_amount", "asked_amount", "taken_at")
        )
        if payout.asked_amount is not None:
            unsent["amount"] = payout.asked_amount
            unsent |= {"counts": payout.asked_amount} if payout.counts_currency == payout.currency else {}
        return unsent | {
            "service_reference": service_reference(key, payout.account, payout.reference, len(earlier) + 1),
            "earlier": tries_text(earlier),
            "doubted": False,
            # The earlier tries are asked about within its claim, and each question may read the service's list.
            "alone": True,
        }


def _compared(name: str) -> str:
    """A person's name without what a reader does not see: capitals, other encodings, characters drawn as nothing."""
    drawn = "".join(char for char in name if unicodedata.category(char) != "Cf")
    return unicodedata.normalize("NFKC", drawn).casefold()
