"""What an order costs now, asked of the shop in the transaction that moves a checkout."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.exc import DBAPIError

from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.ruling import Comparison, Ruling, order_disagreement
from flask_paycheckout.checkouts.states import Evidence, Reason
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.database.database_errors import is_passing
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.events.shop_transaction import ShopTransaction
from flask_paycheckout.totals import Total

# The most characters of the shop's error that are stored.
_MAX_TEXT = 500
# A database error inside `order_total` may be a fault of the database or of the shop; if it repeats, of the shop.
_DATABASE_TRIES = 2


class OrderTotalFailed(Exception):
    """The shop's `order_total` raised, so its transaction, which may be unusable now, is rolled back."""

    def __init__(self, error: BaseException) -> None:
        self.text = f"{type(error).__name__}: {error}"[:_MAX_TEXT]
        super().__init__(self.text)


class OrderTotals:
    """Asks one app's shop what its orders cost now, when their money has come.

    :param ask: calls the shop's `order_total` in a transaction.
    """

    def __init__(self, checkouts: Checkouts, ask: Callable[[ShopTransaction, str], Total | None]) -> None:
        self._checkouts = checkouts
        self._ask = ask

    def total(self, transaction: ShopTransaction, attempt: CheckoutMixin) -> Total | None:
        """What the order costs now; None when it cannot be paid.

        :raises OrderTotalFailed: the shop's function raised, and trying again is not known to help.
        """
        try:
            return self._ask(transaction, attempt.order_id)
        except (ConfigurationError, KeyboardInterrupt):
            raise
        except BaseException as error:
            if is_passing(error) or (isinstance(error, DBAPIError) and attempt.failed_reads < _DATABASE_TRIES):
                raise
            raise OrderTotalFailed(error) from error

    def rule(self, transaction: ShopTransaction, attempt: CheckoutMixin, agrees: Ruling, refused: bool) -> Ruling:
        """Ask the shop whether it still wants a payment that agrees, in the transaction that moves the checkout.

        :param refused: whether the database has refused this payment, since another one may have paid the order.
        :raises OrderTotalFailed: the shop could not say it.
        """
        total = self.total(transaction, attempt)
        reason = order_disagreement(attempt.total, total)
        found = "not payable" if total is None else str(total)
        compared = (*agrees.compared, Comparison("order_total now", str(attempt.total), found, not reason))
        # The move itself refuses a second payment of the order; this query gives the reason to hold it.
        if (reason or refused) and self._checkouts.has_paid(attempt.order_id, transaction.connection):
            reason = Reason.DUPLICATE
        return Ruling(Evidence.DEPOSIT_DISAGREES if reason else Evidence.DEPOSIT_AGREES, reason, compared)

    def rule_without(self, attempt: CheckoutMixin, agrees: Ruling, failure: OrderTotalFailed) -> Ruling:
        """The decision to hold a payment that agrees, while the shop cannot say what the order costs now."""
        reason = Reason.DUPLICATE if self._checkouts.has_paid(attempt.order_id) else Reason.ORDER_TOTAL_FAILED
        asked = Comparison("order_total now", str(attempt.total), f"raised {failure.text}", False)
        return Ruling(Evidence.DEPOSIT_DISAGREES, reason, (*agrees.compared, asked), failure.text)
