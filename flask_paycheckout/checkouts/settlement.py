"""Settlement: reads a deposit, compares it, and moves the checkout together with its event in one transaction.

Only a fresh read of the service counts as evidence, whoever asked for it, and whatever a webhook contained.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import msgspec
from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.checkout_model import ANOTHER_AMOUNT, CheckoutMixin
from flask_paycheckout.checkouts.failed_reads import NO_PROBLEM, FailedReads
from flask_paycheckout.checkouts.moves import (
    Move,
    Moved,
    Moves,
    abandon,
    await_money,
    confirm,
    hold,
    restore,
    reverse,
    take_part,
)
from flask_paycheckout.checkouts.part_payments import PartPayments
from flask_paycheckout.checkouts.payments import read_deposit
from flask_paycheckout.checkouts.ruling import COMPLETED, OrderPayments, ReadCause, Reading, Ruling, rule_on
from flask_paycheckout.checkouts.schedule import BETWEEN_MISSES, SELDOM, Schedule
from flask_paycheckout.checkouts.shop_answers import OrderTotalFailed, OrderTotals
from flask_paycheckout.checkouts.states import OPEN, REASON_OF, TRANSITIONS, Evidence, FoundBy, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.client import Deposit, PaymentsError, TransportFailed
from flask_paycheckout.database.state_table import Entry
from flask_paycheckout.database.transactions import ShopTransaction
from flask_paycheckout.errors import ReceiverFailed
from flask_paycheckout.events.events import HeldEvent
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.service.calls import READ, Permit, Service
from flask_paycheckout.service.record import READS
from flask_paycheckout.wiring import Observed, Wiring

# One read causes two moves at most; the other rounds are for races lost against other processes.
_MAX_ROUNDS = 8


class Settled(msgspec.Struct, frozen=True):
    """The result of applying one read."""

    checkout: CheckoutMixin
    """The checkout as stored now, before its receivers ran."""

    moved: bool
    """Whether the checkout's state changed."""

    events: tuple[HeldEvent, ...]
    """The events that were stored, leased to the caller."""

    failed: bool = False
    """Whether the result could not be applied, and is tried again later."""


@dataclass(frozen=True, eq=False)
class Settlement:
    """Applies reads of deposits to the checkouts of one app."""

    wiring: Wiring
    checkouts: Checkouts
    moves: Moves
    outbox: Outbox
    service: Service
    totals: OrderTotals
    part_payments: PartPayments
    schedule: Schedule
    failed: FailedReads

    def settle(self, checkout_id: str, via: FoundBy = FoundBy.SETTLE, *, again: bool = False) -> CheckoutMixin:
        """Read the deposit now, apply the result, and deliver the events.

        Idempotent, and safe to call concurrently. A deposit whose money has arrived is read only after a webhook. For a
        part, the shop is asked for the order's present total, which the parts may reach without another payment.

        :param again: read it in any case.

        :raises UnknownCheckout: no such checkout is stored.
        :raises flask_paycheckout.client.PaymentsError: there was no usable answer; nothing changed.
        """
        checkout = self.checkouts.require(checkout_id)
        if checkout.status == Status.PART and self.part_payments.try_to_complete(checkout.order_id):
            return self.checkouts.require(checkout_id)
        if checkout.status not in OPEN and checkout.webhook_due_at is None and not again:
            return checkout
        with self.service.permit(READ, checkout.account) as permit:
            settled = self.settle_loaded(checkout, permit, ReadCause(via, self.wiring.clock()))
        # A receiver may have changed the row.
        return self.checkouts.require(checkout_id) if settled.events else settled.checkout

    def settle_loaded(self, checkout: CheckoutMixin, permit: Permit, cause: ReadCause) -> Settled:
        """Settle an open checkout that was just loaded, and deliver the events.

        :param permit: the permission to read.
        :param cause: its webhook is stored with the result, also when that is an error.
        :returns: the stored result; the receivers have run since then.
        :raises flask_paycheckout.client.PaymentsError: there was no usable answer; nothing changed.
        """
        read = partial(read_deposit, checkout.checkout_id, checkout.client_id)
        settled = self.apply(checkout, partial(permit.ask, read), cause)
        self.outbox.deliver(settled.events)
        return settled

    def reading(self, checkout: CheckoutMixin) -> Callable[[], Deposit | None]:
        """A function that reads a deposit with the keys of its account; it may run in a thread of its own.

        The function uses neither the database nor the shop's code, because the keys are fetched here.
        """
        try:
            accounts = self.service.accounts
            client = accounts.client_of(checkout.account, READ)
            read = partial(read_deposit, checkout.checkout_id, checkout.client_id)
            return accounts.renewing(checkout.account, client, read)
        except Exception as error:
            # Any error ends this read only, so that the reads of other accounts go on.
            return partial(_raise, error)

    def apply(self, checkout: CheckoutMixin, read: Callable[[], Deposit | None], cause: ReadCause) -> Settled:
        """Apply a read to an open checkout; the caller delivers the events.

        :param read: returns the deposit, or None when it does not exist; see `reading`.
        :param cause: its webhook is stored with the result, also when that is an error.
        """
        outcome = "failed"
        try:
            apply = self._decide if checkout.status in OPEN else self._look_back
            settled = apply(checkout, self._read(checkout, read, cause), cause)
            outcome = "moved" if settled.moved else "failed" if settled.failed else "unchanged"
            return settled
        except PaymentsError:
            outcome = "no_answer"
            raise
        finally:
            self.wiring.observers.record(Observed.READ, cause.via.name.lower(), outcome, account=checkout.account)

    # The read

    def _read(self, checkout: CheckoutMixin, read: Callable[[], Deposit | None], cause: ReadCause) -> Deposit | None:
        try:
            with self.service.record.call(READS, checkout.account):
                deposit = read()
            if deposit is not None and deposit.deposit_id != checkout.checkout_id:
                # The service also looks deposits up by reference, so this one may belong to another checkout.
                raise TransportFailed("GET /v1/deposit/{id}", "the answer is about another deposit")
        except Exception as error:
            self.failed.note(checkout, Entry.NO_ANSWER, error, cause.columns, cause)
            raise
        return deposit

    # The decision

    def _decide(self, checkout: CheckoutMixin, deposit: Deposit | None, cause: ReadCause) -> Settled:
        events: list[HeldEvent] = []
        moved = False
        for _ in range(_MAX_ROUNDS):
            closed = self.wiring.settings.closed_deposit_statuses
            reading = Reading(checkout, deposit, cause, self.wiring.clock(), self.schedule, closed)
            if not moved:
                reading.columns = reading.columns_of_read()
            try:
                ruling = rule_on(reading)
                moves = (checkout.status, ruling.evidence) in TRANSITIONS
                stored = self._move(reading, ruling) if moves else None
            except ReceiverFailed as error:
                noted = self.failed.note(checkout, Entry.NOT_APPLIED, error, reading.columns, cause)
                return Settled(noted, moved, tuple(events), failed=True)
            except BaseException as error:
                # An error of the database may keep this from being stored, too.
                with suppress(SQLAlchemyError):
                    self.failed.note(checkout, Entry.NOT_APPLIED, error, reading.columns, cause)
                raise
            if stored is not None:
                cause.webhook_at = None
                events += stored.events
                moved = True
            elif not moves:
                unchanged = checkout if moved else self._note_read(reading)
                if unchanged is not None:
                    cause.webhook_at = None
                    return Settled(unchanged, moved, tuple(events))
            # After a move, by us or by another process, the same read may cause another move from the new state. But
            # the answer to a read that another process has stored meanwhile may be newer than this one.
            reads = checkout.reads
            checkout = self.checkouts.require(checkout.checkout_id) if stored is None else stored.checkout
            is_old = stored is None and checkout.reads != reads and reading.status != COMPLETED
            if checkout.status not in OPEN or is_old:
                break
        return Settled(checkout, moved, tuple(events))

    def _look_back(self, checkout: CheckoutMixin, deposit: Deposit | None, cause: ReadCause) -> Settled:
        """Apply a read of a deposit whose money has arrived: it stays, was taken back or changed, or came after all."""
        for _ in range(_MAX_ROUNDS):
            closed = self.wiring.settings.closed_deposit_statuses
            counts = checkout.paid_order_id is not None or checkout.status == Status.PART
            reading = Reading(checkout, deposit, cause, self.wiring.clock(), self.schedule, closed, counts)
            columns = reading.columns_of_read() | {"webhook_due_at": None}
            is_here = columns.get("payment_completed_at", checkout.payment_completed_at) is not None
            columns["next_read_at"] = self._next_look(checkout, reading.now) if is_here else None
            evidence = reading.look_back
            if evidence is Evidence.DEPOSIT_CHANGED:
                # If this process dies before it stores the new amount, the deposit is read again.
                columns["webhook_due_at"] = columns["next_read_at"] = reading.now
            if evidence is None:
                if reading.comes_otherwise:
                    columns["payback"] = ANOTHER_AMOUNT
                if reading.is_in_doubt:
                    columns["webhook_due_at"] = columns["next_read_at"] = reading.now + BETWEEN_MISSES
                noted = self.checkouts.note(checkout, reading.entry(Entry.READ), **columns)
                stored = None if noted is None else Moved(noted, ())
            else:
                try:
                    entry = reading.entry(Entry.MOVED, to=checkout.status, rule=evidence)
                    if evidence is Evidence.DEPOSIT_RESTORED:
                        move = restore(checkout, entry, columns, otherwise=reading.comes_otherwise)
                    else:
                        move = reverse(checkout, entry, columns, announced=evidence is Evidence.DEPOSIT_REVERSED)
                    stored = self.moves.move(checkout, move, reading.now)
                except ReceiverFailed as error:
                    noted = self.failed.note(checkout, Entry.NOT_APPLIED, error, cause.columns, cause)
                    return Settled(noted, False, (), failed=True)
            if stored is not None:
                cause.webhook_at = None
                if evidence is not Evidence.DEPOSIT_CHANGED:
                    return Settled(stored.checkout, evidence is not None, stored.events)
            # After a change, the new amount arrives with the same read.
            checkout = self.checkouts.require(checkout.checkout_id)
        return Settled(checkout, False, ())

    def _next_look(self, checkout: CheckoutMixin, now: datetime) -> datetime | None:
        """The time to ask the shop again for the total of a part's order; None for a payment that is no part."""
        return self.schedule.next_read(checkout.status, checkout.created_at, checkout.moved_at, now)

    # The statements

    def _note_read(self, reading: Reading) -> CheckoutMixin | None:
        """Store a read that moves nothing, and plan the next one; a new deposit status restarts the schedule."""
        checkout, columns, now = reading.checkout, reading.columns, reading.now
        if columns.get("deposit_status", checkout.deposit_status) != checkout.deposit_status:
            columns["moved_at"] = now
        moved_at = columns.get("moved_at", checkout.moved_at)
        due = self.schedule.next_read(checkout.status, checkout.created_at, moved_at, now, reading.method)
        if due is None and checkout.payment_paid_amount is not None and reading.status not in reading.closed_statuses:
            # Money was seen: the deposit is read until the money can be applied, or the service says that it failed.
            due = now + SELDOM
        elif due is None:
            columns |= NO_PROBLEM
        return self.checkouts.note(checkout, reading.entry(Entry.READ), next_read_at=due, **columns)

    def _move(self, reading: Reading, ruling: Ruling) -> Moved | None:
        checkout, now = reading.checkout, reading.now

        def decide(transaction: ShopTransaction, payments: Callable[[], OrderPayments]) -> Move:
            return self._plan(reading, self.totals.rule(transaction, checkout, ruling, reading.paid, payments))

        final = ruling
        if self.totals.asks_about(checkout, ruling):
            try:
                return self.moves.move(checkout, decide, now)
            except OrderTotalFailed as failure:
                final = self.totals.rule_without(checkout, ruling, failure)
        return self.moves.move(checkout, self._plan(reading, final), now)

    def _plan(self, reading: Reading, ruling: Ruling) -> Move:
        checkout, now = reading.checkout, reading.now
        to = TRANSITIONS[checkout.status, ruling.evidence]
        compared = [
            f"{fact.field}: asked {fact.asked}, found {fact.seen}{'' if fact.agrees else ' (differs)'}"
            for fact in ruling.compared
        ]
        due = self.schedule.next_read(to, checkout.created_at, now, now, reading.method)
        values = {"next_read_at": due, **reading.columns}
        if reading.deposit is not None and to in (Status.PART, Status.PAID, Status.HELD):
            values["found_by"] = reading.cause.via.value
        entry = reading.entry(
            Entry.MOVED, to=to, rule=ruling.evidence, reason=ruling.reason, error=ruling.error, compared=compared
        )
        if to is Status.PENDING:
            return await_money(entry, values)
        if to is Status.ABANDONED:
            return abandon(entry, values, REASON_OF[ruling.evidence])
        if to is Status.HELD:
            return hold(entry, values, ruling.reason)
        if to is Status.PART:
            return take_part(entry, values, ruling.balance)
        return confirm(entry, values, ruling.balance)


def _raise(error: Exception) -> None:
    raise error
