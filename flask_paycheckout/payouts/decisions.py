"""People's decisions on payouts: approve, cancel, try again, and what became of an unknown one."""

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
    next_transfers,
    references_of,
    service_reference,
    tries_text,
)
from flask_paycheckout.shop_functions import present_door
from flask_paycheckout.text import trimmed
from flask_paycheckout.wiring import Wiring

# Simultaneous changes by customers and senders that a decision is repeated for.
_MAX_ROUNDS = 60

_E = PayoutEvidence
APPROVALS = _E.APPROVED, _E.RELEASED
SENDING_ON = *APPROVALS, _E.RETRIED
"""What a person says that leads to money that leaves; not said of a refund whose payment was taken back."""
_LOOK_AGAIN = "Its destination changed since you saw it; look at it again, and approve what you see then."
_REMEDIES = {
    _E.APPROVED: "Only a waiting payout can be approved, and over the daily limit only with over_limit.",
    _E.RELEASED: "Only a waiting payout can be approved.",
    _E.CANCELLED: "Only a payout of which nothing was sent, or that failed, can be cancelled.",
    _E.RETRIED: "Only a failed payout can be tried again.",
    _E.SEEN_SENT: "Only an unknown payout, and one that the service reports otherwise, was sent.",
    _E.SEEN_UNSENT: "Only an unknown, sent or completed payout can turn out not to have been sent.",
}
# The evidence that a person gives, and its other meanings by the payout's state.
_MEANINGS = {
    _E.SEEN_UNSENT: (_E.SEEN_UNSENT, _E.RETURNED),
    _E.SEEN_SENT: (_E.SEEN_SENT, _E.AMENDED),
    _E.CANCELLED: (_E.CANCELLED, _E.GIVEN_UP),
}
# What makes a payout sendable again, and leads to another person's approval where that is needed.
_TO_APPROVE = {_E.SEEN_UNSENT: _E.UNSENT_TO_APPROVE, _E.RETRIED: _E.RETRY_TO_APPROVE}
# Who has done this cannot approve it.
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
        """Release a waiting payout, whose destination must be the one that the person saw.

        :param seen: the payout's `revision` that the person saw; None for the stored one.
        :param over_limit: it may exceed the daily limit.
        """
        by, given = who_and_why(by, "-" if why is None else why)
        if seen is not None and type(seen) is not int:
            # True would equal the first revision.
            raise TypeError(f"seen must be the payout's revision, an int, not {type(seen).__name__}")
        # Without `seen` too, the approval is of one destination: a change after this read is refused.
        revision = self.moves.payouts.require(reference).revision if seen is None else seen
        evidence = _E.RELEASED if yes_or_no("over_limit", over_limit) else _E.APPROVED
        return self._decide(reference, evidence, by, why and given, revision)

    def may_approve(self, payout: PayoutMixin, by: str) -> bool:
        """Whether this person may approve a payout.

        Where two persons are needed, these may not: who asked for it, who saw its link, who had it tried again, and who
        said what became of it, or of an earlier refund of its payment that has ended, nor the system's user who did
        that by a command. Deeds tell that, also once the history was pruned.
        """
        return payout.reference not in self.barred([payout.reference], by)

    def barred(self, references: Sequence[str], by: str) -> set[str]:
        """Those of these payouts that this person may not approve; as for `may_approve`."""
        if not self.wiring.settings.approve_by_another or not references:
            return set()
        c, payouts = self.wiring.models.deeds.c, self.wiring.models.payouts.c
        deeds = select(c.subject, c.by, c.system_user).where(c.subject.in_(references), c.deed.in_(_BARRING))
        asked = select(payouts.reference, payouts.asked_by).where(payouts.reference.in_(references))
        # Who said that an earlier refund came back would else pay it again, by a new one of the same payment.
        earlier = self.wiring.models.payouts.alias().c
        returned = select(payouts.reference, c.by, c.system_user).where(
            payouts.reference.in_(references),
            *(earlier.refund_of == payouts.refund_of, earlier.state.in_(PASSED_ON), earlier.id != payouts.id),
            *(c.subject == earlier.reference, c.deed == DEED_OF[_E.RETURNED]),
        )
        here = {_compared(stored_name(by)), _compared(present_door().by)}
        rows = [row for statement in (deeds, asked, returned) for row in read_rows(self.wiring.engine(), statement)]
        return {reference for reference, *names in rows if not here.isdisjoint(map(_compared, filter(None, names)))}

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
            try:
                events = self.moves.move(payout, move, self.wiring.clock())
            except IntegrityError:
                # Another refund of the payment got the same number at this moment.
                continue
            if events is not None:
                self.outbox.deliver(events)
                return self.moves.payouts.require(reference)
        raise PayoutRefused(reference, payout.status, move.evidence, "It keeps changing; try again.")

    def open_to(self, payout: PayoutMixin, by: str) -> set[PayoutEvidence]:
        """What this person may say about a payout, as the payout's state gives it its meaning."""
        barred = () if self.may_approve(payout, by) else _of_another(payout)
        return possible(payout) - {*barred, *(SENDING_ON if self.moves.payouts.is_stopped(payout) else ())}

    def _decide(
        self, reference: str, said: PayoutEvidence, by: str, why: str | None, seen: int | None = None
    ) -> PayoutMixin:
        def plan(payout: PayoutMixin) -> PayoutMove:
            meant = _meaning(payout, said)
            refusal = _LOOK_AGAIN if seen not in (None, payout.revision) else None
            refusal = _remedy(payout, said) if meant is None else refusal or _refusal(payout, said, meant)
            if refusal is None and meant in _of_another(payout) and not self.may_approve(payout, by):
                refusal = _BY_ANOTHER
            if refusal is None and said in SENDING_ON and self.moves.payouts.is_stopped(payout):
                refusal = _STOPPED
            if meant is None or refusal is not None:
                raise PayoutRefused(reference, payout.status, said, refusal or "")
            waits = self.wiring.settings.approve_by_another and (
                payout.status == PayoutStatus.UNKNOWN or any(each.paid_by is not None for each in all_tries(payout))
            )
            evidence = _TO_APPROVE.get(meant, meant) if waits else meant
            facts = {"by": by, "why": why, "revision": payout.revision}
            problem = evidence.value if evidence is _E.RETURNED else None
            return PayoutMove(evidence, self._values(payout, meant), problem, facts)

        return self.move(reference, plan)

    def _values(self, payout: PayoutMixin, meant: PayoutEvidence) -> dict[str, Any]:
        """The columns that a decision sets."""
        if meant is _E.RETRIED:
            return self._next_try(payout)
        if meant is _E.AMENDED:
            sent = Decimal(payout.reported_amount or payout.exact_amount)
            # A refund in another currency counts what a person said, whatever of that was sent. No refund counts more
            # than it did, since others may have taken the rest.
            counted = payout.counts if payout.counts_currency != payout.currency else min(sent, payout.counts or sent)
            asked = payout.asked_amount or payout.exact_amount
            counts = counted and f"{counted:f}"
            return {"amount": f"{sent:f}", "counts": counts, "asked_amount": asked}
        if meant is _E.SEEN_UNSENT:
            # Under its own reference: what the person overlooked, the service then refuses. But with the keys that the
            # account has now, as nobody can ask with earlier keys if they are gone.
            return dict.fromkeys(("disbursement_id", "fee", "client_id", "paid_by")) | {"doubt": Doubt.DENIED}
        return {"doubt": Doubt.DENIED} if meant is _E.RETURNED else {}

    def _next_try(self, payout: PayoutMixin) -> dict[str, Any]:
        """The columns of a payout that is sent under its next service reference."""
        earlier = all_tries(payout)
        key = self.moves.payouts.installation_key()
        unsent = dict.fromkeys(
            (
                "client_id",
                "paid_by",
                "disbursement_id",
                "fee",
                "asked_amount",
                "taken_at",
                "doubt",
                "counted_on",
            )
        )
        if payout.asked_amount is not None:
            unsent["amount"] = payout.asked_amount
            unsent |= {"counts": payout.asked_amount} if payout.counts_currency == payout.currency else {}
        if payout.refund_of is None:
            reference = service_reference(key, payout.account, payout.reference, len(earlier) + 1)
        else:
            held = references_of(self.moves.payouts.of_checkout(payout.refund_of))
            (reference,) = next_transfers(key, payout.account, payout.refund_of, held)
        return unsent | {"service_reference": reference, "earlier": tries_text(earlier)}


def _remedy(payout: PayoutMixin, said: PayoutEvidence) -> str:
    """What to do in place of what the payout's state does not allow."""
    if said is _E.RETRIED and payout.replaced_by is not None:
        return f"Refund {payout.replaced_by} was made in its place; go on with that one, or make a new refund."
    return _REMEDIES[said]


def _of_another(payout: PayoutMixin) -> Collection[PayoutEvidence]:
    """What another person says where two are needed; also that tokens which were sent again were paid once."""
    return (*APPROVALS, _E.AMENDED) if payout.is_token else APPROVALS


def _compared(name: str) -> str:
    """A person's name without capitals, and without blanks at its ends."""
    return trimmed(name).casefold()


def possible(payout: PayoutMixin) -> set[PayoutEvidence]:
    """What persons may say about a payout, as its state gives it its meaning."""
    meant = {said: _meaning(payout, said) for said in _REMEDIES}
    return {one for said, one in meant.items() if one and not _refusal(payout, said, one)}


def _meaning(payout: PayoutMixin, said: PayoutEvidence) -> PayoutEvidence | None:
    """The evidence that a person's word is about a payout in its state; None where its state does not allow it."""
    state, meanings = PayoutState(payout.state), _MEANINGS.get(said, (said,))
    return next((evidence for evidence in meanings if (state, evidence) in PAYOUT_TRANSITIONS), None)


def _refusal(payout: PayoutMixin, said: PayoutEvidence, meant: PayoutEvidence) -> str | None:
    """Why nobody may say this now, as the remedy."""
    is_reported = payout.reported_amount is not None
    unfounded = meant is _E.AMENDED and not is_reported
    if payout.state in PASSED_ON:
        # Where the service pays it after all, a person says what became of it; otherwise there is nothing to say.
        unfounded = is_reported is (meant is _E.GIVEN_UP)
    refusals = {
        _REMEDIES[said]: unfounded,
        _DOUBTED: meant is _E.CANCELLED and payout.doubt in (Doubt.SPLIT, Doubt.LOST),
        _WIPED: said is _E.RETRIED and payout.to_details is None,
    }
    return next((remedy for remedy, refused in refusals.items() if refused), None)
