"""The results of calls about payouts, stored as moves and notes, and counted for the round's report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.database.history import Entry, line
from flask_paycheckout.errors import ReceiverFailed
from flask_paycheckout.events.events import HeldEvent
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.events.receiver_runs import Delivery
from flask_paycheckout.parts import Parts
from flask_paycheckout.parts.observations import Observed
from flask_paycheckout.payouts.payout_model import MAX_NUMBER, PayoutMixin, about_payout
from flask_paycheckout.payouts.payout_moves import PayoutMove, PayoutMoves, problem_columns
from flask_paycheckout.payouts.payout_schedule import SECOND_LOOK_UP, next_read, try_again
from flask_paycheckout.payouts.payout_states import PayoutEvidence, PayoutStatus
from flask_paycheckout.text import first_line, visible

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


@dataclass(eq=False)
class PayoutResults:
    """Stores the results of one round.

    Each is one conditional statement on the row as it was claimed: who has lost the claim changes nothing. What cannot
    be stored of one payout is noted on it, and never keeps the round from the next one.
    """

    parts: Parts
    moves: PayoutMoves
    outbox: Outbox
    stopped: Callable[[], bool]
    """Whether to end before the next call."""

    delivery: Delivery = field(default_factory=Delivery, init=False)
    """The events delivered so far."""

    failed_calls: int = field(default=0, init=False)
    """The number of calls without a usable answer, and of refusals."""

    left: int = field(default=0, init=False)
    """The number of payouts that are ready to be sent."""

    def __post_init__(self) -> None:
        self.started = self._now()
        """The time when the round began; what is due by then is done in it."""

        self._counts: Counter[PayoutStatus] = Counter()
        self._events: list[HeldEvent] = []

    def report(self) -> PayoutReport:
        """The counts so far."""
        return PayoutReport(
            **{status.value: self._counts[status] for status in _COUNTED},
            left=self.left,
            failed_calls=self.failed_calls,
        )

    def deliver(self) -> None:
        """Deliver the events that were stored; called outside of all transactions."""
        events, self._events = self._events, []
        self.delivery += self.outbox.deliver(events)

    # Results of sends and look-ups

    def found(
        self, payout: PayoutMixin, made: Made, evidence: PayoutEvidence, problem: str | None, **columns: Any
    ) -> None:
        """Store that the service has the payout, as its own record proves; also when the claim was lost meanwhile.

        Where the move cannot be stored its columns are, so that it is stored later without asking again.

        :param problem: why the service's record may be another payout's; a person decides then.
        :param columns: what names an earlier try that it is the record of, and that takes the place of the present one.
        """
        known = evidence if problem is None else PayoutEvidence.DIFFERS
        move, current = _of_record(made, known, problem, **columns), payout
        # An earlier try is asked about again: under its reference there may be such an event already.
        noted = move.values if problem is None and not columns else {}
        for _ in range(_MAX_ROUNDS):
            waits = current.service_reference == payout.service_reference and current.status == PayoutStatus.SENDING
            if self.move(current, move, **noted) if waits else self._keep_as_history(current, move):
                return
            current = self.moves.payouts.require(payout.reference)

    def not_carried_out(
        self, payout: PayoutMixin, problem: str | None, retry_after: float | None = None, *, alone: bool = False
    ) -> None:
        """Store that the service certainly paid nothing; it is sent again later, under the same reference.

        :param alone: it is sent in a call of its own, in this round if there is time, as its batch was refused.
        """
        again = self.started if alone else try_again(payout.failures, self._now(), retry_after)
        # Other keys may send it the next time, as these have certainly not.
        keys = {} if payout.doubted else {"client_id": None, "paid_by": None}
        values = {**keys, "alone": alone or payout.alone, "next_attempt_at": again}
        self.move(payout, PayoutMove(PayoutEvidence.NOT_CARRIED_OUT, values, problem))

    def refused(self, payout: PayoutMixin) -> None:
        """Store that the service refused it, and has nothing under its reference."""
        self.move(payout, PayoutMove(PayoutEvidence.REFUSED, problem=payout.problem))

    def in_doubt(self, payout: PayoutMixin, problem: str | None) -> None:
        """Store that nobody can find out whether it was sent; a person decides."""
        self.move(payout, PayoutMove(PayoutEvidence.IN_DOUBT, problem=problem))

    def missed(self, payout: PayoutMixin, began: datetime, ended: datetime) -> None:
        """Store that a look-up with the keys that sent it did not find it.

        One that was never in doubt has failed by its refusal, or is sent alone after that of its batch. Of others the
        second look-up decides, and they are sent again then. But where the service refused the last send, the refusal
        may be about what it has carried out and does not show yet.

        :param began: when the look-up began, by the database's clock; `ended` likewise.
        """
        now, first = self._now(), payout.missed_at
        if payout.refused and not payout.doubted:
            self.refused(payout)
        elif not payout.doubted:
            self.not_carried_out(payout, payout.problem, alone=True)
        elif first is None or first > ended:
            entry = line(now, Entry.READ, result="not found at the service")
            self.note(payout, entry, missed_at=ended, next_attempt_at=now + SECOND_LOOK_UP)
        elif (left := first + SECOND_LOOK_UP - began) > timedelta(0):
            self.note(payout, None, next_attempt_at=now + left)
        elif payout.refused:
            self.in_doubt(payout, payout.problem)
        else:
            self.move(payout, PayoutMove(PayoutEvidence.MISSED, problem=payout.problem))

    # Failures that move nothing

    def failed(self, payout: PayoutMixin, problem: str, **values: Any) -> PayoutMixin | None:
        """Store a failure of a call, by default of a send, whose claim goes on for a look-up.

        :param values: further columns.
        :returns: the payout as stored now; None when the claim was lost.
        """
        now = self._now()
        entry = line(now, Entry.NO_ANSWER, problem=problem)
        return self.note(payout, entry, **problem_columns(payout, problem, now) | values)

    def unread(self, payout: PayoutMixin, problem: str, **values: Any) -> None:
        """Store that a look-up or read failed, which proves nothing; the next one comes later."""
        self.failed(payout, problem, next_attempt_at=try_again(payout.failures, self._now()), **values)

    # Results of reads

    def ended(self, payout: PayoutMixin, made: Made, evidence: PayoutEvidence) -> None:
        """Store that the service reads completed or failed."""
        problem = "the service says that it failed" if evidence is PayoutEvidence.FAILED else None
        self.move(payout, _of_record(made, evidence, problem, reported_amount=None))

    def pending(self, payout: PayoutMixin, made: Made) -> None:
        """Plan the next read of a transfer that is pending."""
        now = self._now()
        self.note(
            payout,
            None,
            disbursement_id=made.disbursement_id,
            reported_amount=None,
            next_attempt_at=next_read(payout.moved_at, now),
            **problem_columns(payout, None, now),
        )

    # Storing

    def move(self, payout: PayoutMixin, move: PayoutMove, **noted: Any) -> bool:
        """Store a move; False when the payout has changed meanwhile.

        :param noted: columns to store also when the move cannot be.
        """
        try:
            events = self.moves.move(payout, move, self._now())
        except Exception as error:
            self.unread(payout, self._not_stored(payout, error), **noted)
            return True
        if events is None:
            return False
        status = move.target(payout)
        self._counts[status] += 1
        self.parts.observers.record(Observed.PAYOUT, payout.kind, status, account=payout.account)
        self._events += events
        return True

    def note(self, payout: PayoutMixin, entry: str | None, **values: Any) -> PayoutMixin | None:
        """Change columns of a payout without a move; None when it has changed meanwhile, or cannot be changed now."""
        try:
            with begin_limited(self.parts.engine()) as connection:
                row = self.moves.payouts.change(connection, payout, values, entry)
        except SQLAlchemyError as error:
            self._not_stored(payout, error)
            return None
        return None if row is None else self.moves.payouts.made(row)

    def _not_stored(self, payout: PayoutMixin, error: Exception) -> str:
        """Log that something about a payout could not be stored; the reason for people."""
        self.failed_calls += 1
        reason = error.problem if isinstance(error, ReceiverFailed) else first_line(error)
        fields = about_payout(payout, heals=payout.failures > 0)
        self.parts.log.exception(
            "results of payouts", "payout %s could not be stored", payout.reference, extra=fields, error=error
        )
        return visible(f"the service's answer could not be stored: {reason}")[:_MAX_PROBLEM]

    def _keep_as_history(self, payout: PayoutMixin, move: PayoutMove) -> bool:
        """Keep an answer that moves nothing any more, in the history, and where a person who decides sees it.

        :returns: False when the payout has changed meanwhile.
        """
        now, disbursement_id = self._now(), move.values["disbursement_id"]
        if payout.disbursement_id == disbursement_id:
            return True
        problem = f"an answer of the service came late: {move.evidence}, as {disbursement_id}"
        told = payout.reference, payout.status, problem
        self.parts.log.warning("late answers about payouts", "payout %s is %s: %s", *told, extra=about_payout(payout))
        # A person who has said since then that it was not sent may have been wrong.
        undecided = payout.status in _UNDECIDED
        values = problem_columns(payout, problem, now) | {"doubted": True} if undecided else {}
        return self.note(payout, line(now, Entry.NOT_APPLIED, **move.told), **values) is not None

    def _now(self) -> datetime:
        return self.parts.clock()


def _of_record(made: Made, evidence: PayoutEvidence, problem: str | None, **columns: Any) -> PayoutMove:
    """The move of a payout by the service's record of it."""
    fee = "" if made.fee_amount is None else f"{made.fee_amount:f}"
    # A longer one cannot be stored, and its money was sent all the same.
    known = {"fee": fee} if 0 < len(fee) <= MAX_NUMBER else {}
    return PayoutMove(evidence, columns | {"disbursement_id": made.disbursement_id, **known}, problem)
