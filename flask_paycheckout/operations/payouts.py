"""The calls about money out that a shop makes: payouts, refunds, and people's decisions on them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from flask_paycheckout.client.hidden import concealed
from flask_paycheckout.operations.base import OperationsBase
from flask_paycheckout.payouts.destinations import ByHand, Destination
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.results import PayoutReport

__all__ = ["PayoutOperations"]


class PayoutOperations(OperationsBase):
    """The calls about money out of one app's shop."""

    def pay_out(
        self,
        reference: str,
        amount: Decimal | int | str,
        currency: str,
        to: Destination,
        *,
        note: str | None = None,
        order_id: str | None = None,
        account: str = "",
        approve: bool | None = None,
    ) -> PayoutMixin:
        """Add a payout to `db.session`; it exists if the shop commits, and nothing is sent before.

        The same reference with the same content gives the stored payout, so that the call may be repeated.

        :param reference: the shop's own, one for each payment; 255 characters at most.
        :param amount: Decimal, int or str; never a float.
        :param currency: an ISO 4217 code, or a token id of the service, which is paid to a wallet.
        :param note: a text for the recipient; 255 characters at most.
        :param order_id: the order that it belongs to, whose explanation then tells it.
        :param account: the merchant account that pays; the one of the settings by default.
        :param approve: True: it waits for a person's approval; False: it does not; None: as PAYCHECKOUT_APPROVE_OVER
            says.
        :raises PayoutConflict: the reference belongs to a payout with another amount, currency, destination or account.
        :raises TypeError: the amount is a float, or another argument has the wrong type.
        :raises ValueError: an argument cannot be used; the message names it.
        """
        return self._runtime.payout_requests.pay_out(reference, amount, currency, to, note, order_id, account, approve)

    def refund(
        self,
        checkout_id: str,
        amount: Decimal | int | str | None = None,
        *,
        by: str,
        why: str,
        to: Destination | ByHand | None = None,
    ) -> PayoutMixin:
        """Pay a customer's money back, in the currency that was paid; added to `db.session` like `pay_out`.

        A held payment is rejected by it. Without `to`, send the customer `refund_url(refund.reference)`.

        :param amount: Decimal, int or str; what is left of the payment by default.
        :param by: who decides; 255 characters at most.
        :param why: the reason; 1,000 characters at most.
        :param to: the destination; by default the customer says it. `ByHand()` records that the money was given back
            outside of the service: the refund is completed at once.
        :raises UnknownCheckout: no such checkout is stored.
        :raises NothingToRefund: no money of it arrived.
        :raises RefundTooLarge: with the other refunds it would be more than what arrived.
        :raises PaybackRefused: the money is recorded as paid back by hand.
        :raises TypeError: the amount is a float, or another argument has the wrong type.
        :raises ValueError: an argument cannot be used; the message names it.
        """
        return self._runtime.payout_requests.refund(checkout_id, amount, by, why, to)

    def approve_payout(
        self, reference: str, *, by: str, why: str | None = None, seen: int | None = None
    ) -> PayoutMixin:
        """Release a payout that waits for a person.

        :param seen: the `revision` of the payout that the person saw; another one is refused.
        :raises UnknownPayout: no such payout is stored.
        :raises TransitionRefused: it does not wait, or its destination changed since the person saw it.
        :raises ValueError: `by` or `why` is blank or too long.
        """
        call = f"approve_payout({reference!r})"
        return self._beside_session(call).payout_decisions.approve(reference, by, why, seen)

    def cancel_payout(self, reference: str, *, by: str, why: str) -> PayoutMixin:
        """Cancel a payout of which nothing was sent.

        :raises UnknownPayout: no such payout is stored.
        :raises TransitionRefused: it is being sent, or was sent.
        :raises ValueError: `by` or `why` is blank or too long.
        """
        return self._beside_session(f"cancel_payout({reference!r})").payout_decisions.cancel(reference, by, why)

    def retry_payout(self, reference: str, *, by: str, why: str) -> PayoutMixin:
        """Have a payout that failed sent again, once the service has said what became of its earlier tries.

        :raises UnknownPayout: no such payout is stored.
        :raises TransitionRefused: it has not failed, or its account number was wiped.
        :raises RefundTooLarge: it is a refund, and others have taken its money meanwhile.
        :raises ValueError: `by` or `why` is blank or too long.
        """
        return self._beside_session(f"retry_payout({reference!r})").payout_decisions.retry(reference, by, why)

    def resolve_payout(self, reference: str, sent: bool, *, by: str, why: str) -> PayoutMixin:
        """Record whether a payout was sent, as a person found out at the service or on the chain.

        :param sent: False sends an unknown payout (again), so look first; a sent or completed one has failed, and its
            money is back. True completes one that the service reports with another amount, with that amount.
        :raises UnknownPayout: no such payout is stored.
        :raises TransitionRefused: its state does not allow this.
        :raises RefundTooLarge: it is a refund, and with the amount that the service reports it is too large.
        :raises ValueError: `by` or `why` is blank or too long.
        """
        return self._beside_session(f"resolve_payout({reference!r})").payout_decisions.resolve(reference, sent, by, why)

    def send_payouts(self, access_token: str | Callable[[], str] | None = None) -> PayoutReport:
        """Send the payouts that are ready, look up those whose answer was lost, and read those that were sent.

        Any number of processes may do so at once. What gets no answer is tried again by a later call.

        :param access_token: the service's access token, or a function that returns it; the one of
            PAYCHECKOUT_ACCESS_TOKEN by default. Without any, nothing is sent.
        :raises UncommittedChanges: `db.session` holds changes that are not committed, and SQLite has one writer.
        :raises ValueError: the access token cannot stand in a header.
        """
        access_token = concealed(access_token)
        return self._beside_session("send_payouts()").payout_sender.run(access_token)
