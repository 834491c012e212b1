"""Settle: read the deposit, weigh it, and move the checkout in one transaction with its event.

The only evidence is a fresh read of the service. Who asked for the read, and what a webhook said, decides nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from flask_paycheckout.checkouts.logs import about
from flask_paycheckout.checkouts.outbox import Outbox
from flask_paycheckout.client import Deposit, NotFound, PaymentsError, TransportFailed
from flask_paycheckout.clock import Clock
from flask_paycheckout.errors import ConfigurationError, ReceiverFailed, TransitionRefused, UnknownCheckout
from flask_paycheckout.rules.decisions import Decision, who_and_why
from flask_paycheckout.rules.matching import Comparison, compare, order_disagreement
from flask_paycheckout.rules.schedule import PAGE_GONE, Schedule, after_failures
from flask_paycheckout.rules.states import OPEN, REASON_OF, TRANSITIONS, Evidence, FoundBy, Reason, Status
from flask_paycheckout.service.calls import READ, Service, Turn
from flask_paycheckout.store.checkouts import Checkouts
from flask_paycheckout.store.database_errors import first_line, is_passing
from flask_paycheckout.store.due_reads import DueReads
from flask_paycheckout.store.events import HeldEvent
from flask_paycheckout.store.history import Entry, line
from flask_paycheckout.store.models import CheckoutMixin
from flask_paycheckout.store.moves import Move, Moved, Moves
from flask_paycheckout.store.payments import payment_columns, payment_method
from flask_paycheckout.store.shop_transaction import ShopTransaction
from flask_paycheckout.totals import Total

__all__ = ["Settled", "Settlement", "says_absent"]

_COMPLETED = "completed"
# The service's own words; a gateway's 404 about a missing route says something else.
_NOT_FOUND = "deposit not found"
# Characters of an error's text that are kept.
_MAX_PROBLEM = 500
# Two moves are the most that one read can cause; the rest is for losing races against other processes.
_MAX_ROUNDS = 8
# A database error inside `order_total` may be the database's or the shop's. When it comes again, it is the shop's.
_DATABASE_TRIES = 2

_log = logging.getLogger("flask_paycheckout")


def says_absent(error: NotFound) -> bool:
    """Whether the service itself says that there is no such deposit."""
    return (error.message or "").strip().rstrip(".").lower() == _NOT_FOUND


@dataclass(frozen=True)
class Settled:
    """What came of one read."""

    #: As it is stored now, before any receiver ran.
    checkout: CheckoutMixin
    #: The checkout changed its state.
    moved: bool = False
    #: The events that the moves stored, held by whoever called.
    events: tuple[HeldEvent, ...] = ()
    #: The next read is due at once.
    read_again: bool = False
    #: What the deposit says could not be applied; it is tried again.
    failed: bool = False


@dataclass(frozen=True)
class _Ruling:
    """The evidence that a read amounts to, with what was compared."""

    evidence: Evidence | None
    reason: Reason | None = None
    compared: tuple[Comparison, ...] = ()
    #: The shop's own words, where its `order_total` raised.
    error: str | None = None


class _OrderTotalFailed(Exception):
    """The shop's `order_total` raised. Ends the transaction that it was asked in, which may be of no use any more."""

    def __init__(self, error: BaseException) -> None:
        self.text = f"{type(error).__name__}: {error}"[:_MAX_PROBLEM]
        super().__init__(self.text)


class Settlement:
    """Applies what the service says to the checkouts of one app.

    :param ask_total: the shop's `order_total`, asked in the application context that is open.
    :param closed_statuses: deposit statuses that end a deposit without a payment, in lower case.
    """

    def __init__(
        self,
        checkouts: Checkouts,
        due_reads: DueReads,
        moves: Moves,
        outbox: Outbox,
        service: Service,
        clock: Clock,
        ask_total: Callable[[str], Total | None],
        schedule: Schedule,
        closed_statuses: frozenset[str],
    ) -> None:
        self._checkouts = checkouts
        self._due_reads = due_reads
        self._moves = moves
        self._outbox = outbox
        self._service = service
        self._clock = clock
        self._ask_total = ask_total
        self._schedule = schedule
        self._closed_statuses = closed_statuses

    def settle(self, checkout_id: str, via: FoundBy = FoundBy.SETTLE) -> CheckoutMixin:
        """Read the deposit now, apply what it says, and tell the receivers.

        Idempotent, and safe to call from anywhere at the same time. A paid, rejected or held checkout is not read.

        :raises UnknownCheckout: no such checkout is stored.
        :raises flask_paycheckout.client.PaymentsError: there was no usable answer; nothing moved.
        """
        attempt = self._require(checkout_id)
        if attempt.status not in OPEN:
            return attempt
        with self._service.turn(READ) as turn:
            return self.settle_attempt(attempt, via, turn)

    def settle_attempt(self, attempt: CheckoutMixin, via: FoundBy, turn: Turn) -> CheckoutMixin:
        """Settle an open checkout that was just loaded; otherwise as `settle`.

        :param turn: the permission to read.
        :raises flask_paycheckout.client.PaymentsError: there was no usable answer; nothing moved.
        """
        settled = self.apply(attempt, lambda: self.read(attempt.checkout_id, turn.read), via)
        if not settled.events:
            return settled.checkout
        self._outbox.deliver(settled.events)
        # Receivers may have written to the row.
        return self._require(attempt.checkout_id)

    def read(self, checkout_id: str, ask: Callable[[str], Deposit] | None = None) -> Deposit | None:
        """The deposit as the service tells it now; None when the service itself says that there is none.

        Touches no database, so that reads may run in threads of their own.

        :param ask: makes the call; by default as patiently as the client does.
        :raises flask_paycheckout.client.PaymentsError: there was no answer to rely on.
        """
        try:
            return (ask or self._service.read)(checkout_id)
        except NotFound as error:
            if not says_absent(error):
                raise
            return None

    def apply(self, attempt: CheckoutMixin, read: Callable[[], Deposit | None], via: FoundBy) -> Settled:
        """Apply what a read says to an open attempt; telling the receivers is left to the caller.

        :param read: gives what `read` gave, or raises what it raised.
        """
        try:
            deposit = read()
            self._require_own(attempt, deposit)
        except Exception as error:
            self._note_failure(attempt, Entry.NO_ANSWER, error, {})
            raise
        return self._weigh(attempt, deposit, via)

    def resolve(self, checkout_id: str, accept: bool, by: str, why: str) -> CheckoutMixin:
        """A person's decision on a held payment, recorded with who and why.

        :raises UnknownCheckout: no such checkout is stored.
        :raises TransitionRefused: the checkout is not held.
        :raises ReceiverFailed: an atomic receiver raised; nothing was recorded.
        :raises ValueError: `by` or `why` is empty or too long.
        """
        by, why = who_and_why(by, why)
        decision = Decision(accept, by, why)
        evidence = Evidence.ACCEPTED if accept else Evidence.REJECTED
        for _ in range(_MAX_ROUNDS):
            attempt = self._require(checkout_id)
            target = TRANSITIONS.get((Status(attempt.status), evidence))
            if target is None:
                raise TransitionRefused(checkout_id, attempt.status, evidence)
            now = self._clock()
            entry = line(now, Entry.RESOLVED, to=target, by=by, why=why, rule=evidence)
            move = Move(target, entry, attempt.reason, decision, {"next_read_at": None})
            moved = self._store_decision(attempt, move, now)
            if moved is not None:
                self._outbox.deliver(moved.events)
                return self._require(checkout_id)
        raise TransitionRefused(checkout_id, attempt.status, evidence)

    def _store_decision(self, attempt: CheckoutMixin, move: Move, now: datetime) -> Moved | None:
        def decide(transaction: ShopTransaction) -> Move:
            # Its answer does not matter any more, its lock does: the shop's order is locked before our checkouts, as
            # when a payment is settled. The other way round, the two would wait for each other.
            self._total_in(transaction, attempt)
            return move

        if move.to is Status.PAID:
            try:
                return self._moves.move_as_shop_says(attempt, now, decide)
            except _OrderTotalFailed:
                _log.warning("order_total failed for order %s, whose payment a person accepted", attempt.order_id)
        return self._moves.move(attempt, move, now)

    # The read

    def _require(self, checkout_id: str) -> CheckoutMixin:
        attempt = self._checkouts.find(checkout_id)
        if attempt is None:
            raise UnknownCheckout(checkout_id)
        return attempt

    @staticmethod
    def _require_own(attempt: CheckoutMixin, deposit: Deposit | None) -> None:
        if deposit is not None and deposit.deposit_id != attempt.checkout_id:
            # The path of the read takes references too: this deposit is somebody else's and says nothing here.
            raise TransportFailed("GET /v1/deposit/{id}", "the answer is about another deposit")

    def _note_failure(
        self, attempt: CheckoutMixin, what: Entry, error: Exception, seen: dict[str, Any]
    ) -> CheckoutMixin:
        """Write down that the deposit could not be read, or what it says not be applied, and when to try again.

        Returns the checkout as it is stored now, or as it was loaded where it moved meanwhile.

        :param seen: what a read wrote down before that.
        """
        now = self._clock()
        failures = attempt.failed_reads + 1
        problem = _problem(error)
        # One line for a run of failures: an outage of a day must not fill the story.
        entry = line(now, what, error=problem[:200]) if failures == 1 else None
        failed = {"failed_reads": failures, "problem": problem, "problem_since": attempt.problem_since or now}
        return self._due_reads.note(attempt, entry, after_failures(failures, now), **seen | failed) or attempt

    # The decision

    def _weigh(self, attempt: CheckoutMixin, deposit: Deposit | None, via: FoundBy) -> Settled:
        events: list[HeldEvent] = []
        moved = refused = False
        for _ in range(_MAX_ROUNDS):
            now = self._clock()
            ruling = self._rule(attempt, deposit, now)
            target = TRANSITIONS.get((Status(attempt.status), ruling.evidence)) if ruling.evidence else None
            seen = {} if moved else self._seen(attempt, deposit, now)
            if target is None:
                due = self._due_after(attempt, seen, now)
                noted = attempt if moved else self._note_read(attempt, deposit, via, now, seen, due)
                if noted is not None:
                    return Settled(noted, moved, tuple(events), due is not None and due <= now)
                stored = None
            else:
                try:
                    stored = self._move(attempt, target, ruling, refused, deposit, via, now, seen)
                except ReceiverFailed as error:
                    again = about(attempt.order_id, attempt.checkout_id, heals=attempt.failed_reads > 0)
                    ids = attempt.checkout_id, attempt.order_id
                    _log.exception("checkout %s of order %s could not be settled", *ids, extra=again)
                    noted = self._note_failure(attempt, Entry.NOT_APPLIED, error, seen)
                    return Settled(noted, moved, tuple(events), failed=True)
                except Exception as error:
                    self._note_if_possible(attempt, error, seen)
                    raise
                refused = stored is None
                if stored is not None:
                    events += stored.events
                    moved = True
            # Moved by us, or by another process: the read may say something new about the state it is in now.
            attempt = self._require(attempt.checkout_id) if stored is None else stored.checkout
            if attempt.status not in OPEN:
                break
        return Settled(attempt, moved, tuple(events))

    def _note_if_possible(self, attempt: CheckoutMixin, error: Exception, seen: dict[str, Any]) -> None:
        """Note a failure that may be the database's own, which then takes no note either."""
        try:
            self._note_failure(attempt, Entry.NOT_APPLIED, error, seen)
        except SQLAlchemyError as fault:
            _log.warning("checkout %s: its failure could not be noted: %s", attempt.checkout_id, first_line(fault))

    def _rule(self, attempt: CheckoutMixin, deposit: Deposit | None, now: datetime) -> _Ruling:
        """What this read of this attempt amounts to, before the shop is asked about a payment that agrees."""
        if deposit is None:
            return _Ruling(self._absent(attempt, now))
        if deposit.status == _COMPLETED:
            compared = compare(attempt.checkout_id, attempt.total, deposit)
            if all(comparison.agrees for comparison in compared):
                return _Ruling(Evidence.DEPOSIT_AGREES, None, compared)
            return _Ruling(Evidence.DEPOSIT_DISAGREES, Reason.AMOUNT_MISMATCH, compared)
        if deposit.status.lower() in self._closed_statuses:
            return _Ruling(Evidence.DEPOSIT_CLOSED)
        if attempt.status == Status.PENDING and self._stalled(
            attempt, deposit.status, self._method(attempt, deposit), now
        ):
            return _Ruling(Evidence.DEPOSIT_STALLED)
        if attempt.status == Status.ABANDONED and deposit.status == attempt.deposit_status:
            # Abandoned in just this condition; only something new brings it back.
            return _Ruling(None)
        return _Ruling(Evidence.DEPOSIT_OPEN)

    def _absent(self, attempt: CheckoutMixin, now: datetime) -> Evidence | None:
        if attempt.status == Status.PENDING and self._stalled(
            attempt, attempt.deposit_status, attempt.payment_method, now
        ):
            return Evidence.DEPOSIT_STALLED
        page_gone = now > attempt.created_at + PAGE_GONE
        return Evidence.NEVER_PICKED if page_gone and attempt.not_found_reads >= 1 else None

    def _stalled(self, attempt: CheckoutMixin, deposit_status: str | None, method: str | None, now: datetime) -> bool:
        waited = now - attempt.moved_at
        return deposit_status == attempt.deposit_status and waited >= self._schedule.patience(method)

    @staticmethod
    def _method(attempt: CheckoutMixin, deposit: Deposit | None) -> str | None:
        """How the customer pays, as this read says it, or an earlier one did."""
        return (payment_method(deposit) if deposit is not None else None) or attempt.payment_method

    def _ask_shop(
        self, attempt: CheckoutMixin, agrees: _Ruling, refused: bool, transaction: ShopTransaction
    ) -> _Ruling:
        """Whether the shop still wants a payment that agrees, asked in the transaction that moves the attempt.

        :param refused: the database refused to take this payment for the order's.
        """
        total = self._total_in(transaction, attempt)
        reason = order_disagreement(attempt.total, total)
        found = "not payable" if total is None else str(total)
        compared = (*agrees.compared, Comparison("order_total now", str(attempt.total), found, not reason))
        # The move itself refuses a second payment of an order; here it is asked for as the reason to hold this one.
        if (reason or refused) and self._checkouts.has_paid(attempt.order_id, transaction.connection):
            reason = Reason.DUPLICATE
        return _Ruling(Evidence.DEPOSIT_DISAGREES if reason else Evidence.DEPOSIT_AGREES, reason, compared)

    def _total_in(self, transaction: ShopTransaction, attempt: CheckoutMixin) -> Total | None:
        try:
            return transaction.call(self._ask_total, attempt.order_id)
        except (ConfigurationError, KeyboardInterrupt):
            raise
        except BaseException as error:
            if is_passing(error) or (isinstance(error, DBAPIError) and attempt.failed_reads < _DATABASE_TRIES):
                raise
            raise _OrderTotalFailed(error) from error

    def _without_shop(self, attempt: CheckoutMixin, agrees: _Ruling, failure: _OrderTotalFailed) -> _Ruling:
        """A payment that agrees with what was asked, of a shop that cannot say what its order costs by now."""
        reason = Reason.DUPLICATE if self._checkouts.has_paid(attempt.order_id) else Reason.ORDER_TOTAL_FAILED
        asked = Comparison("order_total now", str(attempt.total), f"raised {failure.text}", False)
        return _Ruling(Evidence.DEPOSIT_DISAGREES, reason, (*agrees.compared, asked), failure.text)

    # The statements

    def _seen(self, attempt: CheckoutMixin, deposit: Deposit | None, now: datetime) -> dict[str, Any]:
        """What every read writes down, whether it moves the attempt or not."""
        seen: dict[str, Any] = {"reads": attempt.reads + 1, "last_read_at": now, "failed_reads": 0}
        seen |= {"problem": None, "problem_since": None}
        if deposit is None:
            seen["not_found_reads"] = attempt.not_found_reads + 1
        else:
            seen["deposit_status"] = deposit.status[:64]
            if deposit.status == _COMPLETED:
                # With the move, and where the move fails too: that money is here must be seen either way.
                seen |= payment_columns(deposit, attempt.payment_completed_at or now)
            seen["payment_method"] = self._method(attempt, deposit)
        return seen

    def _due_after(self, attempt: CheckoutMixin, seen: dict[str, Any], now: datetime) -> datetime | None:
        """When to read an attempt next that stays what it is; news of its deposit begin its schedule anew."""
        news = seen.get("deposit_status", attempt.deposit_status) != attempt.deposit_status
        moved_at = now if news else attempt.moved_at
        method = seen.get("payment_method", attempt.payment_method)
        return self._schedule.next_read(attempt.status, attempt.created_at, moved_at, now, method)

    def _note_read(
        self,
        attempt: CheckoutMixin,
        deposit: Deposit | None,
        via: FoundBy,
        now: datetime,
        seen: dict[str, Any],
        due: datetime | None,
    ) -> CheckoutMixin | None:
        if deposit is not None and seen["deposit_status"] != attempt.deposit_status:
            seen["moved_at"] = now
        entry = line(now, Entry.READ, via=via, deposit=_shown(deposit))
        return self._due_reads.note(attempt, entry, next_read_at=due, **seen)

    def _move(
        self,
        attempt: CheckoutMixin,
        target: Status,
        ruling: _Ruling,
        refused: bool,
        deposit: Deposit | None,
        via: FoundBy,
        now: datetime,
        seen: dict[str, Any],
    ) -> Moved | None:
        def planned(final: _Ruling) -> Move:
            assert final.evidence is not None  # noqa: S101 - a ruling without evidence moves nothing
            to = TRANSITIONS[Status(attempt.status), final.evidence]
            return self._plan(attempt, to, final, deposit, via, now, seen)

        def decide(transaction: ShopTransaction) -> Move:
            return planned(self._ask_shop(attempt, ruling, refused, transaction))

        if ruling.evidence is not Evidence.DEPOSIT_AGREES:
            return self._moves.move(attempt, planned(ruling), now)
        try:
            return self._moves.move_as_shop_says(attempt, now, decide)
        except _OrderTotalFailed as failure:
            _log.exception("order_total failed for order %s, whose payment is held", attempt.order_id)
            held = self._without_shop(attempt, ruling, failure)
        return self._moves.move(attempt, planned(held), now)

    def _plan(
        self,
        attempt: CheckoutMixin,
        to: Status,
        ruling: _Ruling,
        deposit: Deposit | None,
        via: FoundBy,
        now: datetime,
        seen: dict[str, Any],
    ) -> Move:
        compared = [
            f"{fact.field}: asked {fact.asked}, found {fact.seen}{'' if fact.agrees else ' (differs)'}"
            for fact in ruling.compared
        ]
        entry = line(
            now,
            Entry.MOVED,
            to=to,
            via=via,
            deposit=_shown(deposit),
            rule=ruling.evidence,
            reason=ruling.reason,
            error=ruling.error,
            compared=compared,
        )
        due = self._schedule.next_read(to, attempt.created_at, now, now, self._method(attempt, deposit))
        values = {"next_read_at": due, **seen}
        if deposit is not None and to in (Status.PAID, Status.HELD):
            values["found_by"] = via.value
        reason = REASON_OF.get(ruling.evidence) if to is Status.ABANDONED and ruling.evidence else ruling.reason
        return Move(to, entry, reason, values=values)


def _problem(error: Exception) -> str:
    """Why something failed, for people; never with a row or a statement of the database."""
    if isinstance(error, ReceiverFailed):
        return error.problem[:_MAX_PROBLEM]
    if isinstance(error, SQLAlchemyError):
        return f"the database: {first_line(error)}"[:_MAX_PROBLEM]
    if isinstance(error, (PaymentsError, ConfigurationError)):
        return str(error)[:_MAX_PROBLEM]
    return f"{type(error).__name__} in the shop"


def _shown(deposit: Deposit | None) -> str:
    return "not found" if deposit is None else deposit.status[:64]
