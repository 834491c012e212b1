"""Settlement: reads a deposit, compares it, and moves the checkout together with its event in one transaction.

Only a fresh read of the service counts as evidence, whoever asked for it, and whatever a webhook contained.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.due_reads import DueReads
from flask_paycheckout.checkouts.moves import Move, Moved, Moves
from flask_paycheckout.checkouts.order_totals import OrderTotalFailed, OrderTotals
from flask_paycheckout.checkouts.payments import payment_columns, payment_method
from flask_paycheckout.checkouts.ruling import COMPLETED, Ruling, rule_on, status_of
from flask_paycheckout.checkouts.schedule import Schedule, after_failures
from flask_paycheckout.checkouts.states import OPEN, REASON_OF, TRANSITIONS, Evidence, FoundBy, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.client import Deposit, PaymentsError, TransportFailed
from flask_paycheckout.clock import Clock
from flask_paycheckout.database.database_errors import first_line
from flask_paycheckout.database.history import Entry, line
from flask_paycheckout.errors import ConfigurationError, ReceiverFailed
from flask_paycheckout.events.events import HeldEvent
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.events.shop_transaction import ShopTransaction
from flask_paycheckout.service.calls import READ, Permit, Service
from flask_paycheckout.service.deposits import ServiceCheckout
from flask_paycheckout.service.logs import FailureLog, about_checkout
from flask_paycheckout.service.observations import Observed, Observers


class WebhookHint(msgspec.Struct):
    """The webhook that caused a read of a deposit, if one did, until it is stored."""

    received_at: datetime | None = None
    """The time at which the webhook came; None when something else caused the read, or once it is stored."""

    @property
    def is_stored(self) -> bool:
        """Whether nothing is left to store."""
        return self.received_at is None

    def mark_stored(self) -> None:
        """Note that its columns and its entry are committed."""
        self.received_at = None

    @property
    def values(self) -> dict[str, Any]:
        """The columns that it sets in the row of its checkout, as `due_reads.planned_values` takes them."""
        if self.received_at is None:
            return {}
        return {"webhooks": 1, "webhook_read_at": self.received_at, "webhook_due_at": None}

    def before(self, entry: str) -> str:
        """An entry for the history, preceded by that of the webhook."""
        return entry if self.received_at is None else line(self.received_at, Entry.WEBHOOK) + entry


# The most characters of an error's text that are stored.
_MAX_PROBLEM = 500
# One read causes two moves at most; the other rounds are for races lost against other processes.
_MAX_ROUNDS = 8


class Settled(msgspec.Struct, frozen=True):
    """The result of applying one read."""

    checkout: CheckoutMixin
    """The checkout as stored now, before its receivers ran."""

    moved: bool = False
    """Whether the checkout's state changed."""

    events: tuple[HeldEvent, ...] = ()
    """The events that were stored, leased to the caller."""

    failed: bool = False
    """Whether the result could not be applied, and is tried again later."""


class Settlement:
    """Applies reads of deposits to the checkouts of one app.

    :param totals: asks the shop what an order costs now.
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
        totals: OrderTotals,
        schedule: Schedule,
        closed_statuses: frozenset[str],
        log: FailureLog,
        observers: Observers,
    ) -> None:
        self._checkouts = checkouts
        self._due_reads = due_reads
        self._moves = moves
        self._outbox = outbox
        self._service = service
        self._clock = clock
        self._totals = totals
        self._schedule = schedule
        self._closed_statuses = closed_statuses
        self._log = log
        self._observers = observers

    def settle(self, checkout_id: str, via: FoundBy = FoundBy.SETTLE) -> CheckoutMixin:
        """Read the deposit now, apply the result, and deliver the events.

        Idempotent, and safe to call concurrently. The deposit of a paid, rejected or held checkout is not read.

        :raises UnknownCheckout: no such checkout is stored.
        :raises flask_paycheckout.client.PaymentsError: there was no usable answer; nothing changed.
        """
        attempt = self._checkouts.require(checkout_id)
        if attempt.status not in OPEN:
            return attempt
        with self._service.permit(READ, attempt.account) as permit:
            settled = self.settle_attempt(attempt, via, permit)
        # A receiver may have changed the row.
        return self._checkouts.require(checkout_id) if settled.events else settled.checkout

    def settle_attempt(
        self, attempt: CheckoutMixin, via: FoundBy, permit: Permit, hint: WebhookHint | None = None
    ) -> Settled:
        """Settle an open checkout that was just loaded, and deliver the events.

        :param permit: the permission to read.
        :param hint: the webhook that caused the read, to be stored with its result, also when that is an error.
        :returns: what was stored; the receivers have run since then.
        :raises flask_paycheckout.client.PaymentsError: there was no usable answer; nothing changed.
        """
        settled = self.apply(attempt, lambda: permit.read(attempt), via, hint)
        if settled.events:
            self._outbox.deliver(settled.events)
        return settled

    def reading(self, checkout: ServiceCheckout) -> Callable[[], Deposit | None]:
        """A function that reads a deposit with the keys of its account; it may run in a thread of its own.

        It uses neither the database nor the shop's code, which is asked for the keys here.
        """
        try:
            return self._service.reading(checkout)
        except Exception as error:
            # Whatever it is: the reads of other accounts go on.
            return partial(_raise, error)

    def apply(
        self,
        attempt: CheckoutMixin,
        read: Callable[[], Deposit | None],
        via: FoundBy,
        hint: WebhookHint | None = None,
    ) -> Settled:
        """Apply a read to an open checkout; the caller delivers the events.

        :param read: returns the deposit, or None when it does not exist; see `read_deposit`.
        :param hint: the webhook that caused the read, to be stored with its result, also when that is an error.
        """
        outcome = "failed"
        try:
            settled = self._apply(attempt, read, via, hint or WebhookHint())
            outcome = "moved" if settled.moved else "failed" if settled.failed else "unchanged"
            return settled
        except PaymentsError:
            outcome = "no_answer"
            raise
        finally:
            self._observers.record(Observed.READ, via.name.lower(), outcome, account=attempt.account)

    def _apply(
        self, attempt: CheckoutMixin, read: Callable[[], Deposit | None], via: FoundBy, hint: WebhookHint
    ) -> Settled:
        try:
            deposit = read()
            self._require_own(attempt, deposit)
        except Exception as error:
            self._note_failure(attempt, Entry.NO_ANSWER, error, hint.values, hint)
            raise
        return self._weigh(attempt, deposit, via, hint)

    # The read

    @staticmethod
    def _require_own(attempt: CheckoutMixin, deposit: Deposit | None) -> None:
        if deposit is not None and deposit.deposit_id != attempt.checkout_id:
            # The service also looks deposits up by reference, so this one may belong to another checkout.
            raise TransportFailed("GET /v1/deposit/{id}", "the answer is about another deposit")

    def _note_failure(
        self, attempt: CheckoutMixin, what: Entry, error: Exception, seen: dict[str, Any], hint: WebhookHint
    ) -> CheckoutMixin:
        """Store a failure to read the deposit, or to apply the result, and the time of the next try.

        Returns the checkout as stored now, or as it was loaded when it has moved meanwhile.

        :param seen: the columns that a read has set before the failure, and its webhook.
        """
        now = self._clock()
        failures = attempt.failed_reads + 1
        problem = _problem(error)
        # Only the first of several failures in a row, so that a long outage does not fill the history.
        entry = hint.before(line(now, what, error=problem[:200]) if failures == 1 else "") or None
        failed = {"failed_reads": failures, "problem": problem, "problem_since": attempt.problem_since or now}
        noted = self._due_reads.note(attempt, entry, after_failures(failures, now), **seen | failed)
        if noted is not None:
            hint.mark_stored()
        return noted or attempt

    # The decision

    def _weigh(self, attempt: CheckoutMixin, deposit: Deposit | None, via: FoundBy, hint: WebhookHint) -> Settled:
        events: list[HeldEvent] = []
        moved = refused = False
        for _ in range(_MAX_ROUNDS):
            now = self._clock()
            method = self._method(attempt, deposit)
            ruling = rule_on(attempt, deposit, method, now, self._schedule, self._closed_statuses)
            target = TRANSITIONS.get((Status(attempt.status), ruling.evidence)) if ruling.evidence else None
            seen = {} if moved else self._seen(attempt, deposit, ruling.problem, now) | hint.values
            if target is None:
                due = self._due_after(attempt, seen, now)
                if due is None:
                    # Nobody looks again, so that the problem would stand for ever.
                    seen |= {"problem": None, "problem_since": None}
                noted = attempt if moved else self._note_read(attempt, deposit, via, now, seen, due, hint)
                if noted is not None:
                    hint.mark_stored()
                    return Settled(noted, moved, tuple(events))
                stored = None
            else:
                try:
                    stored = self._move(attempt, target, ruling, refused, deposit, via, now, seen, hint)
                except ReceiverFailed as error:
                    fields = about_checkout(attempt, heals=attempt.failed_reads > 0)
                    ids = attempt.checkout_id, attempt.order_id
                    text = "checkout %s of order %s could not be settled"
                    self._log.exception("settling payments", text, *ids, extra=fields)
                    noted = self._note_failure(attempt, Entry.NOT_APPLIED, error, seen, hint)
                    return Settled(noted, moved, tuple(events), failed=True)
                except Exception as error:
                    self._note_if_possible(attempt, error, seen, hint)
                    raise
                refused = stored is None
                if stored is not None:
                    hint.mark_stored()
                    events += stored.events
                    moved = True
            # After a move, by us or by another process, the same read may cause another move from the new state.
            attempt = self._checkouts.require(attempt.checkout_id) if stored is None else stored.checkout
            if attempt.status not in OPEN:
                break
        return Settled(attempt, moved, tuple(events))

    def _note_if_possible(
        self, attempt: CheckoutMixin, error: Exception, seen: dict[str, Any], hint: WebhookHint
    ) -> None:
        """Store a failure that may be one of the database, which then cannot store it."""
        try:
            self._note_failure(attempt, Entry.NOT_APPLIED, error, seen, hint)
        except SQLAlchemyError as fault:
            ids, text = (attempt.checkout_id, first_line(fault)), "checkout %s: its failure could not be stored: %s"
            self._log.warning("failures to store", text, *ids, extra=about_checkout(attempt), error=fault)

    @staticmethod
    def _method(attempt: CheckoutMixin, deposit: Deposit | None) -> str | None:
        """The payment method in this read, or else in an earlier one."""
        return (payment_method(deposit) if deposit is not None else None) or attempt.payment_method

    # The statements

    def _seen(
        self, attempt: CheckoutMixin, deposit: Deposit | None, problem: str | None, now: datetime
    ) -> dict[str, Any]:
        """The columns that every read sets, whether it moves the checkout or not."""
        seen: dict[str, Any] = {"reads": attempt.reads + 1, "last_read_at": now, "failed_reads": 0}
        seen |= {"problem": problem, "problem_since": problem and (attempt.problem_since or now)}
        if attempt.payment_completed_at is not None and (deposit is None or status_of(deposit) != COMPLETED):
            # The service took its word back, and so do the books; the amounts stay, to be reported.
            seen["payment_completed_at"] = None
        if deposit is None:
            seen["not_found_since"] = attempt.not_found_since or now
        else:
            seen["deposit_status"] = status_of(deposit)[:64]
            if status_of(deposit) == COMPLETED:
                # Also when the move fails, as it must always be visible that the money has arrived.
                seen |= payment_columns(deposit, attempt.payment_completed_at or now)
            seen["payment_method"] = self._method(attempt, deposit)
        return seen

    def _due_after(self, attempt: CheckoutMixin, seen: dict[str, Any], now: datetime) -> datetime | None:
        """The time of the next read of a checkout that does not move; a new deposit status restarts its schedule."""
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
        hint: WebhookHint,
    ) -> CheckoutMixin | None:
        if deposit is not None and seen["deposit_status"] != attempt.deposit_status:
            seen["moved_at"] = now
        entry = hint.before(line(now, Entry.READ, via=via, deposit=_shown(deposit)))
        return self._due_reads.note(attempt, entry, next_read_at=due, **seen)

    def _move(
        self,
        attempt: CheckoutMixin,
        target: Status,
        ruling: Ruling,
        refused: bool,
        deposit: Deposit | None,
        via: FoundBy,
        now: datetime,
        seen: dict[str, Any],
        hint: WebhookHint,
    ) -> Moved | None:
        def planned(final: Ruling) -> Move:
            assert final.evidence is not None  # noqa: S101 - a ruling without evidence moves nothing
            to = TRANSITIONS[Status(attempt.status), final.evidence]
            return self._plan(attempt, to, final, deposit, via, now, seen, hint)

        def decide(transaction: ShopTransaction) -> Move:
            return planned(self._totals.rule(transaction, attempt, ruling, refused))

        if ruling.evidence is not Evidence.DEPOSIT_AGREES:
            return self._moves.move(attempt, planned(ruling), now)
        try:
            return self._moves.move_as_shop_says(attempt, now, decide)
        except OrderTotalFailed as failure:
            text = "order_total failed for order %s, whose payment is held"
            self._log.exception("order_total", text, attempt.order_id, extra=about_checkout(attempt))
            held = self._totals.rule_without(attempt, ruling, failure)
        return self._moves.move(attempt, planned(held), now)

    def _plan(
        self,
        attempt: CheckoutMixin,
        to: Status,
        ruling: Ruling,
        deposit: Deposit | None,
        via: FoundBy,
        now: datetime,
        seen: dict[str, Any],
        hint: WebhookHint,
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
        return Move(to, hint.before(entry), reason, values=values)


def _raise(error: Exception) -> None:
    raise error


def _problem(error: Exception) -> str:
    """The text of an error for people, without rows or statements of the database."""
    if isinstance(error, ReceiverFailed):
        return error.problem[:_MAX_PROBLEM]
    if isinstance(error, SQLAlchemyError):
        return f"the database: {first_line(error)}"[:_MAX_PROBLEM]
    if isinstance(error, (PaymentsError, ConfigurationError)):
        return str(error)[:_MAX_PROBLEM]
    return f"{type(error).__name__} in the shop"


def _shown(deposit: Deposit | None) -> str:
    return "not found" if deposit is None else deposit.status[:64]
