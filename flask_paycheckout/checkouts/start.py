"""Start of a checkout: it is created at the service, stored, and only then given to the customer.

The service has no idempotency key, no list and no cancellation of checkouts. A create whose answer was lost can be
repeated, because nobody has its URL. A checkout that was replaced is still watched, because its page can still be paid.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import get_ident
from typing import NamedTuple

from sqlalchemy.exc import OperationalError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.moves import Asked, Moves
from flask_paycheckout.checkouts.part_payments import PartPayments
from flask_paycheckout.checkouts.schedule import PAGE_VALID
from flask_paycheckout.checkouts.shop_answers import ShopAnswers
from flask_paycheckout.checkouts.states import Status, best_of
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.client import PaymentsError, RequestRefused, TransportFailed, Unauthorized
from flask_paycheckout.client.resources.checkouts import CheckoutLink
from flask_paycheckout.database.database_errors import is_lock_timeout
from flask_paycheckout.database.order_ids import MAX_ID, require_order_id
from flask_paycheckout.errors import (
    OrderNotPayable,
    OrderSettled,
    StartContended,
    TooManyAttempts,
    UnsafeCheckoutUrl,
)
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.parts import Parts
from flask_paycheckout.security.origins import require_allowed
from flask_paycheckout.service.calls import CREATE, NotAsked, Permit, Service, is_answer
from flask_paycheckout.service.limits import Cooldown, OngoingCall, SingleFlight
from flask_paycheckout.service.record import START
from flask_paycheckout.totals import NothingToPay

# The least time that a payment page must still be valid for a customer to be sent to it.
_USEFUL = timedelta(seconds=30)
# The most by which the clock of the host that made a page may be ahead of this one's. A page from later is from before
# the clock was set back, and nobody knows how long it is valid.
_AHEAD = timedelta(minutes=2)
_UNFINISHED = (Status.CREATED, Status.PENDING)
_MAX_ROUNDS = 4
# The most valid payment pages of an order: each change of its total makes one. Of one total there is one at a time, so
# that nobody who presses the button again and again keeps the customer out.
_MOST_OPEN = 20
# Seconds after which an order at that limit may be tried again, since pages expire.
_CROWDED = 300.0
# The time for which what the service refused is not sent again.
_REFUSED = timedelta(seconds=5)


def is_crowded(checkouts: Checkouts, order_id: str, counts: Mapping[str, int], now: datetime) -> bool:
    """Whether an order has reached its limit of valid payment pages.

    :param counts: its number of checkouts in each status.
    """
    unfinished = sum(counts.get(status, 0) for status in _UNFINISHED)
    return unfinished >= _MOST_OPEN and checkouts.count_pages(order_id, _UNFINISHED, now - PAGE_VALID) >= _MOST_OPEN


class Started(NamedTuple):
    """The usable checkout of an order."""

    checkout: CheckoutMixin
    is_new: bool
    """Whether this call has made it."""


@dataclass(frozen=True, eq=False)
class Starter:
    """Starts the checkouts of one app.

    :param origins_of: returns the origins to which an account's customers may be redirected.
    :param has_moved: reads a checkout like a visit of its status page, and returns whether it has moved.
    """

    parts: Parts
    checkouts: Checkouts
    moves: Moves
    outbox: Outbox
    service: Service
    answers: ShopAnswers
    part_payments: PartPayments
    origins_of: Callable[[str], tuple[str, ...]]
    has_moved: Callable[[CheckoutMixin], bool]
    _starting: SingleFlight = field(default_factory=SingleFlight, init=False)
    _refused: Cooldown = field(default_factory=lambda: Cooldown(_REFUSED), init=False)

    def start(self, order_id: str) -> Started:
        """Return the order's usable checkout for its present total, or make one.

        :raises UncommittedChanges: the shop's session holds changes that are not committed.
        :raises OrderNotPayable: `order_total` returned None, or a total of zero.
        :raises ReceiverFailed: an atomic receiver of `checkout_created` raised.
        :raises OrderSettled: the order is paid, or a payment of it is held.
        :raises UnsafeCheckoutUrl: the service's URL is outside the allowed origins.
        :raises StartContended: other starts of this order were always faster.
        :raises TooManyAttempts: the order has reached its limit of open payment pages.
        :raises flask_paycheckout.client.PaymentsError: the service refused or could not be reached.
        """
        require_order_id(order_id)
        self.parts.sessions.refuse_uncommitted(f"start({order_id!r})", only_if_blocking=False)
        try:
            return self._start(order_id)
        finally:
            self.service.record.write()

    def _start(self, order_id: str) -> Started:
        for _ in range(_MAX_ROUNDS):
            ended_before = self._starting.last_ended
            counts = self.checkouts.counts(order_id)
            _refuse_settled(order_id, counts)
            try:
                total, account = self.answers.order(order_id)
            except NothingToPay:
                raise OrderNotPayable(order_id, free=True) from None
            except OperationalError as error:
                if is_lock_timeout(error):
                    raise StartContended(order_id, locked=True) from error
                raise
            if total is None:
                raise OrderNotPayable(order_id)
            due, _ = self.part_payments.due(order_id, total, has_part=Status.PART in counts)
            if due is None:
                # The order became cheaper, so that its parts may reach what it costs now.
                self.part_payments.complete(order_id)
                _refuse_settled(order_id, self.checkouts.counts(order_id))
                raise OrderNotPayable(order_id)
            asked = Asked(total, due, account)
            # Without any checkout, no one is current.
            current = self.checkouts.current(order_id) if counts else None
            if current is not None and self._usable(current, asked):
                return Started(current, False)
            if is_crowded(self.checkouts, order_id, counts, self.parts.clock()):
                raise TooManyAttempts(order_id, _MOST_OPEN, _CROWDED)
            if wait := self._refused.left(f"{order_id} {due}", self.parts.clock()):
                raise NotAsked(CREATE, "the service refused this order a moment ago", wait)
            with self._starting.join(order_id) as (ongoing, mine):
                if not (mine or ongoing.thread == get_ident()):
                    self._wait_for(ongoing, account)
                    continue
                if self._starting.last_ended is not ended_before:
                    # Another thread may have made it meanwhile. What another process has made, the unique column tells.
                    current = self.checkouts.current(order_id)
                    if current is not None and self._usable(current, asked):
                        return Started(current, False)
                made = self._make(order_id, asked, current)
            if made is not None:
                return Started(made, True)
        raise StartContended(order_id)

    def _usable(self, current: CheckoutMixin, asked: Asked) -> bool:
        # Also while a method is picked: a second page would only be a second way to pay.
        if self._is_over(current) or current.status not in _UNFINISHED:
            return False
        if (current.total, current.due, current.account) != asked:
            return False
        if current.client_id != self.service.accounts.client_of(asked.account, CREATE).client_id:
            # The present keys may not find its deposit.
            return False
        try:
            # The settings may be stricter now, and other programs may write to the shop's database.
            require_allowed(current.url, self.origins_of(asked.account))
        except UnsafeCheckoutUrl:
            return False
        return True

    def _is_over(self, current: CheckoutMixin) -> bool:
        return not -_AHEAD < self.parts.clock() - current.created_at < PAGE_VALID - _USEFUL

    def _make(self, order_id: str, asked: Asked, replaces: CheckoutMixin | None) -> CheckoutMixin | None:
        """Make the order's checkout; called by one thread of the process at a time."""
        # Reads are minutes apart by now, and the customer may just have paid there.
        if replaces and replaces.status in _UNFINISHED and self._is_over(replaces) and self.has_moved(replaces):
            return None
        # The permit comes first: a call that was not allowed must not be recorded as a failure.
        with self.service.permit(CREATE, asked.account) as permit, self.service.record.call(START, asked.account):
            link, client_id = self._create(permit, order_id, asked)
            now = self.parts.clock()
            # What an atomic receiver refuses keeps customers from paying as much as what the service refuses.
            stored = self.moves.store(order_id, link.id, link.url, asked, now, replaces, client_id)
        if stored is None:
            return None
        self.outbox.deliver(stored.events)
        if all(event.delivered for event in stored.events):
            return stored.checkout
        # A receiver may have changed the row.
        return self.checkouts.find(link.id)

    def _create(self, permit: Permit, order_id: str, asked: Asked) -> tuple[CheckoutLink, str | None]:
        """Create a checkout at the service, and name the client id that made it; it is not stored yet."""
        try:
            link, client_id = permit.ask(lambda client: (client.checkouts.create(asked.due), client.client_id))
        except RequestRefused as error:
            # Refused keys are not about this order, and the shop may have replaced them by the next try.
            if is_answer(error) and not isinstance(error, Unauthorized):
                self._refused.begin(f"{order_id} {asked.due}", self.parts.clock())
            raise
        if not 0 < len(link.id) <= MAX_ID or not link.id.isprintable():
            raise TransportFailed(CREATE, "the answer's id cannot be stored")
        require_allowed(link.url, self.origins_of(asked.account))
        return link, client_id

    def _wait_for(self, ongoing: OngoingCall, account: str) -> None:
        """Wait until another request has made this order's checkout.

        :raises flask_paycheckout.client.PaymentsError: the other request failed, or takes too long.
        """
        with self.service.waiting(CREATE, account) as seconds:
            over = ongoing.over.wait(seconds)
        if not over:
            raise NotAsked(CREATE, "another request is making this order's checkout", _REFUSED.total_seconds())
        if isinstance(ongoing.error, PaymentsError):
            raise copy.copy(ongoing.error)


def _refuse_settled(order_id: str, counts: Mapping[str, int]) -> None:
    status = best_of(counts)
    if status in (Status.PAID, Status.HELD):
        raise OrderSettled(order_id, status)
