"""The results of calls about payouts, stored as moves and notes, and counted for the round's report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.client.records import if_sent
from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.database.state_table import Entry, line
from flask_paycheckout.errors import ReceiverFailed
from flask_paycheckout.events.events import Delivery, HeldEvent
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.payouts.payout_model import MAX_NUMBER, PayoutMixin, about_payout
from flask_paycheckout.payouts.payout_moves import PayoutMove, PayoutMoves, problem_columns
from flask_paycheckout.payouts.payout_schedule import SECOND_LOOK_UP, WITHOUT_KEYS, next_read, try_again
from flask_paycheckout.payouts.payout_states import Doubt, PayoutEvidence, PayoutState, PayoutStatus
from flask_paycheckout.text import first_line, visible
from flask_paycheckout.wiring import Observed, Wiring

if TYPE_CHECKING:
    from flask_paycheckout.payouts.calls import Disbursement


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
        """The sum of the counts of this round and a later one; `left` is the later one's."""
        ours = asdict(self)
        return PayoutReport(**{name: ours[name] + more for name, more in asdict(later).items()} | {"left": later.left})


# The number of retries to store a late answer after changes by other processes.
_MAX_ROUNDS = 20
# Statuses in which a late answer is shown as the payout's problem.
_UNDECIDED = (PayoutStatus.UNKNOWN, PayoutStatus.READY, PayoutStatus.FAILED)
_COUNTED = (PayoutStatus.SENT, PayoutStatus.COMPLETED, PayoutStatus.FAILED, PayoutStatus.UNKNOWN)
_MAX_PROBLEM = 600


@dataclass(eq=False)
class PayoutResults:
    """Stores the results of one round.

    Each result is one conditional statement on the row as it was claimed, so a process that lost its claim changes
    nothing. A result that cannot be stored is noted on its payout, and does not stop the round.
    """

    wiring: Wiring
    moves: PayoutMoves
    outbox: Outbox
    stopped: Callable[[], bool]
    """Whether to end before the next call."""

    started: datetime
    """The time when the round began; the round handles the payouts that were due by then."""

    delivery: Delivery = field(default_factory=Delivery, init=False)
    """The events delivered so far."""

    failed_calls: int = field(default=0, init=False)
    """The number of calls without a usable answer, and of refusals."""

    left: int = field(default=0, init=False)
    """The number of payouts that are ready to be sent."""

    _counts: Counter[PayoutStatus] = field(default_factory=Counter, init=False)
    _events: list[HeldEvent] = field(default_factory=list, init=False)

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
        if events:
            self.delivery += self.outbox.deliver(events)

    # Results of sends and lookups

    def found(
        self,
        payout: PayoutMixin,
        disbursement: Disbursement,
        evidence: PayoutEvidence,
        problem: str | None,
        **columns: Any,
    ) -> None:
        """Store that the service has the payout, as its record proves, even if the claim was lost meanwhile.

        If the move cannot be stored, its columns are stored, so that a later round stores the move without another
        lookup.

        :param problem: why the service's record may be another payout's; a person decides then.
        :param columns: the columns of the earlier try that the record belongs to, which takes the place of the present
            try.
        """
        outcome = evidence if problem is None else PayoutEvidence.DIFFERS
        move, current = _of_record(disbursement, outcome, problem, **columns), payout
        # For an earlier try a later round asks again, because its reference may already have such an event.
        noted = move.values if problem is None and not columns else {}
        for _ in range(_MAX_ROUNDS):
            # An unknown payout is looked up until a person decides about it.
            same = current.changes == payout.changes and problem is None
            waits = current.service_reference == payout.service_reference and (
                current.status == PayoutStatus.SENDING or (same and current.state == PayoutState.UNKNOWN)
            )
            if self.move(current, move, **noted) if waits else self._keep_as_history(current, move):
                return
            current = self.moves.payouts.require(payout.reference)

    def not_carried_out(self, payout: PayoutMixin, problem: str, retry_after: float | None = None) -> None:
        """Store that the call certainly paid nothing; it is sent again later, under the same reference."""
        values: dict[str, Any] = {"due_at": try_again(payout.failures, self.wiring.clock(), retry_after)}
        if payout.doubt is None:
            # Other keys may send it the next time, because these keys certainly have not sent it.
            values |= dict.fromkeys(("client_id", "paid_by", "taken_at"))
        self.move(payout, PayoutMove(PayoutEvidence.NOT_CARRIED_OUT, values, problem))

    def in_doubt(self, payout: PayoutMixin, problem: str | None) -> None:
        """Store that nobody can find out whether it was sent; a person decides."""
        self.move(payout, PayoutMove(PayoutEvidence.IN_DOUBT, problem=problem))

    def without_keys(self, payout: PayoutMixin, problem: str) -> None:
        """Store that it cannot be looked up without the keys that sent it; the next lookup waits for them."""
        due = {"due_at": self.wiring.clock() + WITHOUT_KEYS}
        if payout.state == PayoutState.UNKNOWN:
            self.note(payout, None, **due)
        else:
            self.move(payout, PayoutMove(PayoutEvidence.IN_DOUBT, due, problem))

    def missed(self, payout: PayoutMixin, began: datetime, ended: datetime) -> None:
        """Store that a lookup with the keys that sent it did not find it.

        If no other call can have carried the payout out, the first lookup decides: a refused payout has failed, and a
        payout of a refused batch is sent alone. Otherwise the second lookup decides.

        :param began: when the lookup began, by the database's clock; `ended` likewise.
        """
        now, first, refused = self.wiring.clock(), payout.missed_at, payout.state == PayoutState.REFUSED
        is_certain = payout.doubt is None and payout.state != PayoutState.LOST
        if not is_certain and (first is None or first > ended):
            entry = line(now, Entry.READ, result="not found at the service")
            self.note(payout, entry, missed_at=ended, due_at=now + SECOND_LOOK_UP)
        elif not is_certain and first is not None and (left := first + SECOND_LOOK_UP - began) > timedelta(0):
            self.note(payout, None, due_at=now + left)
        elif refused and payout.doubt in (Doubt.LOST, Doubt.DENIED):
            # The service may have refused because it has carried the payout out already, but does not show it yet.
            self.in_doubt(payout, payout.problem)
        else:
            self.move(payout, PayoutMove(PayoutEvidence.MISSED, self._missed(payout), payout.problem))

    def _missed(self, payout: PayoutMixin) -> dict[str, Any]:
        """The columns of a payout that lookups have missed."""
        if payout.state == PayoutState.REFUSED:
            # A refused payout that was never in doubt was never sent.
            return {} if payout.doubt else dict.fromkeys(("client_id", "paid_by"))
        # It is sent in this round, if there is time.
        return {"doubt": Doubt(payout.state), "due_at": self.started}

    def lost(self, batch: Sequence[PayoutMixin], evidence: PayoutEvidence, problem: str, **values: Any) -> None:
        """Store that lookups must find out about a call; it, or an earlier one, may have carried the payouts out.

        :param evidence: the answer was lost, or the service refused the payout or the batch.
        :param values: further columns.
        """
        for payout in batch:
            # One lookup in this round is for all of them, because it may list the transfers of months.
            self.move(payout, PayoutMove(evidence, {"due_at": self.started, **values}, problem))

    # Failures that move nothing

    def unread(self, payout: PayoutMixin, problem: str, **values: Any) -> None:
        """Store that a lookup or read failed, which proves nothing, and plan the next one.

        :param values: further columns.
        """
        now = self.wiring.clock()
        columns = problem_columns(payout, problem, now) | {"due_at": try_again(payout.failures, now)}
        self.note(payout, line(now, Entry.NO_ANSWER, problem=problem), **columns | values)

    # Results of reads

    def ended(self, payout: PayoutMixin, disbursement: Disbursement, evidence: PayoutEvidence) -> None:
        """Store that the service reads completed or failed."""
        came_back = ", which it had completed" if payout.state == PayoutState.COMPLETED else ""
        problem = f"the service says that it failed{came_back}" if evidence is PayoutEvidence.FAILED else None
        self.move(payout, _of_record(disbursement, evidence, problem, doubt=None))

    def differs(self, payout: PayoutMixin, problem: str, **values: Any) -> None:
        """Store that the service reports a completed transfer with another amount; a person decides.

        :param values: further columns.
        """
        self.move(payout, PayoutMove(PayoutEvidence.DIFFERS, values, problem))

    def paid_after_all(
        self,
        payout: PayoutMixin,
        disbursement: Disbursement,
        problem: str | None,
        columns: dict[str, Any],
        **values: Any,
    ) -> None:
        """Store that the service pays a transfer that had failed.

        :param problem: why a person must look at it, to be stored with further columns; None moves it back to `sent`.
        :param columns: the columns that make the paid try the present one.
        """
        move = _of_record(disbursement, PayoutEvidence.FOUND, None, **columns)
        if "reported_amount" in values:
            values |= move.values
        if problem is None:
            self.move(payout, move)
        elif problem == payout.problem:
            self.note(payout, None, **values)
        else:
            now, values_of_log = self.wiring.clock(), (payout.reference, problem)
            self.wiring.log.warning("late ends of payouts", "payout %s: %s", *values_of_log, extra=about_payout(payout))
            entry = line(now, Entry.NOT_APPLIED, problem=problem)
            self.note(payout, entry, **problem_columns(payout, problem, now) | values)

    def pending(self, payout: PayoutMixin, disbursement: Disbursement) -> None:
        """Plan the next read of a transfer that is pending."""
        columns = {"disbursement_id": disbursement.disbursement_id, "reported_amount": None}
        self.read(payout, due_at=next_read(payout.moved_at, self.wiring.clock()), **columns)

    def read(self, payout: PayoutMixin, **values: Any) -> None:
        """Store that a read succeeded and moves nothing, and clear earlier problems."""
        self.note(payout, None, **problem_columns(payout, None, self.wiring.clock()) | values)

    # Storing

    def move(self, payout: PayoutMixin, move: PayoutMove, **noted: Any) -> bool:
        """Store a move; False when the payout has changed meanwhile.

        :param noted: columns to store even if the move cannot be stored.
        """
        try:
            events = self.moves.move(payout, move, self.wiring.clock())
        except Exception as error:
            self.unread(payout, self._not_stored(payout, error), **noted)
            return True
        if events is None:
            return False
        status = move.target(payout).status
        if status != payout.status:
            self._counts[status] += 1
            self.wiring.observers.record(Observed.PAYOUT, payout.kind, status, account=payout.account)
        self._events += events
        return True

    def note(self, payout: PayoutMixin, entry: str | None, **values: Any) -> bool:
        """Change columns of a payout, not its state; False when it was changed meanwhile, or the database fails."""
        try:
            with begin_limited(self.wiring.engine()) as connection:
                before = self.wiring.models.row_of(payout)
                return self.moves.payouts.change(connection, before, values, entry) is not None
        except SQLAlchemyError as error:
            self._not_stored(payout, error)
            return False

    def _not_stored(self, payout: PayoutMixin, error: Exception) -> str:
        """Log that a result could not be stored, and return the reason for people."""
        self.failed_calls += 1
        reason = error.problem if isinstance(error, ReceiverFailed) else first_line(error)
        fields = about_payout(payout, heals=payout.failures > 0)
        self.wiring.log.exception(
            "results of payouts", "payout %s could not be stored", payout.reference, extra=fields, error=error
        )
        return visible(f"the service's answer could not be stored: {reason}")[:_MAX_PROBLEM]

    def _keep_as_history(self, payout: PayoutMixin, move: PayoutMove) -> bool:
        """Keep an answer that came too late to move the payout, in the history and where a person who decides sees it.

        :returns: False when the payout has changed meanwhile.
        """
        now, disbursement_id = self.wiring.clock(), move.values["disbursement_id"]
        if payout.disbursement_id == disbursement_id:
            return True
        problem = f"an answer of the service came late: {move.evidence}, as {disbursement_id}"
        values_of_log = payout.reference, payout.status, problem
        self.wiring.log.warning(
            "late answers about payouts", "payout %s is %s: %s", *values_of_log, extra=about_payout(payout)
        )
        # A person may have said meanwhile, by mistake, that it was not sent.
        undecided = payout.status in _UNDECIDED
        values = problem_columns(payout, problem, now) | {"doubt": Doubt.LOST} if undecided else {}
        return self.note(payout, line(now, Entry.NOT_APPLIED, **move.history_facts), **values)


def _of_record(disbursement: Disbursement, evidence: PayoutEvidence, problem: str | None, **columns: Any) -> PayoutMove:
    """The move of a payout by the service's record of it."""
    amount = if_sent(disbursement, "fee_amount")
    fee = "" if amount is None else f"{amount:f}"
    # A longer fee cannot be stored, but the money was sent all the same.
    fee_column = {"fee": fee} if 0 < len(fee) <= MAX_NUMBER else {}
    return PayoutMove(evidence, columns | {"disbursement_id": disbursement.disbursement_id, **fee_column}, problem)
