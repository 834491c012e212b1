"""Webhooks: each is only a hint that a deposit should be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from sqlalchemy.exc import SQLAlchemyError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin, about_checkout
from flask_paycheckout.checkouts.ruling import ReadCause
from flask_paycheckout.checkouts.settlement import Settlement
from flask_paycheckout.checkouts.states import FoundBy
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.service.accounts import AccountUnavailable
from flask_paycheckout.service.calls import READ, NotAsked, Permit, Service
from flask_paycheckout.service.limits import Cooldown, SingleFlight
from flask_paycheckout.wiring import Wiring

_WEBHOOKS = "reads for webhooks"
_LATER = "webhook for checkout %s: not read now, reconcile will"


@dataclass(frozen=True, eq=False)
class Webhooks:
    """Receives the webhooks of one app.

    :param defer: called with the checkout id to read it elsewhere; None to read at once.
    """

    wiring: Wiring
    checkouts: Checkouts
    settlement: Settlement
    service: Service
    defer: Callable[[str], None] | None
    _reading: SingleFlight = field(default_factory=SingleFlight, init=False)

    @cached_property
    def _read_lately(self) -> Cooldown:
        return Cooldown(self.wiring.settings.webhook_cooldown)

    def receive(self, checkout_id: str) -> str:
        """Read the deposit if that is allowed now, and store the hint.

        Returns once the hint is stored, or is provably useless: an unknown id, which costs one query of our own table.
        While an earlier webhook's read is under way, or the service may not be called, the read is left to reconcile.

        The hint is stored with the result of its read, in the same statement, so a process that dies between has
        not answered the webhook. Its sender may send it again, and reconcile reads the deposit anyway. Until the
        result is stored, other processes do not know of the read; so each process makes at most one read of a deposit
        in a cool-down.

        :returns: the outcome: `useless`, `queued`, `read`, or `later` for a read that is left to reconcile.
        :raises sqlalchemy.exc.SQLAlchemyError: the hint could not be stored; the sender should try again.
        """
        checkout = self.checkouts.find(checkout_id)
        if checkout is None:
            return "useless"
        if self.defer is not None:
            reading = self._note(checkout)
            return "queued" if reading is not None and self._queue(self.defer, reading) else "later"
        with self._reading.join(checkout_id) as (_, free):
            try:
                if free:
                    with self.service.permit(READ, checkout.account) as permit:
                        return "read" if self._read(checkout, permit) else "later"
            except NotAsked:
                # The service's limits log this themselves; the hint is stored below.
                pass
            except AccountUnavailable as error:
                fields = about_checkout(checkout)
                self.wiring.log.warning(_WEBHOOKS, f"{_LATER}: %s", checkout_id, error, extra=fields)
        # The read under way may have come before the change that this webhook announces.
        self._note(checkout)
        return "later"

    def _read(self, checkout: CheckoutMixin, permit: Permit) -> bool:
        """Read the deposit and store the hint with the result, unless no read may change it or none may be made now.

        A move since the checkout was loaded is found by the statement that stores the result.
        """
        now = self.wiring.clock()
        if not self._may_read(checkout, now):
            self._note(checkout)
            return False
        cause = ReadCause(FoundBy.WEBHOOK, now, webhook_at=now)
        failed = False
        try:
            self.settlement.settle_loaded(checkout, permit, cause)
        except Exception as error:
            if isinstance(error, SQLAlchemyError) and cause.webhook_at is not None:
                # Trying again at once would only wait for the same lock, while the sender waits too.
                raise
            # Once the hint is stored, reconcile makes the read after any error here.
            self._left(checkout)
            failed = True
        if cause.webhook_at is not None:
            self._note(checkout)
        return not failed

    def _may_read(self, checkout: CheckoutMixin, now: datetime) -> bool:
        """Whether no webhook caused a read within the cool-down; a read of another process counts once it is stored."""
        stored = checkout.webhook_read_at
        lately = self._read_lately
        return (stored is None or stored <= now - lately.length) and lately.begin(checkout.checkout_id, now)

    def _queue(self, defer: Callable[[str], None], reading: CheckoutMixin) -> bool:
        """Queue the read; when the broker is unavailable, with whatever error, reconcile makes it."""
        try:
            defer(reading.checkout_id)
        except Exception:
            self._left(reading, heals=True)
            return False
        return True

    def _left(self, reading: CheckoutMixin, *, heals: bool = False) -> None:
        """Log the error that leaves a read to reconcile."""
        fields = about_checkout(reading, heals=heals)
        self.wiring.log.exception(_WEBHOOKS, _LATER, reading.checkout_id, extra=fields)

    def _note(self, checkout: CheckoutMixin) -> CheckoutMixin | None:
        now, lately = self.wiring.clock(), self._read_lately
        return self.checkouts.note_webhook(checkout, now, lately.length, read_at=lately.begun_at(checkout.checkout_id))
