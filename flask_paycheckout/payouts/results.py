"""The results of calls about payouts, stored as moves and notes, and counted for the round's report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.clock import Clock
from flask_paycheckout.database.database_errors import first_line
from flask_paycheckout.database.history import Entry, line
from flask_paycheckout.errors import ReceiverFailed
from flask_paycheckout.events.events import HeldEvent
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.events.receiver_runs import Delivery
from flask_paycheckout.payouts.calls import Made
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_moves import PayoutMove, PayoutMoves
from flask_paycheckout.payouts.payout_schedule import FIRST_READ, SECOND_LOOK_UP, try_again
from flask_paycheckout.payouts.payout_states import PayoutEvidence, PayoutStatus
from flask_paycheckout.payouts.stored import Payouts
from flask_paycheckout.service.logs import FailureLog, about_payout
from flask_paycheckout.service.observations import Observed, Observers
from flask_paycheckout.text import visible


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
        return PayoutReport(
            self.sent + later.sent,
            self.completed + later.completed,
            self.failed + later.failed,
            self.unknown + later.unknown,
            later.left,
            self.failed_calls + later.failed_calls,
        )


# Changes by other processes that storing a late answer is repeated for.
_MAX_ROUNDS = 20
# States in which a late answer is shown as the payout's problem.
_UNDECIDED = (PayoutStatus.UNKNOWN, PayoutStatus.READY, PayoutStatus.FAILED)
_MAX_PROBLEM = 600
_HEALED: dict[str, Any] = {"problem": None, "problem_since": None, "failures": 0, "lease_token": None}


class PayoutResults:
    """Stores the results of one round.

    Each is one conditional statement on the row as it was claimed: who has lost the claim changes nothing. What cannot
    be stored of one payout is noted on it, and never keeps the round from the next one.
    """

    def __init__(
        self, payouts: Payouts, moves: PayoutMoves, outbox: Outbox, clock: Clock, log: FailureLog, observers: Observers
    ) -> None:
        self._payouts = payouts
        self._moves = moves
        self._outbox = outbox
        self._clock = clock
        self._log = log
        self._observers = observers
        self._counts: Counter[PayoutStatus] = Counter()
        self._failed_calls = 0
        self._events: list[HeldEvent] = []
        self.delivery = Delivery()
        """The events delivered so far."""

        self.started = clock()
        """The time when the round began; what is due by then is done in it."""

    def report(self, left: int) -> PayoutReport:
        """The counts so far."""
        counts = self._counts
        return PayoutReport(
            counts[PayoutStatus.SENT],
            counts[PayoutStatus.COMPLETED],
            counts[PayoutStatus.FAILED],
            counts[PayoutStatus.UNKNOWN],
            left,
            self._failed_calls,
        )

    def call_failed(self) -> None:
        """Count a call without a usable answer, or a refusal."""
        self._failed_calls += 1

    def deliver(self) -> None:
        """Deliver the events of what was stored; called outside of all transactions."""
        events, self._events = self._events, []
        self.delivery += self._outbox.deliver(events)

    # Results of sends and look-ups

    def sent(self, payout: PayoutMixin, made: Made, evidence: PayoutEvidence) -> None:
        """Store that the service has the payout; also when the claim was lost meanwhile."""
        read_at = None if payout.is_token else self._clock() + FIRST_READ
        values = {**_HEALED, **_reported(made), "missed_at": None, "next_attempt_at": read_at}
        self._answered(payout, PayoutMove(evidence, values, {"disbursement_id": made.disbursement_id}))

    def sent_earlier(self, payout: PayoutMixin, columns: dict[str, Any], made: Made, differing: str | None) -> None:
        """Store that the service carried out an earlier try, which takes the place of the present one.

        :param columns: what names the earlier try.
        :param differing: in what the service has another payout under its reference; a person decides then.
        """
        values = {**_HEALED, **_reported(made), **columns, "next_attempt_at": self._clock() + FIRST_READ}
        evidence, facts = PayoutEvidence.FOUND, {"disbursement_id": made.disbursement_id}
        if differing is not None:
            evidence = PayoutEvidence.DIFFERS
            problem = f"the service has an earlier try with another {differing}"
            values |= {**self._failure(payout, problem), "next_attempt_at": None}
            facts["problem"] = problem
        self.move(payout, PayoutMove(evidence, values, facts))

    def sent_before(self, payout: PayoutMixin) -> None:
        """Store that the service has a payout whose answer was noted, but could not be stored as a move."""
        read_at = None if payout.is_token else self._clock() + FIRST_READ
        values = {**_HEALED, "missed_at": None, "next_attempt_at": read_at}
        self.move(payout, PayoutMove(PayoutEvidence.ACCEPTED, values, {"disbursement_id": payout.disbursement_id}))

    def differs(self, payout: PayoutMixin, made: Made, problem: str) -> None:
        """Store that the service has another payout under this reference; a person decides."""
        values = {**self._failure(payout, problem), "lease_token": None, "next_attempt_at": None}
        values["disbursement_id"] = made.disbursement_id
        facts = {"disbursement_id": made.disbursement_id, "problem": problem}
        self._answered(payout, PayoutMove(PayoutEvidence.DIFFERS, values, facts))

    def not_carried_out(self, payout: PayoutMixin, problem: str, retry_after: float | None = None) -> None:
        """Store that the service certainly paid nothing; it is sent again later, under the same reference."""
        values = self._failure(payout, problem)
        again = try_again(values["failures"], self._clock(), retry_after)
        values |= {"lease_token": None, "next_attempt_at": again, **_free(payout)}
        self.move(payout, PayoutMove(PayoutEvidence.NOT_CARRIED_OUT, values, {"problem": problem}))

    def send_alone(self, payout: PayoutMixin, problem: str) -> None:
        """Store that its batch was refused; it is sent in a call of its own, in this round if there is time."""
        values = {**self._failure(payout, problem), **_free(payout), "lease_token": None}
        values |= {"alone": True, "next_attempt_at": self.started}
        self.move(payout, PayoutMove(PayoutEvidence.NOT_CARRIED_OUT, values, {"problem": problem}))

    def refused(self, payout: PayoutMixin, problem: str) -> None:
        """Store that the service refused it."""
        values = {**self._failure(payout, problem), "lease_token": None, "next_attempt_at": None}
        self.move(payout, PayoutMove(PayoutEvidence.REFUSED, values, {"problem": problem}))

    def in_doubt(self, payout: PayoutMixin, problem: str) -> None:
        """Store that nobody can find out whether it was sent; a person decides."""
        values = {**self._failure(payout, problem), "lease_token": None, "next_attempt_at": None, "doubted": True}
        self.move(payout, PayoutMove(PayoutEvidence.IN_DOUBT, values, {"problem": problem}))

    def missed(self, payout: PayoutMixin, began: datetime, ended: datetime) -> None:
        """Store that a look-up with the keys that sent it did not find it; the second one decides.

        It is sent again then. But where the service refused the last send of one that was in doubt, the refusal may be
        about what it has carried out and does not show yet. One that was never in doubt has failed by its refusal.

        :param began: when the look-up began, by the database's clock; `ended` likewise.
        """
        now = self._clock()
        first = payout.missed_at
        if payout.refused and not payout.doubted:
            self.refused(payout, payout.problem or "the service refused it")
        elif first is None or first > ended:
            entry = line(now, Entry.READ, result="not found at the service")
            values = {"missed_at": ended, "next_attempt_at": now + SECOND_LOOK_UP, "lease_token": None}
            self.note(payout, entry, **values)
        elif (left := first + SECOND_LOOK_UP - began) > timedelta(0):
            self.note(payout, None, next_attempt_at=now + left, lease_token=None)
        elif payout.refused:
            self.in_doubt(payout, payout.problem or "the service refused it, and has nothing under its reference")
        else:
            values = {"missed_at": None, "next_attempt_at": self.started, "lease_token": None}
            self.move(payout, PayoutMove(PayoutEvidence.MISSED, values))

    # Failures that move nothing

    def failed(self, payout: PayoutMixin, problem: str, **values: Any) -> PayoutMixin | None:
        """Store a failure of a send; the claim goes on, for a look-up.

        :returns: the payout as stored now; None when the claim was lost.
        """
        entry = line(self._clock(), Entry.NO_ANSWER, problem=problem)
        return self.note(payout, entry, **{**self._failure(payout, problem), **values})

    def unread(self, payout: PayoutMixin, problem: str, **more: Any) -> None:
        """Store that a look-up or read failed, which proves nothing; the next one comes later.

        :param more: further columns with their values.
        """
        values = self._failure(payout, problem)
        again = try_again(values["failures"], self._clock())
        entry = line(self._clock(), Entry.NO_ANSWER, problem=problem)
        self.note(payout, entry, **values, **more, next_attempt_at=again, lease_token=None)

    # Results of reads

    def ended(self, payout: PayoutMixin, made: Made, evidence: PayoutEvidence, problem: str | None = None) -> None:
        """Store that the service reads completed or failed."""
        values = {**_HEALED, **_reported(made), "next_attempt_at": None, "reported_amount": None}
        if problem is not None:
            values |= {"problem": problem, "problem_since": self._clock()}
        self.move(payout, PayoutMove(evidence, values))

    def pending(self, payout: PayoutMixin, made: Made, next_read_at: datetime) -> None:
        """Plan the next read of a transfer that is pending."""
        values = {**_HEALED, "disbursement_id": made.disbursement_id, "reported_amount": None}
        self.note(payout, None, **values, next_attempt_at=next_read_at)

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
            return self._moves.note(payout, entry, **values)
        except SQLAlchemyError as error:
            self._not_stored(payout, error)
            return None

    def _move(self, payout: PayoutMixin, move: PayoutMove) -> bool:
        moved = self._moves.move(payout, move, self._clock())
        if moved is None:
            return False
        kind, status = moved.payout.kind, PayoutStatus(moved.payout.status)
        self._counts[status] += 1
        self._observers.record(Observed.PAYOUT, kind, status, account=payout.account)
        self._events += moved.events
        return True

    def _not_stored(self, payout: PayoutMixin, error: Exception) -> str:
        """Log that something about a payout could not be stored; the reason for people."""
        self._failed_calls += 1
        reason = error.problem if isinstance(error, ReceiverFailed) else first_line(error)
        fields = about_payout(payout, heals=payout.failures > 0)
        text = "payout %s could not be stored"
        self._log.exception("results of payouts", text, payout.reference, extra=fields, error=error)
        return visible(f"the service's answer could not be stored: {reason}")[:_MAX_PROBLEM]

    def _failure(self, payout: PayoutMixin, problem: str) -> dict[str, Any]:
        since = payout.problem_since or self._clock()
        return {"problem": problem, "problem_since": since, "failures": payout.failures + 1}

    # Answers, which are kept whoever holds the claim by now

    def _answered(self, payout: PayoutMixin, move: PayoutMove) -> None:
        """Store a move that the service's own record proves; the claim may be lost."""
        current: PayoutMixin | None = payout
        for _ in range(_MAX_ROUNDS):
            if current is None or not _waits_for(current, payout):
                break
            try:
                if self._move(current, move):
                    return
            except Exception as error:
                self._keep_for_later(current, move, self._not_stored(current, error))
                return
            current = self._payouts.find(payout.reference)
        if current is not None:
            self._keep_as_history(current, move)

    def _keep_for_later(self, payout: PayoutMixin, move: PayoutMove, problem: str) -> None:
        """Keep the service's id of a payout, so that the move is stored later without asking again."""
        values = self._failure(payout, problem)
        if move.evidence is not PayoutEvidence.DIFFERS:
            values["disbursement_id"] = move.values["disbursement_id"]
        again = try_again(values["failures"], self._clock())
        entry = line(self._clock(), Entry.NOT_APPLIED, rule=move.evidence, **move.facts)
        self.note(payout, entry, **values, next_attempt_at=again, lease_token=None)

    def _keep_as_history(self, payout: PayoutMixin, move: PayoutMove) -> None:
        """Keep an answer that moves nothing any more, in the history, and where a person who decides sees it."""
        disbursement_id = move.values["disbursement_id"]
        if payout.disbursement_id == disbursement_id:
            return
        problem = f"an answer of the service came late: {move.evidence}, as {disbursement_id}"
        told = payout.reference, payout.status, problem
        self._log.warning("late answers about payouts", "payout %s is %s: %s", *told, extra=about_payout(payout))
        found: PayoutMixin | None = payout
        for _ in range(_MAX_ROUNDS):
            if found is None:
                return
            values = self._failure(found, problem) if found.status in _UNDECIDED else {}
            entry = line(self._clock(), Entry.NOT_APPLIED, rule=move.evidence, **move.facts)
            if self.note(found, entry, **values) is not None:
                return
            found = self._payouts.find(payout.reference)


def _free(payout: PayoutMixin) -> dict[str, Any]:
    """The columns by which a payout may be sent with other keys the next time, unless these may have sent it."""
    return {} if payout.doubted else {"client_id": None, "paid_by": None}


def _reported(made: Made) -> dict[str, Any]:
    """The columns that the service's record of a payout gives."""
    fee = made.fee_amount
    known = {} if fee is None or not fee.is_finite() else {"fee": f"{fee:f}"}
    return {"disbursement_id": made.disbursement_id, **known}


def _waits_for(current: PayoutMixin, claimed: PayoutMixin) -> bool:
    """Whether the payout still waits for the answer to what was sent."""
    same = current.service_reference == claimed.service_reference
    return same and current.status == PayoutStatus.SENDING
