"""The results of calls about payouts, stored as moves and notes, and counted for the round's report."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.database.database_errors import first_line
from flask_paycheckout.database.history import Entry, line
from flask_paycheckout.errors import ReceiverFailed
from flask_paycheckout.events.events import HeldEvent
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.events.receiver_runs import Delivery
from flask_paycheckout.parts import Parts
from flask_paycheckout.parts.observations import Observed
from flask_paycheckout.payouts.payout_model import PayoutMixin, about_payout
from flask_paycheckout.payouts.payout_schedule import FIRST_READ, SECOND_LOOK_UP, try_again
from flask_paycheckout.payouts.payout_states import PayoutEvidence, PayoutStatus
from flask_paycheckout.payouts.stored import PayoutMove, PayoutMoves
from flask_paycheckout.text import visible

if TYPE_CHECKING:
    from flask_paycheckout.payouts.calls import Made


@dataclass(frozen=True)
class PayoutReport:
    """The counts of one round of sending, looking up and reading payouts."""

    sent: int = 0
    """The number of payouts that the service has taken."""

    completed: int = 0
    """The number of bank transfers that the service has completed."""

    failed: int = 0
    """The number of payouts that the service refused, or that have failed there."""

    unknown: int = 0
    """The number of payouts that a person has to look at, since nobody knows whether they were sent."""

    left: int = 0
    """The number of payouts that are still ready to be sent, for instance because there is no access token."""

    failed_calls: int = 0
    """The number of calls without a usable answer, and of refusals."""

    @property
    def clean(self) -> bool:
        """Whether every call was answered, and no payout failed or became unknown."""
        return not (self.failed or self.unknown or self.failed_calls)

    @property
    def changed(self) -> bool:
        """Whether a payout has reached another state."""
        return bool(self.sent or self.completed or self.failed or self.unknown)

    def __add__(self, later: PayoutReport) -> PayoutReport:
        """The counts of this round and of a later one, whose `left` counts."""
        ours = asdict(self)
        return PayoutReport(**{name: ours[name] + more for name, more in asdict(later).items()} | {"left": later.left})


# Changes by other processes that storing a late answer is repeated for.
_MAX_ROUNDS = 20
# States in which a late answer is shown as the payout's problem.
_UNDECIDED = (PayoutStatus.UNKNOWN, PayoutStatus.READY, PayoutStatus.FAILED)
_COUNTED = (PayoutStatus.SENT, PayoutStatus.COMPLETED, PayoutStatus.FAILED, PayoutStatus.UNKNOWN)
_MAX_PROBLEM = 600
_UNPLANNED: dict[str, Any] = {"next_attempt_at": None, "lease_token": None}
HEALED: dict[str, Any] = {"problem": None, "problem_since": None, "failures": 0, "lease_token": None}
"""The columns of a payout that has no problem, and that nobody works on."""


def due_move(payout: PayoutMixin, now: datetime) -> PayoutMove:
    """The move of a payout whose time has passed: nobody claimed it, or it waited for the next day."""
    if payout.status == PayoutStatus.CLAIMABLE:
        return PayoutMove(PayoutEvidence.EXPIRED, {"next_attempt_at": None})
    return PayoutMove(PayoutEvidence.NEXT_DAY, HEALED | {"next_attempt_at": now})


@dataclass(eq=False)
class PayoutResults:
    """Stores the results of one round.

    Each is one conditional statement on the row as it was claimed: who has lost the claim changes nothing. What cannot
    be stored of one payout is noted on it, and never keeps the round from the next one.
    """

    parts: Parts
    moves: PayoutMoves
    outbox: Outbox
    delivery: Delivery = field(default_factory=Delivery, init=False)
    """The events delivered so far."""

    failed_calls: int = field(default=0, init=False)
    """The number of calls without a usable answer, and of refusals."""

    def __post_init__(self) -> None:
        self.started = self._now()
        """The time when the round began; what is due by then is done in it."""

        self._counts: Counter[PayoutStatus] = Counter()
        self._events: list[HeldEvent] = []

    def report(self, left: int) -> PayoutReport:
        """The counts so far."""
        counts = {status.value: self._counts[status] for status in _COUNTED}
        return PayoutReport(**counts, left=left, failed_calls=self.failed_calls)

    def deliver(self) -> None:
        """Deliver the events that were stored; called outside of all transactions."""
        events, self._events = self._events, []
        self.delivery += self.outbox.deliver(events)

    # Results of sends and look-ups

    def found(self, payout: PayoutMixin, made: Made, evidence: PayoutEvidence, problem: str | None) -> None:
        """Store that the service has the payout; also when the claim was lost meanwhile.

        :param problem: why the service's record may be another payout's; a person decides then.
        """
        self._answered(payout, self._recorded(payout, evidence, problem, **_reported(made)))

    def sent_earlier(self, payout: PayoutMixin, columns: dict[str, Any], made: Made, problem: str | None) -> None:
        """Store that the service carried out an earlier try, which takes the place of the present one.

        :param columns: what names the earlier try.
        :param problem: as for `found`.
        """
        self.move(payout, self._recorded(payout, PayoutEvidence.FOUND, problem, **columns | _reported(made)))

    def sent_before(self, payout: PayoutMixin) -> None:
        """Store that the service has a payout whose answer was noted, but could not be stored as a move."""
        noted = payout.disbursement_id
        self.move(payout, self._recorded(payout, PayoutEvidence.ACCEPTED, None, disbursement_id=noted))

    def not_carried_out(
        self, payout: PayoutMixin, problem: str, retry_after: float | None = None, *, alone: bool = False
    ) -> None:
        """Store that the service certainly paid nothing; it is sent again later, under the same reference.

        :param alone: it is sent in a call of its own, in this round if there is time, as its batch was refused.
        """
        again = self.started if alone else try_again(payout.failures + 1, self._now(), retry_after)
        # Other keys may send it the next time, as these have certainly not.
        keys = {} if payout.doubted else {"client_id": None, "paid_by": None}
        values = {**keys, "alone": alone or payout.alone, "next_attempt_at": again}
        self.move(payout, self._failing(payout, PayoutEvidence.NOT_CARRIED_OUT, problem, **values))

    def refused(self, payout: PayoutMixin, problem: str) -> None:
        """Store that the service refused it."""
        self.move(payout, self._failing(payout, PayoutEvidence.REFUSED, problem))

    def in_doubt(self, payout: PayoutMixin, problem: str) -> None:
        """Store that nobody can find out whether it was sent; a person decides."""
        self.move(payout, self._failing(payout, PayoutEvidence.IN_DOUBT, problem, doubted=True))

    def missed(self, payout: PayoutMixin, began: datetime, ended: datetime) -> None:
        """Store that a look-up with the keys that sent it did not find it.

        One that was never in doubt has failed by its refusal, or is sent alone after that of its batch. Of others the
        second look-up decides, and they are sent again then. But where the service refused the last send, the refusal
        may be about what it has carried out and does not show yet.

        :param began: when the look-up began, by the database's clock; `ended` likewise.
        """
        now, first = self._now(), payout.missed_at
        problem = payout.problem or "the service refused it, and has nothing under its reference"
        if payout.refused and not payout.doubted:
            self.refused(payout, problem)
        elif not payout.doubted:
            self.not_carried_out(payout, problem, alone=True)
        elif first is None or first > ended:
            entry = line(now, Entry.READ, result="not found at the service")
            self.note(payout, entry, missed_at=ended, next_attempt_at=now + SECOND_LOOK_UP, lease_token=None)
        elif (left := first + SECOND_LOOK_UP - began) > timedelta(0):
            self.note(payout, None, next_attempt_at=now + left, lease_token=None)
        elif payout.refused:
            self.in_doubt(payout, problem)
        else:
            values = {"missed_at": None, "next_attempt_at": self.started, "lease_token": None}
            self.move(payout, PayoutMove(PayoutEvidence.MISSED, values))

    # Failures that move nothing

    def failed(self, payout: PayoutMixin, problem: str, **values: Any) -> PayoutMixin | None:
        """Store a failure of a call, by default of a send, whose claim goes on for a look-up.

        :param values: further columns.
        :returns: the payout as stored now; None when the claim was lost.
        """
        entry = line(self._now(), Entry.NO_ANSWER, problem=problem)
        return self.note(payout, entry, **{**self._failure(payout, problem), **values})

    def unread(self, payout: PayoutMixin, problem: str, **values: Any) -> None:
        """Store that a look-up or read failed, which proves nothing; the next one comes later."""
        self.failed(payout, problem, **values, **self._later(payout))

    # Results of reads

    def ended(self, payout: PayoutMixin, made: Made, evidence: PayoutEvidence) -> None:
        """Store that the service reads completed or failed."""
        values = {**HEALED, **_reported(made), "next_attempt_at": None, "reported_amount": None}
        if evidence is PayoutEvidence.FAILED:
            values |= {"problem": "the service says that it failed", "problem_since": self._now()}
        self.move(payout, PayoutMove(evidence, values))

    def pending(self, payout: PayoutMixin, made: Made, next_read_at: datetime) -> None:
        """Plan the next read of a transfer that is pending."""
        noted = {"disbursement_id": made.disbursement_id, "reported_amount": None, "next_attempt_at": next_read_at}
        self.note(payout, None, **HEALED, **noted)

    # Storing

    def move(self, payout: PayoutMixin, move: PayoutMove) -> None:
        """Store a move, unless the payout has changed meanwhile."""
        try:
            self._move(payout, move)
        except Exception as error:
            self.unread(payout, self._not_stored(payout, error))

    def note(self, payout: PayoutMixin, entry: str | None, **values: Any) -> PayoutMixin | None:
        """Change columns of a payout without a move; None when it has changed meanwhile, or cannot be changed now."""
        try:
            return self.moves.note(payout, entry, **values)
        except SQLAlchemyError as error:
            self._not_stored(payout, error)
            return None

    def _move(self, payout: PayoutMixin, move: PayoutMove) -> bool:
        moved = self.moves.move(payout, move, self._now())
        if moved is None:
            return False
        kind, status = moved.payout.kind, PayoutStatus(moved.payout.status)
        self._counts[status] += 1
        self.parts.observers.record(Observed.PAYOUT, kind, status, account=payout.account)
        self._events += moved.events
        return True

    def _recorded(
        self, payout: PayoutMixin, evidence: PayoutEvidence, problem: str | None, **values: Any
    ) -> PayoutMove:
        """The move of a payout that the service has, or that a person must compare with what the service has."""
        if problem is not None:
            return self._failing(payout, PayoutEvidence.DIFFERS, problem, **values)
        read_at = None if payout.is_token else self._now() + FIRST_READ
        columns = {**HEALED, "missed_at": None, "next_attempt_at": read_at, **values}
        return PayoutMove(evidence, columns, {"disbursement_id": values["disbursement_id"]})

    def _failing(self, payout: PayoutMixin, evidence: PayoutEvidence, problem: str, **values: Any) -> PayoutMove:
        facts = {"disbursement_id": values.get("disbursement_id"), "problem": problem}
        return PayoutMove(evidence, {**self._failure(payout, problem), **_UNPLANNED, **values}, facts)

    def _not_stored(self, payout: PayoutMixin, error: Exception) -> str:
        """Log that something about a payout could not be stored; the reason for people."""
        self.failed_calls += 1
        reason = error.problem if isinstance(error, ReceiverFailed) else first_line(error)
        fields = about_payout(payout, heals=payout.failures > 0)
        text = "payout %s could not be stored"
        self.parts.log.exception("results of payouts", text, payout.reference, extra=fields, error=error)
        return visible(f"the service's answer could not be stored: {reason}")[:_MAX_PROBLEM]

    def _failure(self, payout: PayoutMixin, problem: str) -> dict[str, Any]:
        since = payout.problem_since or self._now()
        return {"problem": problem, "problem_since": since, "failures": payout.failures + 1}

    def _later(self, payout: PayoutMixin) -> dict[str, Any]:
        return {"next_attempt_at": try_again(payout.failures + 1, self._now()), "lease_token": None}

    def _now(self) -> datetime:
        return self.parts.clock()

    # Answers, which are kept whoever holds the claim by now

    def _answered(self, payout: PayoutMixin, move: PayoutMove) -> None:
        """Store a move that the service's own record proves; the claim may be lost."""
        current: PayoutMixin | None = payout
        for _ in range(_MAX_ROUNDS):
            if current is None:
                return
            try:
                if self._move(current, move) if _waits_for(current, payout) else self._keep_as_history(current, move):
                    return
            except Exception as error:
                self._keep_for_later(current, move, self._not_stored(current, error))
                return
            current = self.moves.payouts.find(payout.reference)

    def _keep_for_later(self, payout: PayoutMixin, move: PayoutMove, problem: str) -> None:
        """Keep the service's id of a payout, so that the move is stored later without asking again."""
        values = {**self._failure(payout, problem), **self._later(payout)}
        if move.evidence is not PayoutEvidence.DIFFERS:
            values["disbursement_id"] = move.values["disbursement_id"]
        self.note(payout, self._not_applied(move), **values)

    def _keep_as_history(self, payout: PayoutMixin, move: PayoutMove) -> bool:
        """Keep an answer that moves nothing any more, in the history, and where a person who decides sees it.

        :returns: False when the payout has changed meanwhile.
        """
        disbursement_id = move.values["disbursement_id"]
        if payout.disbursement_id == disbursement_id:
            return True
        problem = f"an answer of the service came late: {move.evidence}, as {disbursement_id}"
        told = payout.reference, payout.status, problem
        self.parts.log.warning("late answers about payouts", "payout %s is %s: %s", *told, extra=about_payout(payout))
        # A person who has said since then that it was not sent may have been wrong.
        values = self._failure(payout, problem) | {"doubted": True} if payout.status in _UNDECIDED else {}
        return self.note(payout, self._not_applied(move), **values) is not None

    def _not_applied(self, move: PayoutMove) -> str:
        return line(self._now(), Entry.NOT_APPLIED, rule=move.evidence, **move.facts)


def _reported(made: Made) -> dict[str, Any]:
    """The columns that the service's record of a payout gives."""
    fee = made.fee_amount
    known = {} if fee is None or not fee.is_finite() else {"fee": f"{fee:f}"}
    return {"disbursement_id": made.disbursement_id, **known}


def _waits_for(current: PayoutMixin, claimed: PayoutMixin) -> bool:
    """Whether the payout still waits for the answer to what was sent."""
    same = current.service_reference == claimed.service_reference
    return same and current.status == PayoutStatus.SENDING
