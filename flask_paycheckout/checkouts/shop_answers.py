"""The shop's answers about its orders and accounts, and the resulting rulings on payments."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy.exc import DBAPIError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin, about_checkout
from flask_paycheckout.checkouts.order_problems import OrderProblems, ProblemKind
from flask_paycheckout.checkouts.ruling import Comparison, Free, OrderPayments, Ruling, rule_on_part
from flask_paycheckout.checkouts.states import OPEN, Evidence, Reason, Status
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.config.accounts import Account
from flask_paycheckout.database.database_errors import is_passing
from flask_paycheckout.database.transactions import ShopTransaction, ShopTransactions
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.text import first_line, is_address, request_of, require_account_name
from flask_paycheckout.totals import Amount, NothingToPay, Pay, Receive, Total, plain_total
from flask_paycheckout.wiring import Wiring, without_request
from flask_paycheckout.wiring.logs import about

if TYPE_CHECKING:
    from flask_paycheckout.checkouts.requests import PaymentRequests


# The orders for which order_total is running: it may itself ask for the balance of its order, or of another order.
_asking: ContextVar[frozenset[str]] = ContextVar("flask_paycheckout_asking", default=frozenset())


class ShopFailed(Exception):
    """A function of the shop failed, so that an order of it cannot be paid."""

    def __init__(self, function: ProblemKind, error: Exception) -> None:
        self.function = function
        self.error = error
        super().__init__(f"{function} failed: {first_line(error)}")


@dataclass(frozen=True)
class ShopAnswers:
    """Calls the callbacks of one app's shop, each in a transaction of the shop's session that is not committed.

    `order_total`, `account_of` and `account` see no web request: webhooks and reconcile call them as well, and must not
    get another answer.
    """

    wiring: Wiring
    transactions: ShopTransactions
    requests: PaymentRequests
    problems: OrderProblems

    def total_in(self, transaction: ShopTransaction, order_id: str) -> Total | None:
        """The order's present total, asked in this transaction; None if it cannot be paid."""
        if request_of(order_id) is not None:
            return self.requests.payable_in(transaction.connection, order_id)
        asking = _asking.set(_asking.get() | {order_id})
        try:
            total: Total | None = without_request(transaction.ask, self.wiring.callbacks.pricing, order_id)
        finally:
            _asking.reset(asking)
        if total is None or type(total) in (Pay, Receive):
            return total
        if not isinstance(total, (Pay, Receive)):
            raise TypeError(
                f"order_total must return Pay, Receive or None, not {type(total).__name__}."
                " Write for instance: return Pay(order.total, 'USD')"
            )
        return plain_total(total)

    def is_payable_in(self, transaction: ShopTransaction, order_id: str) -> bool:
        """Whether the order can be paid now, asked in this transaction.

        :raises ShopFailed: `order_total` failed, and trying again is not known to help.
        """
        try:
            return isinstance(self.total_or_free_in(transaction, order_id), (Pay, Receive))
        except Exception as error:
            if is_passing(error):
                raise
            raise ShopFailed(ProblemKind.ORDER_TOTAL, error) from error

    def total_or_free_in(self, transaction: ShopTransaction, order_id: str) -> Total | Free | None:
        """The order's present total like `total_in`; `Free` if it costs nothing."""
        try:
            return self.total_in(transaction, order_id)
        except NothingToPay as nothing:
            return Free(nothing.currency)

    def total_now(self, order_id: str) -> Total | Free | None:
        """The order's present total, as a running transaction of the shop's session sees it.

        None if it cannot be paid, or if `order_total` fails or is already running for this order.
        """
        if order_id in _asking.get():
            return None
        session = self.wiring.sessions.of_context()
        running = self.transactions.within(session) if session.in_transaction() else None
        try:
            with nullcontext(running) if running else self.transactions.open() as transaction:
                return self.total_or_free_in(transaction, order_id)
        except Exception:
            self.wiring.log.exception("order_total", "order_total failed for order %s", order_id, extra=about(order_id))
            return None

    def order(self, order_id: str) -> tuple[Total | None, str]:
        """The order's present total, None if it cannot be paid, and the name of its merchant account.

        :raises NothingToPay: it costs nothing.
        :raises ShopFailed: a function of the shop failed, and trying again is not known to help.
        """
        function = ProblemKind.ORDER_TOTAL
        try:
            with self.transactions.open() as transaction:
                total = self.total_in(transaction, order_id)
                function = ProblemKind.ACCOUNT_OF
                # The shop may know no account of an order that cannot be paid, or no such order at all.
                return total, "" if total is None else self.account_of(order_id)
        except NothingToPay:
            raise
        except Exception as error:
            if is_passing(error):
                raise
            raise ShopFailed(function, error) from error

    def account_of(self, order_id: str) -> str:
        """The name of the order's merchant account; "" for the account of the settings."""
        if request_of(order_id) is not None:
            request = self.requests.of_an_order(order_id, self.wiring.sessions.open_connection())
            return "" if request is None else request.account
        account_of = self.wiring.callbacks.account_of
        return require_account_name("" if account_of is None else self._ask(account_of, order_id))

    def account(self, name: str) -> Account | None:
        """The keys of a merchant account; None if there is no such account."""
        find = self.wiring.callbacks.account
        account: Account | None = None if find is None else self._ask(find, name)
        return account

    def _ask(self, function: Callable[..., Any], name: str) -> Any:
        """Call a function in the running transaction of `db.session`, if there is one.

        Another transaction would not see an order that the shop is just creating, and may wait for its locks.
        """
        if self.wiring.sessions.open_connection() is not None:
            return without_request(self.wiring.call_shop, function, name)
        with self.transactions.open() as transaction:
            return without_request(transaction.ask, function, name)

    def order_url(self, order_id: str) -> str | None:
        """The address of the shop's own page of an order; None for a payment request, or when its `order_url` fails."""
        try:
            return self.ask_order_url(order_id)
        except Exception as error:
            # The customer has paid, or must learn what to do, which is more important than a link.
            self.wiring.log.exception("order_url", "order_url failed for order %s", order_id, extra=about(order_id))
            self.problems.record(ProblemKind.ORDER_URL, order_id, error)
            return None

    def ask_order_url(self, order_id: str) -> str | None:
        """The address of the shop's own page of an order; an error of its `order_url` is raised."""
        url: object = None
        if request_of(order_id) is None:
            url = self.wiring.call_shop(self.wiring.callbacks.order_url, order_id)
        if url is not None and not isinstance(url, str):
            raise TypeError(f"order_url must return a string or None, not {type(url).__name__}")
        if url and not is_address(url):
            raise ValueError("order_url must return an http(s) address, or a path that begins with one slash")
        return url


# The limits after which an error of `order_total` counts as the shop's although it may have another cause: the time
# since the payment arrived, for unknown errors of the database, and the number of tries, for exceptions that end a slow
# worker.
_UNKNOWN, _TRIES = timedelta(hours=1), 2


def is_in_parts(total: Total | Free | None) -> bool:
    """Whether several payments may pay this total."""
    return isinstance(total, Pay) and total.parts


class OrderTotalFailed(Exception):
    """The shop's `order_total` raised, so its transaction, which may be unusable now, is rolled back."""

    def __init__(self, error: BaseException) -> None:
        self.text = first_line(error)
        super().__init__(self.text)


@dataclass(frozen=True, eq=False)
class OrderTotals:
    """Asks one app's shop for the present totals of orders whose money has arrived."""

    checkouts: Checkouts
    answers: ShopAnswers

    def total(self, transaction: ShopTransaction, checkout: CheckoutMixin) -> Total | Free | None:
        """The total that the order costs now; None when it cannot be paid.

        :raises OrderTotalFailed: the shop's function raised, and trying again is not known to help.
        """
        try:
            return self.answers.total_or_free_in(transaction, checkout.order_id)
        except (ConfigurationError, KeyboardInterrupt):
            raise
        except BaseException as error:
            if is_passing(error) or self._may_pass(checkout, error):
                raise
            text, fields = "order_total failed for order %s, whose money has come", about_checkout(checkout)
            self.answers.wiring.log.exception("order_total", text, checkout.order_id, extra=fields)
            raise OrderTotalFailed(error) from error

    def _may_pass(self, checkout: CheckoutMixin, error: BaseException) -> bool:
        """Whether an unknown error is too recent to count as the shop's own; the payment is not held meanwhile."""
        if checkout.status not in OPEN:
            return False
        arrived_at = checkout.payment_completed_at
        if isinstance(error, DBAPIError):
            return arrived_at is None or self.answers.wiring.clock() < arrived_at + _UNKNOWN
        return not isinstance(error, Exception) and (arrived_at is None or checkout.failed_reads < _TRIES)

    def asks_about(self, checkout: CheckoutMixin, ruling: Ruling) -> bool:
        """Whether the shop is asked about a payment: it agrees, or may be a part of what its order costs."""
        if ruling.evidence is Evidence.DEPOSIT_AGREES:
            return True
        arrived = ruling.evidence is Evidence.DEPOSIT_DISAGREES and isinstance(checkout.total, Pay)
        return arrived and (
            is_in_parts(checkout.total) or bool(self.checkouts.order_payments(checkout.order_id).newest_part)
        )

    def rule(
        self,
        transaction: ShopTransaction,
        checkout: CheckoutMixin,
        ruling: Ruling,
        paid: Amount | None,
        payments_now: Callable[[], OrderPayments],
    ) -> Ruling:
        """Ask the shop whether it still wants a payment, in the transaction that moves the checkout.

        :param paid: the amount that the customer paid; None where that is unknown.
        :param payments_now: returns the order's payments.
        :raises OrderTotalFailed: `order_total` failed.
        """
        total = self.total(transaction, checkout)
        payments = payments_now()
        requested = checkout.total
        in_parts = payments.newest_part or is_in_parts(total) or is_in_parts(requested)
        reason = None if in_parts or total == requested else Reason.ORDER_CHANGED
        if not isinstance(total, (Pay, Receive)):
            reason = Reason.ORDER_NOT_PAYABLE
        answer = "not payable" if total is None else str(total)
        compared = (*ruling.compared, Comparison("order_total now", str(requested), answer, not reason))
        # The move itself refuses a second payment of the order; this gives the reason to hold it.
        reason = Reason.DUPLICATE if payments.is_paid else reason
        if reason or not isinstance(total, (Pay, Receive)):
            return Ruling(Evidence.DEPOSIT_DISAGREES, reason, compared)
        if in_parts:
            return rule_on_part(paid, total, payments, compared)
        return msgspec.structs.replace(ruling, compared=compared)

    def rule_without(self, checkout: CheckoutMixin, agrees: Ruling, failure: OrderTotalFailed) -> Ruling:
        """The ruling that holds a payment because the shop cannot give the order's present total."""
        is_paid = self.checkouts.order_status(checkout.order_id) == Status.PAID
        reason = Reason.DUPLICATE if is_paid else Reason.ORDER_TOTAL_FAILED
        comparison = Comparison(
            "order_total now", str(checkout.total), f"raised {failure.text.partition(':')[0]}", False
        )
        return Ruling(Evidence.DEPOSIT_DISAGREES, reason, (*agrees.compared, comparison), failure.text)
