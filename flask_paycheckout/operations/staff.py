"""What the shop's staff looks up and does, on the owner's pages and with commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask_paycheckout.books.account_names import is_stored, sending_accounts, stored_accounts
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.states import Status
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.database.order_ids import is_order_id
from flask_paycheckout.errors import PayoutRefused, UnknownPayout
from flask_paycheckout.operations.base import OperationsBase
from flask_paycheckout.payouts.paybacks import MoneyToPayBack, count_to_pay_back, list_to_pay_back
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutKind, PayoutStatus
from flask_paycheckout.payouts.requests import RefundablePayment
from flask_paycheckout.service.accounts import SETTINGS, AccountUnavailable, require_account_name
from flask_paycheckout.service.calls import PROOF

if TYPE_CHECKING:
    from flask_paycheckout.books.alarms import Alarm, Look, Severity
    from flask_paycheckout.books.order_list import OrderPage
    from flask_paycheckout.books.payout_overview import PayoutPage
    from flask_paycheckout.books.report import Report

__all__ = ["StaffOperations"]


class StaffOperations(OperationsBase):
    """The calls that the owner's pages and the commands for people make.

    Lists and reports are imported when they are made: a web process seldom makes one, and would load them at its start.
    """

    def find_checkout(self, checkout_id: str) -> CheckoutMixin | None:
        """The stored checkout with this id; None when there is none."""
        return self._runtime.checkouts.find(checkout_id)

    def find_order_id(self, text: str) -> str | None:
        """The id of the order that has this order id or checkout id; None when neither is stored."""
        from flask_paycheckout.books import order_list

        return order_list.find_order_id(self._runtime.engine(), self._runtime.models, text)

    def list_orders(self, status: Status | None, place: str | None, account: str | None = None) -> OrderPage:
        """A page of orders with their attempts, newest first.

        :param status: only orders in this state.
        :param place: `next_place` of the page before; None for the first page.
        :param account: only those of this merchant account.
        """
        from flask_paycheckout.books import order_list

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

    # Payouts and refunds

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
        from flask_paycheckout.books.payout_overview import PayoutOverview

        shop = self._for_reading("the list of payouts")
        with shop.engine().connect() as connection:
            return PayoutOverview(connection, shop.models, account).page(status, kind, place, limit)

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

    def read_transfer_proof(self, reference: str) -> bytes:
        """The transfer proof of a completed bank transfer, as a PDF.

        :raises UnknownPayout: no such payout is stored.
        :raises TransitionRefused: it is not completed, or was paid in a token.
        :raises flask_paycheckout.client.PaymentsError: there was no usable answer.
        """
        payout = self.find_payout(reference)
        if payout is None:
            raise UnknownPayout(reference)
        disbursement_id = payout.disbursement_id
        if payout.is_token or payout.status != PayoutStatus.COMPLETED or not disbursement_id:
            remedy = "Only a completed bank transfer has one."
            raise PayoutRefused(reference, payout.status, "give the transfer proof", remedy)
        service = self._for_reading("the transfer proof").service
        with service.permit(PROOF, payout.account if payout.paid_by is None else payout.paid_by) as permit:
            return permit.ask(lambda client: client.fiat_disbursements.report(disbursement_id))

    # Merchant accounts

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

    def accounts_without_token(self) -> list[str]:
        """The merchant accounts with payouts to be sent that have no access token; "" is the one of the settings."""
        shop = self._runtime
        with shop.engine().connect() as connection:
            names = sending_accounts(connection, shop.models)
        return [name for name in names if self._lacks_token(name)]

    def _lacks_token(self, account: str) -> bool:
        try:
            token = self._runtime.accounts.access_token_of(account)
            return (self._runtime.settings.access_token if token is SETTINGS else token) is None
        except PaymentsError:
            # The shop has no keys for this account. The report names it already, because its calls fail.
            return False

    # Alarms

    def report(self, account: str | None = None, least: Severity | None = None) -> Report:
        """Report on all payments of the shop: counts by state, and the alarms.

        :param account: only those of this merchant account.
        :param least: only alarms that are at least as urgent.
        """
        from flask_paycheckout.books.report import report

        self._for_reading("the report")
        return report(self.look(account), *([] if least is None else [least]))

    def alarms(self, account: str | None = None) -> tuple[Alarm, ...]:
        """Everything that is wrong, or that a person has to decide, as `report` lists it.

        :param account: only what is about this merchant account.
        """
        from flask_paycheckout.books.report import find_alarms

        return find_alarms(self.look(account))

    def look(self, account: str | None = None) -> Look:
        """What alarms are found in.

        :param account: only what is about this merchant account.
        """
        from flask_paycheckout.books.alarms import Look

        shop = self._runtime
        return Look(shop.engine(), shop.models, shop.clock(), account, self._lacks_token)
