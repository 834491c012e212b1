"""The calls that a shop makes: start, settle, reconcile, resolve, and the status of orders.

Each is defined once, here. `PayCheckout` runs them on the current app. A call first checks its arguments and whether
open work in the shop's session would block it, and then uses the parts of the runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from flask_paycheckout.checkouts.order_status import OrderStatus
from flask_paycheckout.checkouts.outbox import Delivery
from flask_paycheckout.checkouts.payment_backfill import BackfillReport
from flask_paycheckout.checkouts.reconcile import Progress, ReconcileReport, ReconcileWatch
from flask_paycheckout.client import NotFound, PaymentsError
from flask_paycheckout.client.hidden import concealed
from flask_paycheckout.errors import PayoutRefused, UnknownPayout
from flask_paycheckout.payout_operations import PayoutOperations
from flask_paycheckout.payouts.booking_backfill import BookingBackfill, BookingReport
from flask_paycheckout.payouts.refund_progress import OrderRefunds, read_refunds
from flask_paycheckout.payouts.refunds import RefundablePayment
from flask_paycheckout.reports.explain import Explanation, explain
from flask_paycheckout.reports.export import Export
from flask_paycheckout.reports.payout_alarms import PayoutAlarms
from flask_paycheckout.reports.report import Alarms, Report, read_alarms, report
from flask_paycheckout.rules.order_ids import is_order_id, require_order_id
from flask_paycheckout.rules.payout_report import PayoutReport
from flask_paycheckout.rules.payout_states import PayoutKind, PayoutStatus
from flask_paycheckout.rules.refund_forms import RefundForm
from flask_paycheckout.rules.states import FoundBy, Status
from flask_paycheckout.runtime import Runtime, runtime
from flask_paycheckout.service.accounts import AccountUnavailable, require_account_name
from flask_paycheckout.service.calls import PROOF
from flask_paycheckout.store.account_names import is_stored, sending_accounts, stored_accounts
from flask_paycheckout.store.checkout_model import CheckoutMixin
from flask_paycheckout.store.movements import Movements, Period
from flask_paycheckout.store.paybacks import MoneyToPayBack, count_to_pay_back, list_to_pay_back
from flask_paycheckout.store.payout_model import PayoutMixin
from flask_paycheckout.store.payout_overview import PayoutOverview, PayoutPage
from flask_paycheckout.store.pruning import Pruned
from flask_paycheckout.store.shop_session import allow_reading, open_connection, refuse_uncommitted

if TYPE_CHECKING:
    from flask_paycheckout.reports.order_list import OrderPage

__all__ = ["AppOperations", "Operations", "operations"]


class Operations(PayoutOperations):
    """The calls of one app's shop."""

    def start(self, order_id: str) -> CheckoutMixin:
        """Make a checkout, or return the one still usable for an unchanged total.

        :returns: the checkout; send the customer to its `url`.
        :raises OrderNotPayable: `order_total` returned None.
        :raises OrderSettled: the order is paid, or a payment of it is held.
        :raises UncommittedChanges: `db.session` holds changes that are not committed.
        :raises UnsafeCheckoutUrl: the service's URL is outside PAYCHECKOUT_CHECKOUT_ORIGINS.
        :raises flask_paycheckout.client.PaymentsError: the service refused or could not be reached.
        """
        shop = self._runtime
        require_order_id(order_id)
        refuse_uncommitted(shop.db, f"start({order_id!r})")
        try:
            return shop.starter.start(order_id)
        finally:
            shop.record.write()

    def settle(self, checkout_id: str) -> CheckoutMixin:
        """Read the deposit now and apply what it says. Idempotent; safe to call from anywhere, at the same time.

        :returns: the checkout as it stands now.
        :raises UnknownCheckout: no such checkout is stored.
        :raises UncommittedChanges: `db.session` holds changes that are not committed, and SQLite has one writer.
        :raises flask_paycheckout.client.PaymentsError: there was no usable answer; nothing changed.
        """
        return self._beside_session(f"settle({checkout_id!r})").settlement.settle(checkout_id)

    def reconcile(self, limit: int | None = None) -> ReconcileReport:
        """Settle every checkout that is due, deliver every undelivered event, send payouts and follow them.

        Payouts are sent when PAYCHECKOUT_ACCESS_TOKEN is set. They and the deposits do not wait for each other; the
        call ends when both are done.

        :param limit: read at most this many checkouts; None for all that are due.
        :raises UncommittedChanges: `db.session` holds changes that are not committed, and SQLite has one writer.
        """
        return self._beside_session("reconcile()").reconciler.run(limit)

    def resolve(self, checkout_id: str, accept: bool, by: str, why: str) -> CheckoutMixin:
        """Decide a held payment; who and why are recorded, and `payment_resolved` fires.

        An accepted payment pays the order, and `order_paid` fires, unless another payment paid it already. A rejected
        payment, and an accepted second one, stays listed until it is refunded, or `mark_paid_back` says what became of
        the money.

        :param by: who decides; 255 characters at most.
        :param why: the reason; 1,000 characters at most.
        :returns: the checkout, now paid or rejected.
        :raises UnknownCheckout: no such checkout is stored.
        :raises TransitionRefused: the checkout is not held.
        :raises ReceiverFailed: an atomic receiver raised; nothing was recorded.
        :raises ValueError: `by` or `why` is empty or too long.
        """
        return self._beside_session(f"resolve({checkout_id!r})").settlement.resolve(checkout_id, accept, by, why)

    def mark_paid_back(self, checkout_id: str, *, by: str, why: str, kept: bool = False) -> CheckoutMixin:
        """Record that money which paid no order was paid back, or is kept. No money is moved by this.

        :param by: who says so; 255 characters at most.
        :param why: how it was paid back, or why it is kept; 1,000 characters at most.
        :param kept: it is kept; it may still be marked as paid back later.
        :returns: the checkout, no longer listed.
        :raises UnknownCheckout: no such checkout is stored.
        :raises PaybackRefused: this money paid an order, is not decided yet, or is marked so already.
        :raises ValueError: `by` or `why` is empty or too long.
        """
        return self._beside_session(f"mark_paid_back({checkout_id!r})").paybacks.mark(checkout_id, by, why, kept)

    # Orders

    def order_status(self, order_id: str) -> str:
        """The order's status: unpaid, created, pending, paid, held or abandoned.

        One indexed query, without any history; nothing is read from the service. Inside a transaction of `db.session`
        it sees what that transaction has written.

        :raises TypeError: the id is not a string.
        :raises ValueError: the id is empty, too long, or holds control characters.
        """
        return self.order_statuses([order_id])[order_id]

    def order_statuses(self, order_ids: Iterable[str]) -> dict[str, str]:
        """The status of many orders, each by its id, with one query for every 500 of them.

        :raises TypeError: `order_ids` is a single string, or one of the ids is not a string.
        :raises ValueError: one of the ids is empty, too long, or holds control characters.
        """
        if isinstance(order_ids, (str, bytes)):
            raise TypeError(
                f"order_ids must be several order ids, not one {type(order_ids).__name__};"
                " for a single order call order_status(order_id)"
            )
        wanted = [require_order_id(order_id) for order_id in order_ids]
        shop = self._runtime
        return shop.checkouts.order_statuses(wanted, open_connection(shop.db, shop.models.Checkout))

    def explain(self, order_id: str) -> Explanation:
        """Explain an order: every attempt, webhook, read and comparison, the rule that decided, refunds and payouts.

        :raises TypeError: the id is not a string.
        :raises ValueError: the id is empty, too long, or holds control characters.
        """
        require_order_id(order_id)
        shop = self._for_reading(f"explain({order_id!r})")
        return explain(shop.engine(), shop.models, shop.checkouts, shop.payouts, order_id)

    def _for_reading(self, call: str) -> Runtime:
        """The runtime, for a call that reads; end an open transaction of the shop that would block it.

        :raises UncommittedChanges: that transaction has written something.
        """
        allow_reading(self._runtime.db, call, self._runtime.engine())
        return self._runtime


class AppOperations(Operations):
    """The calls of one app's shop, with those that only pages, commands and tasks make.

    :param app_runtime: the app's runtime.
    """

    def __init__(self, app_runtime: Runtime) -> None:
        self._app_runtime = app_runtime

    @property
    def _runtime(self) -> Runtime:
        return self._app_runtime

    # Webhooks and the status page

    def receive_webhook(self, checkout_id: str) -> str:
        """Store that a webhook named this checkout, and read its deposit when that is due. See `Webhooks.receive`."""
        return self._beside_session("the webhook").webhooks.receive(checkout_id)

    def receive_payout_webhook(self) -> None:
        """Let sent payouts be read soon, since a webhook about no checkout came; it may have been about any of them."""
        self._beside_session("the webhook").payout_hints.receive()

    def settle_for_webhook(self, checkout_id: str) -> CheckoutMixin:
        """Read the deposit that a webhook hinted at, and apply what it says; parameters and errors as for `settle`."""
        return self._beside_session(f"settle({checkout_id!r})").settlement.settle(checkout_id, FoundBy.WEBHOOK)

    def read_order_status(self, order_id: str) -> OrderStatus:
        """The order's status for its status page; reads the newest deposits when they are due."""
        require_order_id(order_id)
        return self._beside_session("the status page").statuses.of(order_id)

    # The customer's page of a refund

    def require_refund(self, reference: str) -> PayoutMixin:
        """The refund with this reference; inside a transaction of `db.session` also one that it has just stored.

        :raises UnknownPayout: no such payout is stored.
        :raises ValueError: it is no refund.
        """
        require_order_id(reference, "reference")
        shop = self._runtime
        payout = shop.payouts.find(reference, open_connection(shop.db, shop.models.Payout))
        if payout is None:
            raise UnknownPayout(reference)
        if payout.kind != PayoutKind.REFUND:
            raise ValueError(f"payout {reference!r} is no refund, so no customer says where it goes")
        return payout

    def read_refunds(self, order_id: str) -> OrderRefunds:
        """How far payments of an order were paid back, for its status page."""
        return read_refunds(self._runtime.payouts, order_id)

    def find_refund(self, reference: str) -> PayoutMixin | None:
        """The refund with this reference, for its page; None when there is none."""
        return self._runtime.refund_claims.find(reference)

    def claim_refund(self, reference: str, form: RefundForm) -> PayoutMixin:
        """Store where a refund goes, as the customer says on its page. See `RefundClaims.claim`."""
        return self._beside_session("the refund page").refund_claims.claim(reference, form)

    # The owner's pages and the commands

    def find_checkout(self, checkout_id: str) -> CheckoutMixin | None:
        """The stored checkout with this id; None when there is none."""
        return self._runtime.checkouts.find(checkout_id)

    def find_order_id(self, text: str) -> str | None:
        """The id of the order that has this order id or checkout id; None when neither is stored."""
        # Late: order lists are wanted by the owner's pages only.
        from flask_paycheckout.reports import order_list

        return order_list.find_order_id(self._runtime.engine(), self._runtime.models, text)

    def list_orders(self, status: Status | None, place: str | None, account: str | None = None) -> OrderPage:
        """A page of orders with their attempts, newest first.

        :param status: only orders in this state.
        :param place: `next_place` of the page before; None for the first page.
        :param account: only those of this merchant account.
        """
        from flask_paycheckout.reports import order_list

        shop, statuses = self._runtime, self._runtime.checkouts.order_statuses
        return order_list.page_of_orders(shop.engine(), shop.models, statuses, status, place, account=account)

    def list_money_to_pay_back(self, limit: int) -> tuple[int, tuple[MoneyToPayBack, ...]]:
        """Payments that paid no order, until a person says whether they were paid back or are kept.

        :param limit: list at most this many, the oldest first.
        :returns: how many there are, and the list.
        """
        with self._runtime.engine().connect() as connection:
            return count_to_pay_back(connection, self._runtime.models), list_to_pay_back(
                connection, self._runtime.models, limit
            )

    def list_payouts(
        self,
        status: PayoutStatus | None,
        kind: PayoutKind | None,
        place: str | None,
        limit: int = 25,
        account: str | None = None,
    ) -> PayoutPage:
        """A page of payouts and refunds, newest first.

        :param place: `next_place` of the page before; None for the first page.
        :param account: only those of this merchant account.
        """
        shop = self._for_reading("the list of payouts")
        with shop.engine().connect() as connection:
            return PayoutOverview(connection, shop.models, shop.clock(), account).page(status, kind, place, limit)

    def stored_accounts(self) -> list[str]:
        """The names of the merchant accounts that checkouts or payouts are stored with; 1,000 at most."""
        with self._runtime.engine().connect() as connection:
            return stored_accounts(connection, self._runtime.models)

    def require_account(self, name: str) -> str:
        """Return the name of a merchant account that is stored with a checkout or payout, or has keys in the shop.

        :raises ValueError: there is no such account.
        """
        require_account_name(name)
        shop = self._for_reading("the merchant account")
        with shop.engine().connect() as connection:
            if name == "" or is_stored(connection, shop.models, name):
                return name
        try:
            shop.accounts.client_of(name)
        except AccountUnavailable:
            known = None
        else:
            known = name
        if known is None:
            raise ValueError(
                f"account {name!r} is unknown: no checkout or payout has it, and the shop gives it no keys"
            )
        return known

    def find_payout(self, reference: str) -> PayoutMixin | None:
        """The payout or refund with this reference; None when there is none."""
        return self._runtime.payouts.find(reference) if is_order_id(reference) else None

    def find_refundable(self, checkout_id: str) -> RefundablePayment | None:
        """The payment of a checkout with its refunds; None when it is unknown, or has no money to refund."""
        return self._runtime.refunds.of(checkout_id) if is_order_id(checkout_id) else None

    def make_refund(
        self, checkout_id: str, amount: str | None, *, by: str, why: str, seen: str | None = None
    ) -> PayoutMixin | None:
        """Make a refund and commit it; parameters and errors as for `refund`.

        :param seen: the payment's `seen`, as the person saw it.
        :returns: None when there were other refunds since then; nothing is stored.
        """
        return self._beside_session(f"refund({checkout_id!r})").refunds.make(checkout_id, amount, by, why, seen)

    def count_ready_payouts(self) -> int:
        """How many payouts are ready to be sent."""
        return self._runtime.payout_queue.backlog(self._runtime.clock()).ready

    def send_with_progress(self, access_token: str | None, progress: Callable[[int], object]) -> PayoutReport:
        """Run `send_payouts`, reporting progress.

        :param progress: called before each call of the service with the number of payouts that are still ready.
        """

        def note() -> bool:
            progress(self.count_ready_payouts())
            return False

        shop = self._beside_session("send_payouts()")
        return shop.payout_sender.run_round(concealed(access_token), note)[0]

    def read_transfer_proof(self, reference: str) -> bytes:
        """The transfer proof of a completed bank transfer, as a PDF.

        :raises UnknownPayout: no such payout is stored.
        :raises TransitionRefused: it is not completed, or was paid in a token.
        :raises flask_paycheckout.client.PaymentsError: there was no usable answer.
        """
        payout = self.find_payout(reference)
        if payout is None:
            raise UnknownPayout(reference)
        if payout.is_token or payout.status != PayoutStatus.COMPLETED or not payout.disbursement_id:
            remedy = "Only a completed bank transfer has one."
            raise PayoutRefused(reference, payout.status, "give the transfer proof", remedy)
        service = self._for_reading("the transfer proof").service
        try:
            with service.turn(PROOF, payout.account) as turn:
                return turn.read_proof(payout.disbursement_id)
        except NotFound:
            # It may have been sent with the token of the settings, as an account without its own does.
            if not payout.account or self._runtime.accounts.access_token_of(payout.account) is not None:
                raise
        with service.turn(PROOF) as turn:
            return turn.read_proof(payout.disbursement_id)

    def report(self, webhook_url: str, account: str | None = None) -> Report:
        """Report on all payments of the shop: counts, and everything that needs a person.

        :param account: only those of this merchant account.
        """
        shop = self._for_reading("the report")
        missing = shop.settings.access_token is None
        now = shop.clock()
        made = report(shop.engine(), shop.models, now, webhook_url, account=account, token_missing=missing)
        return replace(made, payout_alarms=self._with_missing_tokens(made.payout_alarms))

    def alarms(self, account: str | None = None) -> Alarms:
        """Problems that a person has to look at, as the owner's pages and `doctor` show them.

        :param account: only those of this merchant account.
        """
        shop = self._runtime
        missing = shop.settings.access_token is None
        alarms = read_alarms(shop.engine(), shop.models, shop.clock(), account=account, token_missing=missing)
        return replace(alarms, payouts=self._with_missing_tokens(alarms.payouts))

    def accounts_without_token(self) -> list[str]:
        """The merchant accounts with payouts to be sent that have no access token; "" is the one of the settings."""
        shop = self._runtime
        with shop.engine().connect() as connection:
            names = sending_accounts(connection, shop.models)
        return [name for name in names if self._lacks_token(name)]

    def _with_missing_tokens(self, alarms: PayoutAlarms) -> PayoutAlarms:
        """The alarms with the accounts that cannot send; the shop is asked for their keys."""
        names = sorted({one.account for one in alarms.unsent}) if alarms.token_missing else []
        return replace(alarms, without_token=tuple(name for name in names if self._lacks_token(name)))

    def _lacks_token(self, account: str) -> bool:
        if self._runtime.settings.access_token is not None:
            return False
        try:
            return self._runtime.accounts.access_token_of(account) is None
        except PaymentsError:
            # An account without keys is told by its failing calls.
            return False

    def reconcile_with_progress(self, limit: int | None, progress: Progress | None) -> ReconcileReport:
        """Run one round of `reconcile`, reporting progress.

        :param progress: called after each read with the counts so far.
        """
        return self._beside_session("reconcile()").reconciler.run(limit, progress)

    def watch(self) -> ReconcileWatch:
        """Begin a series of reconcile rounds, none of which waits for payouts."""
        return self._beside_session("reconcile()").reconciler.watch()

    def count_due(self) -> int:
        """How many deposits are due to be read."""
        return self._runtime.due_reads.count_due(self._runtime.clock())

    def deliver(
        self, order_id: str | None = None, *, now: bool = False, progress: Callable[[int], object] | None = None
    ) -> Delivery:
        """Deliver events that wait to their receivers.

        :param order_id: only those of this order.
        :param now: also those whose next try is later.
        :param progress: called after each event.
        """
        wanted = None if order_id is None else require_order_id(order_id)
        return self._beside_session("deliver()").outbox.deliver_waiting(wanted, now=now, progress=progress)

    def count_waiting(self, order_id: str | None) -> int:
        """How many events wait for delivery.

        :param order_id: only those of this order.
        """
        return self._runtime.outbox.count_waiting(order_id)

    def fill_payments(
        self, limit: int | None, after: int, progress: Callable[[BackfillReport], None] | None = None
    ) -> BackfillReport:
        """Store what arrived for payments of older versions, which did not store it.

        :param limit: read at most this many deposits.
        :param after: where an earlier run ended.
        :param progress: called after each read with the counts so far.
        """
        return self._runtime.payment_backfill.run(limit, after, progress)

    def count_unfilled(self, after: int) -> int:
        """How many payments `fill_payments` would read."""
        return self._runtime.payment_backfill.count(after)

    def prune(
        self, older_than: timedelta, *, dry_run: bool, progress: Callable[[int, int], object] | None = None
    ) -> Pruned:
        """Remove what was decided and delivered longer ago than this time: histories, events, abandoned checkouts.

        :param dry_run: only count it.
        :param progress: called with how far the run is, and with the end.
        """
        return self._beside_session("prune()").pruning.run(older_than, dry_run=dry_run, progress=progress)

    # The books

    def export(self, start: datetime | None, end: datetime | None, account: str | None = None) -> Export:
        """An export of every movement of money.

        :param start: the first moment that is included; None for the beginning.
        :param end: the first moment that is not included; None for no end.
        :param account: only those of this merchant account.
        """
        shop = self._for_reading("the export")
        return Export(Movements(shop.engine, shop.models), Period(start, end, account), shop.clock())

    def fill_bookings(
        self, limit: int | None, after: int, progress: Callable[[int], object] | None = None
    ) -> BookingReport:
        """Book the movements of payouts that older versions did not book. See `BookingBackfill.run`."""
        shop = self._beside_session("fill_bookings()")
        return BookingBackfill(shop.engine, shop.models).run(limit, after, progress)

    def count_unbooked(self, account: str | None = None) -> int:
        """How many payouts are sent or completed, and not booked as such.

        :param account: only those of this merchant account.
        """
        shop = self._runtime
        with shop.engine().connect() as connection:
            return PayoutOverview(connection, shop.models, shop.clock(), account).count_unbooked()

    def count_payouts(self, after: int) -> int:
        """How many payouts `fill_bookings` would read."""
        return BookingBackfill(self._runtime.engine, self._runtime.models).count(after)

    def allow_reading(self, call: str) -> None:
        """End an open transaction of the shop's session that would block our reads.

        :param call: named in the error.
        :raises UncommittedChanges: the transaction has written something.
        """
        self._for_reading(call)


def operations() -> AppOperations:
    """The calls of the current app's shop.

    :raises ConfigurationError: `init_app` was not called for this app.
    """
    return AppOperations(runtime())
