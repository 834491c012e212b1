"""Start of a checkout: it is created at the service, stored, and only then given to the customer.

The service has no idempotency key, no list and no cancellation of checkouts. A create whose answer was lost can be
repeated, because nobody has its URL. A checkout that was replaced is still watched, because its page can still be paid.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from operator import attrgetter
from threading import get_ident
from typing import NamedTuple

from sqlalchemy.exc import DBAPIError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.moves import Moves, NewCheckout
from flask_paycheckout.checkouts.order_problems import OrderProblems, ProblemKind
from flask_paycheckout.checkouts.part_payments import PartPayments
from flask_paycheckout.checkouts.schedule import PAGE_VALID
from flask_paycheckout.checkouts.shop_answers import ShopAnswers, ShopFailed, is_in_parts
from flask_paycheckout.checkouts.states import UNFINISHED, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.client import (
    PaymentsError,
    RateLimited,
    RequestRefused,
    ServiceFault,
    TransportFailed,
    Unauthorized,
)
from flask_paycheckout.client.resources.checkouts import CheckoutLink
from flask_paycheckout.database.database_errors import is_lock_timeout
from flask_paycheckout.errors import (
    AmountRefused,
    OrderNotPayable,
    OrderSettled,
    StartContended,
    TooManyAttempts,
    UnsafeCheckoutUrl,
)
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.per_process import Guarded
from flask_paycheckout.security.origins import require_allowed
from flask_paycheckout.service.accounts import AccountUnavailable
from flask_paycheckout.service.calls import CREATE, READ, NotAsked, Permit, Service
from flask_paycheckout.service.limits import OngoingCall, SingleFlight
from flask_paycheckout.service.record import FAILURES, START
from flask_paycheckout.text import MAX_ID, request_of, require_order_id
from flask_paycheckout.totals import NothingToPay, Total
from flask_paycheckout.wiring import Wiring

# The minimum time that a payment page must still be valid for a customer to be sent to it.
_USEFUL = timedelta(seconds=30)
# The maximum by which the clock of the host that created a page may be ahead of this host's. A page from a later time
# was created before the clock was set back, and its remaining validity is not known.
_AHEAD = timedelta(minutes=2)
_MAX_ROUNDS = 4
# The maximum age of a read that shows whether an expired page was paid; longer than the cool-down of reads for pages.
_FRESH = timedelta(seconds=30)
# The maximum number of valid payment pages of an order: each change of its total creates one. A total has only one page
# at a time, so that nobody can use up the limit by pressing the button repeatedly.
_MOST_OPEN = 20
# Seconds after which an order at that limit may be tried again, because pages expire.
_CROWDED = 300.0
# The time for which a refused checkout is not sent again, and the maximum number of refusals that a process remembers.
_REFUSED, _MOST_REFUSALS = timedelta(seconds=5), 1000

# The reasons why an order is not payable.
_NOT_WANTED = (
    "order_total returned None for it."
    " Return Pay or Receive while a payment of the order is wanted, and offer no payment otherwise."
)
_ENDED = "the payment request has expired or was withdrawn. Make another one."
_FREE = (
    "it costs nothing, and the service takes positive amounts only."
    " Close a free order in your own code, show no pay button for it, and let order_total return None."
)
_NOT_RECKONED = (
    "a part of it has arrived that cannot be set off against {total}."
    " Let order_total return a Pay in the currency of that part, or give the part back first."
)


def is_crowded(checkouts: Checkouts, order_id: str, counts: Mapping[str, int], now: datetime) -> bool:
    """Whether an order has reached its limit of valid payment pages.

    :param counts: its number of checkouts in each status.
    """
    unfinished = sum(counts.get(status, 0) for status in UNFINISHED)
    return unfinished >= _MOST_OPEN and checkouts.count_pages(order_id, now - PAGE_VALID) >= _MOST_OPEN


class EarlierUnread(NotAsked):
    """No page is created while the deposit of the order's expired page cannot be read."""


class Started(NamedTuple):
    """The usable checkout of an order."""

    checkout: CheckoutMixin
    is_new: bool
    """Whether this call has made it."""


@dataclass(frozen=True, eq=False)
class Starter:
    """Starts the checkouts of one app.

    :param origins_of: returns the origins to which an account's customers may be redirected.
    :param refreshed: reads a checkout like a visit of its status page, and returns it as it is stored then.
    """

    wiring: Wiring
    checkouts: Checkouts
    moves: Moves
    outbox: Outbox
    service: Service
    answers: ShopAnswers
    part_payments: PartPayments
    problems: OrderProblems
    origins_of: Callable[[str], tuple[str, ...]]
    refreshed: Callable[[CheckoutMixin], CheckoutMixin]
    _starting: SingleFlight = field(default_factory=SingleFlight, init=False)
    _refusals: Guarded[dict[str, tuple[datetime, RequestRefused]]] = field(
        default_factory=lambda: Guarded(dict), init=False
    )
    """The service's last refusals by order and total, the earliest first."""

    def start(self, order_id: str) -> Started:
        """Return the order's usable checkout for its present total, or make one.

        :raises OrderNotPayable: `order_total` returned None, or a total of zero.
        :raises ReceiverFailed: an atomic receiver of `checkout_created` raised.
        :raises OrderSettled: the order is paid, or a payment of it is held.
        :raises ShopFailed: a function of the shop failed.
        :raises AmountRefused: the service refuses this very checkout.
        :raises UnsafeCheckoutUrl: the service's URL is outside the allowed origins.
        :raises StartContended: concurrent starts of this order were always faster.
        :raises TooManyAttempts: the order has reached its limit of open payment pages.
        :raises flask_paycheckout.client.PaymentsError: the service refused or could not be reached.
        """
        order_id = require_order_id(order_id)
        try:
            return self._start(order_id)
        except AccountUnavailable as error:
            self.problems.record(ProblemKind.ACCOUNT, order_id, error, account=error.account)
            raise ShopFailed(ProblemKind.ACCOUNT, error) from error
        except ShopFailed as failed:
            self.problems.record(failed.function, order_id, failed.error)
            raise
        finally:
            self.service.record.write()

    def _start(self, order_id: str) -> Started:
        for _ in range(_MAX_ROUNDS):
            ended_before = self._starting.last_ended
            counts = self.checkouts.counts(order_id)
            _refuse_settled(order_id, counts)
            new = self._new_checkout(order_id, counts)
            # An order without checkouts has no current one.
            current = self.checkouts.current(order_id) if counts else None
            if current is not None and self._usable(current, new):
                return Started(current, False)
            if is_crowded(self.checkouts, order_id, counts, self.wiring.clock()):
                raise TooManyAttempts(order_id, _MOST_OPEN, _CROWDED)
            try:
                started = self._started(order_id, new, current, ended_before)
            except (AmountRefused, AccountUnavailable):
                # These errors are recorded as problems of other kinds.
                raise
            except FAILURES as error:
                self.problems.record(ProblemKind.UNAVAILABLE, order_id, error, account=new.account, due=new.due)
                raise
            if started is not None:
                return started
        raise StartContended(order_id)

    def _started(
        self, order_id: str, new: NewCheckout, current: CheckoutMixin | None, ended_before: object
    ) -> Started | None:
        """Make the order's checkout, or wait until another thread has made it; None to look again.

        :param ended_before: the last start of this process that had ended when `current` was read.
        """
        self._repeat_refusal(f"{order_id} {new.due}")
        with self._starting.join(order_id) as (ongoing, mine):
            if not (mine or ongoing.thread == get_ident()):
                self._wait_for(ongoing, new.account)
                return None
            if self._starting.last_ended is not ended_before:
                # Another thread may have created it meanwhile. If another process has, the unique column shows that.
                current = self.checkouts.current(order_id)
                if current is not None and self._usable(current, new):
                    return Started(current, False)
            checkout = self._make(order_id, new, current)
        return None if checkout is None else Started(checkout, True)

    def _new_checkout(self, order_id: str, counts: Mapping[str, int]) -> NewCheckout:
        """The amount and account of the order's next checkout; errors as for `start`."""
        try:
            total, account = self.answers.order(order_id)
        except NothingToPay:
            self._complete(order_id, counts)
            raise OrderNotPayable(order_id, _FREE) from None
        except DBAPIError as error:
            if is_lock_timeout(error):
                raise StartContended(order_id, locked=True) from error
            raise
        if total is None:
            raise OrderNotPayable(order_id, _NOT_WANTED if request_of(order_id) is None else _ENDED)
        due: Total | None = total
        if Status.PART in counts or is_in_parts(total):
            due, _ = self.part_payments.due(order_id, total)
        if due is None:
            self._complete(order_id, counts)
            raise OrderNotPayable(order_id, _NOT_RECKONED.format(total=total))
        return NewCheckout(total, due, account)

    def _complete(self, order_id: str, counts: Mapping[str, int]) -> None:
        """Let the parts of an order that became cheaper pay it, if they reach its present total.

        :raises OrderSettled: they did.
        """
        if Status.PART in counts:
            self.part_payments.complete(order_id)
            _refuse_settled(order_id, self.checkouts.counts(order_id))

    def due_now(self, order_id: str) -> Total:
        """The total that the order's next checkout would ask for; errors as for `start`."""
        counts = self.checkouts.counts(order_id)
        _refuse_settled(order_id, counts)
        new = self._new_checkout(order_id, counts)
        self.service.accounts.client_of(new.account)
        return new.due

    def _usable(self, current: CheckoutMixin, new: NewCheckout) -> bool:
        # A page on which a method is picked is usable, too: a second page would only be a second way to pay.
        if self._is_over(current) or current.status not in UNFINISHED:
            return False
        if (current.total, current.due, current.account) != new:
            return False
        if current.client_id != self.service.accounts.client_of(new.account, CREATE).client_id:
            # The present keys may not find its deposit.
            return False
        try:
            # The settings may be stricter now, and other programs may write to the shop's database.
            require_allowed(current.url, self.origins_of(new.account))
        except UnsafeCheckoutUrl:
            return False
        return True

    def _is_over(self, current: CheckoutMixin) -> bool:
        return not -_AHEAD < self.wiring.clock() - current.created_at < PAGE_VALID - _USEFUL

    def _make(self, order_id: str, new: NewCheckout, replaces: CheckoutMixin | None) -> CheckoutMixin | None:
        """Make the order's checkout; called by one thread of the process at a time."""
        if replaces and replaces.status in UNFINISHED and self._is_over(replaces) and self._has_moved(replaces, new):
            return None
        # The permit comes first: a call that was not allowed must not be recorded as a failure.
        with self.service.permit(CREATE, new.account) as permit, self.service.record.call(START, new.account):
            link, client_id = self._create(permit, order_id, new)
            now = self.wiring.clock()
            # An atomic receiver that raises stops customers as much as a refusal by the service, so it is recorded as
            # well.
            stored = self.moves.store(order_id, link.id, link.url, new, now, replaces, client_id)
        if stored is None:
            return None
        self.outbox.deliver(stored.events)
        if not any(map(attrgetter("lease_token"), stored.events)):
            return stored.checkout
        # A receiver that ran after the commit may have changed the row.
        return self.checkouts.find(link.id)

    def _has_moved(self, replaces: CheckoutMixin, new: NewCheckout) -> bool:
        """Whether a new read shows that an expired payment page was paid, or has ended.

        :raises EarlierUnread: it cannot be read, so that the customer may have paid there.
        """
        checkout = self.refreshed(replaces)
        if checkout.status != replaces.status:
            return True
        now, read_at = self.wiring.clock(), checkout.last_read_at
        if checkout.failed_reads or read_at is None or not now - _FRESH < read_at <= now:
            client = self.service.accounts.client_of(new.account, CREATE)
            # A deposit that the present keys cannot find must not keep the customer from paying for ever.
            if client.client_id == checkout.client_id:
                raise EarlierUnread(READ, "the deposit of an earlier page, where the customer may have paid", 10.0)
        return False

    def _create(self, permit: Permit, order_id: str, new: NewCheckout) -> tuple[CheckoutLink, str | None]:
        """Create a checkout at the service, and name the client id that made it; it is not stored yet."""
        try:
            link, client_id = permit.ask(lambda client: (client.checkouts.create(new.due), client.client_id))
        except (Unauthorized, ServiceFault):
            # These errors are not about this order. The shop may have replaced refused keys by the next try.
            raise
        except RequestRefused as error:
            refusal = error if isinstance(error, RateLimited) else AmountRefused(order_id, new.due, error)
            with self._refusals.held() as refusals:
                refusals[f"{order_id} {new.due}"] = self.wiring.clock(), refusal
            if refusal is not error:
                self.problems.record(ProblemKind.REFUSED, order_id, error, account=new.account, due=new.due)
            raise refusal from None
        if not 0 < len(link.id) <= MAX_ID or not link.id.isprintable():
            raise TransportFailed(CREATE, "the answer's id cannot be stored")
        require_allowed(link.url, self.origins_of(new.account))
        return link, client_id

    def _repeat_refusal(self, key: str) -> None:
        """Raise the service's refusal again, if it came a moment ago.

        :raises flask_paycheckout.client.RequestRefused: it did.
        """
        now = self.wiring.clock()
        with self._refusals.held() as refusals:
            for earlier, (at, _) in list(refusals.items()):
                # A time in the future is from before the clock was set back.
                if not now - _REFUSED < at <= now or len(refusals) > _MOST_REFUSALS:
                    del refusals[earlier]
            _, refusal = refusals.get(key, (now, None))
        if refusal is not None:
            raise copy.copy(refusal)

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
    for status in (Status.PAID, Status.HELD):
        if status in counts:
            raise OrderSettled(order_id, status)
