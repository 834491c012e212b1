"""Calls to the service about payouts, and the comparison of its answers with the requests."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import partial, reduce
from typing import TypeGuard

import msgspec

from flask_paycheckout.client import (
    CryptoDisbursement,
    CryptoReceiver,
    FiatDisbursement,
    FiatItem,
    FiatTransfer,
    NewRecipient,
    NotFound,
    PaymentsClient,
    PaymentsError,
    PayoutBank,
    RequestRefused,
    Unauthorized,
)
from flask_paycheckout.client.records import if_sent
from flask_paycheckout.errors import PayoutRefused
from flask_paycheckout.payouts.account_numbers import compact
from flask_paycheckout.payouts.destinations import Destination, Sealing, ToBank, ToRecipient, ToWallet, Unreadable
from flask_paycheckout.payouts.payout_model import MAX_NUMBER, PayoutMixin
from flask_paycheckout.payouts.payout_schedule import CLOCKS_DIFFER, FORGOTTEN
from flask_paycheckout.payouts.payout_states import RELEASING, Doubt, PayoutState, PayoutStatus
from flask_paycheckout.payouts.payout_table import Payouts, Try, late_tries
from flask_paycheckout.service.accounts import Accounts, AccountUnavailable
from flask_paycheckout.service.calls import PROOF, Service
from flask_paycheckout.service.record import PAYOUT, READS, ServiceRecord
from flask_paycheckout.shop_functions import personal
from flask_paycheckout.text import visible
from flask_paycheckout.totals import EXACT

Disbursement = FiatTransfer | CryptoDisbursement
"""The service's record of a payout."""

OTHER_AMOUNT, OTHER_DESTINATION = (
    "the service has it with another amount",
    "the service has it with another destination",
)

Late = tuple[Try | None, FiatDisbursement | None]
"""An earlier try that the service pays after all, or None, and the service's record of the transfer."""

_MAX_TEXT = 500
# A transfer that had failed, and has one of these statuses, is paid after all.
_PAID_AFTER_ALL = ("pending", "completed")
_TAKEN = re.compile("reference|unique|duplicate|already", re.IGNORECASE)
_MASKING = "*•"


def goes_elsewhere(to: Destination, disbursement: Disbursement) -> bool:
    """Whether the service's record names another destination; fields that the record leaves out are not compared."""
    if isinstance(disbursement, CryptoDisbursement):
        return isinstance(to, ToWallet) and not _same_wallet(to.address, if_sent(disbursement, "receiver_address"))
    if isinstance(to, ToRecipient):
        return if_sent(disbursement, "recipient", "recipient_id") not in (None, to.recipient_id)
    if isinstance(to, ToBank):
        return not is_same_number(to.account_number, if_sent(disbursement, "recipient", "bank", "account_number"))
    return False


def _same_wallet(address: str, recorded: str | None) -> bool:
    if recorded is None or recorded == address:
        return True
    # The capitals of a hexadecimal address are only its checksum.
    return address.startswith("0x") and recorded.lower() == address.lower()


def is_same_number(number: str, recorded: str | None) -> bool:
    """Whether a record shows this account number; only the visible end of a masked number is compared."""
    if recorded is None:
        return True
    if any(char in recorded for char in _MASKING):
        end = max(recorded.rfind(char) for char in _MASKING)
        return compact(number).endswith(compact(recorded[end:]))
    return compact(number) == compact(recorded)


def record_status(disbursement: Disbursement) -> str:
    """The record's status in lower case; empty when the service left it out."""
    return (if_sent(disbursement, "status") or "").lower()


def is_paid_after_all(disbursement: Disbursement) -> bool:
    """Whether the record of a transfer that had failed says that it is paid, or will be."""
    return record_status(disbursement) in _PAID_AFTER_ALL


def amount_to_accept(payout: PayoutMixin, disbursement: Disbursement, problem: str) -> str | None:
    """The exact amount, as text, that a person may accept although the record differs; None if nobody may.

    :param problem: the difference, as `PayoutCalls.difference` returned it.
    """
    if problem == OTHER_DESTINATION:
        return payout.exact_amount
    sent = if_sent(disbursement, "amount")
    amount = "" if problem != OTHER_AMOUNT or sent is None or sent <= 0 else f"{sent:f}"
    return amount if 0 < len(amount) <= MAX_NUMBER else None


def difference(
    payout: PayoutMixin, disbursement: Disbursement, to: Destination | None, earlier: Try | None = None
) -> str | None:
    """A difference of the service's record from a payout in id, amount, currency or destination; None without one.

    Fields that the record leaves out are not compared.

    :param to: the payout's destination; None if it cannot be read any more, and is therefore not compared.
    :param earlier: the earlier try that the record belongs to; None for the present one.
    """
    sent: Try | PayoutMixin = earlier or payout
    # A person may have accepted another amount of the present try.
    amount = payout.exact_amount if earlier is None else payout.asked_amount or payout.exact_amount
    if disbursement.reference not in (None, sent.service_reference):
        return "the service has it under another reference"
    if sent.disbursement_id not in (None, disbursement.disbursement_id):
        return "the service answered with another disbursement"
    try:
        same = if_sent(disbursement, "amount") in (None, Decimal(amount))
    except ArithmeticError:
        # Another program has stored an amount that is not a number.
        same = False
    if not same:
        return OTHER_AMOUNT
    currency = if_sent(disbursement, "token" if isinstance(disbursement, CryptoDisbursement) else "currency")
    if currency not in (None, payout.currency):
        return "the service has it with another currency"
    return OTHER_DESTINATION if to is not None and goes_elsewhere(to, disbursement) else None


@dataclass(frozen=True, eq=False)
class PayoutCalls:
    """Calls the service for one app's payouts."""

    accounts: Accounts
    payouts: Payouts
    sealing: Sealing
    record: ServiceRecord
    service: Service

    def known_destination(self, payout: PayoutMixin) -> Destination | None:
        """The payout's destination; None when it cannot be read."""
        try:
            return self.sealing.open(payout.to_kind, payout.to_details)
        except Unreadable:
            return None

    def difference(self, payout: PayoutMixin, disbursement: Disbursement, earlier: Try | None = None) -> str | None:
        """Like the function `difference`, for the stored destination."""
        return difference(payout, disbursement, self.known_destination(payout), earlier)

    def send(self, client: PaymentsClient, batch: Sequence[tuple[PayoutMixin, Destination]]) -> Sequence[Disbursement]:
        """Send payouts of one currency in one call, each to its destination.

        :raises PaymentsError: there was no answer, or the service refused.
        :raises TypeError, ValueError: the call cannot be built; nothing was sent.
        """
        first, _ = batch[0]
        try:
            disbursements = _create(client, batch)
        except PaymentsError as error:
            if isinstance(error, Unauthorized):
                self.accounts.refused(first.account)
            # The refusal of a single payout says nothing about the others.
            self.record.on_outcome(PAYOUT, first.payer, None if is_refusal(error) else error, error_text(error))
            raise
        self.record.on_outcome(PAYOUT, first.payer)
        return disbursements

    def find(self, payouts: Sequence[PayoutMixin]) -> Mapping[str, FiatDisbursement | None]:
        """Look up bank transfers that were sent with the same keys; see `_asking`."""
        since = min(payout.taken_at or payout.created_at for payout in payouts)
        reach = FORGOTTEN if any(payout.state == PayoutState.REFUSED for payout in payouts) else CLOCKS_DIFFER
        references = [payout.service_reference for payout in payouts]
        return self._asking(payouts[0].account, payouts[0], references, since - reach)()

    def unknown_transfers(self, refunds: Sequence[PayoutMixin]) -> Mapping[str, list[FiatDisbursement]]:
        """Look up bank transfers of these refunds' payments that are not stored here.

        :param refunds: refunds that are sent with the same keys, numbered as the next transfers of their payments.
        :returns: the transfers by the payment's checkout id.
        """
        checkout_ids = self.payouts.next_references(refunds)
        before = self.payouts.arrived(set(checkout_ids.values())) - CLOCKS_DIFFER
        unknown = defaultdict[str, list[FiatDisbursement]](list)
        transfers = self._asking(refunds[0].account, refunds[0], [*checkout_ids], before)()
        for reference, transfer in transfers.items():
            if transfer is not None:
                unknown[checkout_ids[reference]].append(transfer)
        return unknown

    def reading(self, payout: PayoutMixin, earlier: Try | None = None) -> Callable[[], FiatDisbursement | None]:
        """A function that reads a sent bank transfer; it returns None when the service does not know its reference.

        :param earlier: an earlier try, to be read in place of the present one.
        :raises PaymentsError: the shop gives no keys for the account; from the function, its keys are not the ones that
            sent the transfer.
        """
        sent: Try | PayoutMixin = earlier or payout
        reach = CLOCKS_DIFFER if earlier is None else FORGOTTEN
        ask = self._asking(payout.account, sent, [sent.service_reference], payout.created_at - reach)

        def read() -> FiatDisbursement | None:
            transfers = ask()
            if sent.service_reference not in transfers:
                raise AccountUnavailable(PAYOUT, payout.account, keys_gone_text(sent.client_id))
            return transfers[sent.service_reference]

        return read

    def reading_all(self, payout: PayoutMixin) -> Callable[[], Late]:
        """A function that reads a sent bank transfer, and the earlier tries that the service may pay after all.

        It returns the record of the present try, with the sum of all paid tries as its amount. For a failed transfer it
        returns the record of a try that is paid. With each it returns an earlier try that is paid, if there is one.

        :raises PaymentsError: as for `reading`.
        """
        has_failed = payout.status in RELEASING
        read_present = self.reading(payout)
        earlier = list[tuple[Try, Callable[[], FiatDisbursement | None]]]()
        for late_try in late_tries(payout.earlier):
            with _skipped(payout):
                earlier.append((late_try, self.reading(payout, late_try)))

        def read() -> Late:
            present, paid = read_present(), list[tuple[Try, FiatDisbursement]]()
            for late_try, read_late in earlier:
                with _skipped(payout):
                    if (late := read_late()) is not None and is_paid_after_all(late):
                        paid.append((late_try, late))
            if has_failed:
                is_present = present is not None and payout.doubt != Doubt.DENIED and is_paid_after_all(present)
                return (None, present) if is_present or not paid else paid[0]
            if present is None or not paid:
                return None, present
            asked = Decimal(payout.asked_amount or payout.exact_amount)
            amounts = (if_sent(each, "amount") or asked for each in (present, *(late for _, late in paid)))
            return paid[0][0], msgspec.structs.replace(present, amount=reduce(EXACT.add, amounts))

        return read

    def _asking(
        self, account: str, sent: Try | PayoutMixin, references: Sequence[str], before: datetime
    ) -> Callable[[], Mapping[str, FiatDisbursement | None]]:
        """A function that asks the service about tries of an account that were sent with the same keys.

        It returns the disbursements by service reference, with None for one that does not exist. A reference is left
        out if it was sent with other keys and the present ones do not find it, because the disbursement may still
        exist. The function may run in a thread of its own; the account's keys are fetched from the shop before it runs.

        :param sent: one of the tries, or the payout whose present try it is; the only try if its disbursement id is
            known.
        :param references: the service references of all tries.
        :param before: the service received none of the tries before this time.
        :raises PaymentsError: the shop gives no keys for the account.
        """
        after = None
        if sent.disbursement_id is None:
            # The search ends at a transfer that the service certainly had before it received any of these tries.
            after = self.payouts.sent_before(account, sent.client_id, before)
        # The account whose money paid, or may have paid; its keys may have been replaced since.
        payer = account if sent.paid_by is None else sent.paid_by
        client = self.accounts.client_of(payer, PAYOUT)

        def ask(client: PaymentsClient) -> Mapping[str, FiatDisbursement | None]:
            # A signer of the shop's own may need no client id.
            has_sender_keys = sent.client_id in (None, client.client_id)
            calls = client.fiat_disbursements
            with self.record.call(READS, payer):
                try:
                    if sent.disbursement_id is None:
                        transfers = calls.find(references, after=after)
                    else:
                        transfers = {sent.service_reference: calls.get(sent.disbursement_id)}
                except NotFound:
                    if has_sender_keys:
                        raise
                    transfers = {}
                return dict.fromkeys(references if has_sender_keys else ()) | transfers

        return self.accounts.renewing(payer, client, ask)

    def proof(self, reference: str) -> bytes:
        """The transfer proof of a completed bank transfer, as a PDF.

        :raises UnknownPayout: no such payout is stored.
        :raises PayoutRefused: the service has not completed it.
        :raises flask_paycheckout.client.PaymentsError: there was no usable answer.
        """
        payout = self.payouts.require(reference)
        disbursement_id = payout.disbursement_id
        if payout.status != PayoutStatus.COMPLETED or not disbursement_id:
            raise PayoutRefused(
                reference, payout.status, "give the transfer proof", "Only a completed bank transfer has one."
            )
        with self.service.permit(PROOF, payout.payer) as permit:
            return personal(permit.ask(lambda client: client.fiat_disbursements.report(disbursement_id)))


@contextmanager
def _skipped(payout: PayoutMixin) -> Iterator[None]:
    """Skip an earlier try of a payout that cannot be read, unless its alarm about such a try would end unread."""
    try:
        yield
    except PaymentsError as error:
        if payout.reported_amount is not None and not isinstance(error, NotFound):
            raise


def keys_gone_text(client_id: str | None) -> str:
    """The reason why nobody can find out about a payout, for people."""
    return f"it was sent with the client id {client_id!r}, and no account has its keys now"


def is_refusal(error: Exception) -> TypeGuard[RequestRefused]:
    """Whether the service refused the request itself, not the keys, so that a retry would be refused too."""
    return isinstance(error, RequestRefused) and error.carried_out == "no" and not error.retryable


def forgotten_text(transfer: FiatDisbursement) -> str:
    """The reason why a refund is not sent while the service has an unknown transfer of its payment, with the remedy."""
    money = f"{transfer.amount:f} {transfer.currency}"
    return (
        f"the service has paid {money} of this payment back as {transfer.reference}, which is not stored here: ask for"
        " that refund again first, with its amount; it is found, not paid again"
    )


def says_taken(error: RequestRefused) -> bool:
    """Whether the service may have refused because it has the reference already; it accepts each reference once."""
    return error.status_code == 409 or _TAKEN.search(error.message or "") is not None


def error_text(error: Exception) -> str:
    """One line of limited length about a failure, without the client's advice, which is for direct callers.

    The message of an unexpected error is left out, because it may contain a secret.
    """
    if isinstance(error, PaymentsError):
        message = error.summary
    elif isinstance(error, (ValueError, TypeError)):
        message = f"{type(error).__name__}: {error}"
    else:
        message = type(error).__name__
    return visible(message)[:_MAX_TEXT]


def _create(client: PaymentsClient, batch: Sequence[tuple[PayoutMixin, Destination]]) -> Sequence[Disbursement]:
    first, _ = batch[0]
    if first.is_token:
        receivers = [_receiver(payout, to) for payout, to in batch]
        return client.crypto_disbursements.create(first.currency, receivers).disburse_data
    items = [_item(payout, to) for payout, to in batch]
    return client.fiat_disbursements.create(first.currency, items).disburse_data


def _item(payout: PayoutMixin, to: Destination) -> FiatItem:
    item = partial(FiatItem, amount=payout.amount, reference=payout.service_reference, note=payout.note)
    if isinstance(to, ToRecipient):
        return item(recipient_id=to.recipient_id)
    if not isinstance(to, ToBank):
        raise TypeError(f"{payout.currency} is paid to bank accounts, and this is a wallet")
    bank = PayoutBank(
        bank_name=to.bank_name, account_name=to.account_name, account_number=to.account_number, bank_code=to.bank_code
    )
    return item(recipient=NewRecipient(bank=bank, email=to.email, name=to.name))


def _receiver(payout: PayoutMixin, to: Destination) -> CryptoReceiver:
    if not isinstance(to, ToWallet):
        raise TypeError(f"{payout.currency} is a token, which only a wallet takes")
    return CryptoReceiver(
        amount=payout.amount,
        receiver_wallet_address=to.address,
        reference=payout.service_reference,
        note=payout.note,
    )
