"""What the shop's callbacks say about its orders and accounts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from flask_paycheckout.checkouts.start import AskedOrder
from flask_paycheckout.events.shop_transaction import ShopTransaction, ShopTransactions
from flask_paycheckout.service.accounts import Account, require_account_name
from flask_paycheckout.totals import Pay, Receive, Total

if TYPE_CHECKING:
    from flask_paycheckout.parts import Parts


@dataclass(frozen=True)
class ShopAnswers:
    """Calls the callbacks of one app's shop, each in a transaction of the shop's session that is not committed."""

    parts: Parts
    transactions: ShopTransactions

    def total_in(self, transaction: ShopTransaction, order_id: str) -> Total | None:
        """The order's present total, asked in this transaction; None: it cannot be paid."""
        total = transaction.call(self.parts.callbacks.pricing, order_id)
        if total is not None and not isinstance(total, (Pay, Receive)):
            raise TypeError(
                f"order_total must return Pay, Receive or None, not {type(total).__name__}."
                " Write for instance: return Pay(order.total, 'USD')"
            )
        return total

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

    def _account_of(self, transaction: ShopTransaction, order_id: str) -> str:
        account_of = self.parts.callbacks.account_of
        return require_account_name("" if account_of is None else transaction.call(account_of, order_id))

    def account(self, name: str) -> Account | None:
        """The keys of a merchant account; None: there is no such account."""
        if self.parts.callbacks.account is None:
            return None
        with self.transactions.open() as transaction:
            account: Account | None = transaction.call(self.parts.callbacks.account, name)
            return account

    def order_url(self, order_id: str) -> str | None:
        """The address of the shop's own page of an order."""
        url: str | None = self.parts.call_shop(self.parts.callbacks.order_url, order_id)
        return url
