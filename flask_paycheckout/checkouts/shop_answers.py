"""The shop's answers about its orders and accounts, and what follows for a payment that has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.ruling import Comparison, Ruling, order_disagreement
from flask_paycheckout.checkouts.states import Evidence, Reason
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.database.database_errors import is_passing
from flask_paycheckout.database.order_ids import request_of
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.events.shop_transaction import ShopTransaction, ShopTransactions
from flask_paycheckout.service.accounts import Account, require_account_name
from flask_paycheckout.totals import NothingToPay, Pay, Receive, Total

if TYPE_CHECKING:
    from flask_paycheckout.checkouts.requests import PaymentRequests
    from flask_paycheckout.parts import Parts


class AskedOrder(NamedTuple):
    """The shop's answers about an order."""

    total: Total | None
    account: str
    """The name of the merchant account whose order it is; empty for the one of the settings."""


@dataclass(frozen=True)
class ShopAnswers:
    """Calls the callbacks of one app's shop, each in a transaction of the shop's session that is not committed."""

    parts: Parts
    transactions: ShopTransactions
    requests: PaymentRequests

    def total_in(self, transaction: ShopTransaction, order_id: str) -> Total | None:
        """The order's present total, asked in this transaction; None: it cannot be paid."""
        if request_of(order_id) is not None:
            return self.requests.payable_in(transaction.connection, order_id)
        total = transaction.call(self.parts.callbacks.pricing, order_id)
        if total is not None and not isinstance(total, (Pay, Receive)):
            raise TypeError(
                f"order_total must return Pay, Receive or None, not {type(total).__name__}."
                " Write for instance: return Pay(order.total, 'USD')"
            )
        return total

    def is_payable(self, order_id: str) -> bool:
        """Whether the order can be paid now."""
        with self.transactions.open() as transaction:
            return self.is_payable_in(transaction, order_id)

    def is_payable_in(self, transaction: ShopTransaction, order_id: str) -> bool:
        """Whether the order can be paid now, asked in this transaction."""
        try:
            return self.total_in(transaction, order_id) is not None
        except NothingToPay:
            return False

    def order(self, order_id: str) -> AskedOrder:
        """The order's present total and its merchant account."""
        with self.transactions.open() as transaction:
            total = self.total_in(transaction, order_id)
            # The shop may know no account of an order that cannot be paid, or no such order at all.
            return AskedOrder(total, "" if total is None else self._account_of(transaction, order_id))

    def account_of(self, order_id: str) -> str:
        """The name of the order's merchant account; "" is the one of the settings."""
        with self.transactions.open() as transaction:
            return self._account_of(transaction, order_id)

    def account_now(self, order_id: str) -> str:
        """The name of the order's merchant account, as the running transaction of `db.session` sees it."""
        if request_of(order_id) is not None:
            return self._account_of_request(order_id, self.parts.sessions.open_connection())
        account_of = self.parts.callbacks.account_of
        return require_account_name("" if account_of is None else self.parts.call_shop(account_of, order_id))

    def _account_of(self, transaction: ShopTransaction, order_id: str) -> str:
        if request_of(order_id) is not None:
            return self._account_of_request(order_id, transaction.connection)
        account_of = self.parts.callbacks.account_of
        return require_account_name("" if account_of is None else transaction.call(account_of, order_id))

    def _account_of_request(self, order_id: str, connection: Connection | None) -> str:
        found = self.requests.of_an_order(order_id, connection)
        return "" if found is None else found.account

    def account(self, name: str) -> Account | None:
        """The keys of a merchant account; None: there is no such account."""
        if self.parts.callbacks.account is None:
            return None
        with self.transactions.open() as transaction:
            account: Account | None = transaction.call(self.parts.callbacks.account, name)
            return account

    def order_url(self, order_id: str) -> str | None:
        """The address of the shop's own page of an order; a payment request has none."""
        if request_of(order_id) is not None:
            return None
        url: str | None = self.parts.call_shop(self.parts.callbacks.order_url, order_id)
        return url


# The most characters of the shop's error that are stored.
_MAX_TEXT = 500
# A database error inside `order_total` may be a fault of the database or of the shop; if it repeats, of the shop.
_DATABASE_TRIES = 2


class OrderTotalFailed(Exception):
    """The shop's `order_total` raised, so its transaction, which may be unusable now, is rolled back."""

    def __init__(self, error: BaseException) -> None:
        self.text = f"{type(error).__name__}: {error}"[:_MAX_TEXT]
        super().__init__(self.text)


@dataclass(frozen=True, eq=False)
class OrderTotals:
    """Asks one app's shop what its orders cost now, when their money has come."""

    checkouts: Checkouts
    answers: ShopAnswers

    def total(self, transaction: ShopTransaction, checkout: CheckoutMixin) -> Total | None:
        """What the order costs now; None when it cannot be paid.

        :raises OrderTotalFailed: the shop's function raised, and trying again is not known to help.
        """
        try:
            return self.answers.total_in(transaction, checkout.order_id)
        except (ConfigurationError, KeyboardInterrupt):
            raise
        except BaseException as error:
            if is_passing(error) or (isinstance(error, DBAPIError) and checkout.failed_reads < _DATABASE_TRIES):
                raise
            raise OrderTotalFailed(error) from error

    def rule(self, transaction: ShopTransaction, checkout: CheckoutMixin, agrees: Ruling, refused: bool) -> Ruling:
        """Ask the shop whether it still wants a payment that agrees, in the transaction that moves the checkout.

        :param refused: whether the database has refused this payment, since another one may have paid the order.
        :raises OrderTotalFailed: the shop could not say it.
        """
        total = self.total(transaction, checkout)
        reason = order_disagreement(checkout.total, total)
        found = "not payable" if total is None else str(total)
        compared = (*agrees.compared, Comparison("order_total now", str(checkout.total), found, not reason))
        # The move itself refuses a second payment of the order; this query gives the reason to hold it.
        if (reason or refused) and self.checkouts.has_paid(checkout.order_id, transaction.connection):
            reason = Reason.DUPLICATE
        return Ruling(Evidence.DEPOSIT_DISAGREES if reason else Evidence.DEPOSIT_AGREES, reason, compared)

    def rule_without(self, checkout: CheckoutMixin, agrees: Ruling, failure: OrderTotalFailed) -> Ruling:
        """The decision to hold a payment that agrees, while the shop cannot say what the order costs now."""
        reason = Reason.DUPLICATE if self.checkouts.has_paid(checkout.order_id) else Reason.ORDER_TOTAL_FAILED
        asked = Comparison("order_total now", str(checkout.total), f"raised {failure.text}", False)
        return Ruling(Evidence.DEPOSIT_DISAGREES, reason, (*agrees.compared, asked), failure.text)
