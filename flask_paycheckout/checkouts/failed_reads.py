"""Reads of deposits that failed, or whose result could not be applied: noted on the checkout, and planned again."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin, about_checkout, problem_columns
from flask_paycheckout.checkouts.payments import NotMadeByThisClient
from flask_paycheckout.checkouts.ruling import ReadCause
from flask_paycheckout.checkouts.schedule import Schedule, after_failures
from flask_paycheckout.checkouts.states import OPEN, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.database.state_table import Entry, line
from flask_paycheckout.errors import ConfigurationError, ReceiverFailed
from flask_paycheckout.service.accounts import AccountGone
from flask_paycheckout.text import first_line
from flask_paycheckout.wiring import Wiring

NO_PROBLEM = {"problem": None, "problem_since": None}
"""The columns that clear a problem that no later read would clear."""

# The maximum length of a stored error text.
_MAX_PROBLEM = 500

Values = dict[str, Any]


@dataclass(frozen=True, eq=False)
class FailedReads:
    """Notes the failed reads of one app's checkouts."""

    wiring: Wiring
    checkouts: Checkouts
    schedule: Schedule

    def note(
        self, checkout: CheckoutMixin, what: Entry, error: BaseException, columns: Values, cause: ReadCause
    ) -> CheckoutMixin:
        """Store a failure to read the deposit, or to apply the result, and the time of the next try.

        :param columns: the columns of the read before the failure, and of its webhook.
        :returns: the checkout as stored now, or as it was loaded when it has moved meanwhile.
        """
        if isinstance(error, ReceiverFailed):
            self.log_unsettled(checkout)
        now, problem = self.wiring.clock(), _problem(error)[:_MAX_PROBLEM]
        failed = problem_columns(checkout, problem, now, checkout.failed_reads + 1)
        if checkout.status in OPEN:
            values = columns | failed | self._plan(checkout, error, columns, cause, now)
        else:
            values = columns | self._plan_of_arrived(checkout, error, failed, now)
        # Record only the first of several consecutive failures, so that a long outage does not fill the history.
        entry = cause.entry + (line(now, what, error=problem[:200]) if values["failed_reads"] == 1 else "")
        stored = self.checkouts.note(checkout, entry or None, **values)
        if stored is not None:
            cause.webhook_at = None
        return stored or checkout

    def _plan(
        self, checkout: CheckoutMixin, error: BaseException, columns: Values, cause: ReadCause, now: datetime
    ) -> Values:
        """Plan the next read of an open checkout: until PAYCHECKOUT_WATCH_FOR is over, or longer if money was seen."""
        status = checkout.status
        unheard = status == Status.CREATED and not (checkout.webhooks or cause.webhook_at)
        if unheard and isinstance(error, (NotMadeByThisClient, AccountGone)):
            # The present keys may never find the deposit, or the shop has none any more, so the checkout is watched
            # like an abandoned one.
            status = Status.ABANDONED
        watched = self.schedule.next_read(status, checkout.created_at, checkout.moved_at, now)
        has_money = checkout.payment_paid_amount is not None or "payment_paid_amount" in columns
        if watched is None and not has_money:
            return NO_PROBLEM | {"next_read_at": None}
        return {"next_read_at": after_failures(checkout.failed_reads + 1, now)}

    def _plan_of_arrived(self, checkout: CheckoutMixin, error: BaseException, failed: Values, now: datetime) -> Values:
        """Plan the next read of a payment that had arrived, until the service answers."""
        is_here, due = checkout.taken_back is None, None
        values: Values = {"failed_reads": 0}
        # Other keys may never find the deposit.
        if not isinstance(error, NotMadeByThisClient):
            due = after_failures(failed["failed_reads"], now)
            values = failed if is_here else {"failed_reads": failed["failed_reads"]}
        look = self.schedule.next_read(checkout.status, checkout.created_at, checkout.moved_at, now)
        return values | {"webhook_due_at": due, "next_read_at": due or (look if is_here else None)}

    def log_unsettled(self, checkout: CheckoutMixin) -> None:
        """Log the error that kept a read from being applied; its traceback the first time only.

        The checkout's `problem` has the error.
        """
        self.wiring.log.exception(
            "settling payments",
            "checkout %s of order %s could not be settled",
            checkout.checkout_id,
            checkout.order_id,
            extra=about_checkout(checkout, heals=checkout.failed_reads > 0),
        )


def _problem(error: BaseException) -> str:
    """The text of an error for people, without rows or statements of the database."""
    if isinstance(error, ReceiverFailed):
        return error.problem
    if isinstance(error, SQLAlchemyError):
        return f"the database: {first_line(error)}"
    if isinstance(error, (PaymentsError, ConfigurationError)):
        return str(error)
    return f"{type(error).__name__} in the shop"
