"""Calls of the service about payouts, and the comparison of its answers with what was asked for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TypeGuard

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
from flask_paycheckout.payouts.payout_states import PayoutState, PayoutStatus
from flask_paycheckout.payouts.payout_table import Payouts, Try
from flask_paycheckout.service.accounts import Accounts, AccountUnavailable
from flask_paycheckout.service.calls import PROOF, Service
from flask_paycheckout.service.record import PAYOUT, READS, ServiceRecord
from flask_paycheckout.shop_functions import personal
from flask_paycheckout.text import visible

Made = FiatTransfer | CryptoDisbursement
"""A payout as the service has it."""

_OTHER_AMOUNT, OTHER_DESTINATION = (
    "the service has it with another amount",
    "the service has it with another destination",
)

_MAX_TEXT = 500
_TAKEN = re.compile("reference|unique|duplicate|already", re.IGNORECASE)
_MASKING = "*•"


def goes_elsewhere(to: Destination, made: Made) -> bool:
    """Whether the service's record has another destination than a payout; what it leaves out is not compared."""
    if isinstance(made, CryptoDisbursement):
        return isinstance(to, ToWallet) and not _same_wallet(to.address, if_sent(made, "receiver_address"))
    if isinstance(to, ToRecipient):
        return if_sent(made, "recipient", "recipient_id") not in (None, to.recipient_id)
    if isinstance(to, ToBank):
        return not is_same_number(to.account_number, if_sent(made, "recipient", "bank", "account_number"))
    return False


def _same_wallet(address: str, shown: str | None) -> bool:
    if shown is None or shown == address:
        return True
    # The capitals of a hexadecimal address are only its checksum.
    return address.startswith("0x") and shown.lower() == address.lower()


def is_same_number(number: str, shown: str | None) -> bool:
    """Whether a record's account number is this one; of a masked one only the end is compared."""
    if shown is None:
        return True
    if any(char in shown for char in _MASKING):
        end = max(shown.rfind(char) for char in _MASKING)
        return compact(number).endswith(compact(shown[end:]))
    return compact(number) == compact(shown)


def record_status(made: Made) -> str:
    """The record's status in lower case; empty when the service left it out."""
    return (if_sent(made, "status") or "").lower()


def amount_to_accept(payout: PayoutMixin, made: Made, problem: str) -> str | None:
    """The exact amount of a sent payout, if a person who has looked may accept what differs; None otherwise.

    :param problem: as `PayoutCalls.difference` gave it.
    """
    if problem == OTHER_DESTINATION:
        return payout.exact_amount
    sent = if_sent(made, "amount")
    amount = "" if problem != _OTHER_AMOUNT or sent is None or sent <= 0 else f"{sent:f}"
    return amount if 0 < len(amount) <= MAX_NUMBER else None


def difference(payout: PayoutMixin, made: Made, to: Destination | None, earlier: Try | None = None) -> str | None:
    """Why the service's record is another payout's, by ids, amount, currency and destination; None when it is not.

    What the record leaves out is not compared.

    :param to: the payout's destination; None where it cannot be read any more, and is not compared.
    :param earlier: an earlier try that it is the record of.
    """
    sent: Try | PayoutMixin = earlier or payout
    if made.reference not in (None, sent.service_reference):
        return "the service has it under another reference"
    if sent.disbursement_id not in (None, made.disbursement_id):
        return "the service answered with another disbursement"
    try:
        same = if_sent(made, "amount") in (None, payout.amount)
    except ArithmeticError:
        # Another program has stored an amount that is no number.
        same = False
    if not same:
        return _OTHER_AMOUNT
    currency = if_sent(made, "token" if isinstance(made, CryptoDisbursement) else "currency")
    if currency not in (None, payout.currency):
        return "the service has it with another currency"
    return OTHER_DESTINATION if to is not None and goes_elsewhere(to, made) else None


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

    def difference(self, payout: PayoutMixin, made: Made, earlier: Try | None = None) -> str | None:
        """As for the function `difference`, with the destination that is stored."""
        return difference(payout, made, self.known_destination(payout), earlier)

    def send(self, client: PaymentsClient, batch: Sequence[tuple[PayoutMixin, Destination]]) -> Sequence[Made]:
        """Send payouts of one currency in one call, each to its destination.

        :raises PaymentsError: there was no answer, or the service refused.
        :raises TypeError, ValueError: the call cannot be built; nothing was sent.
        """
        first, _ = batch[0]
        try:
            made = _create(client, batch)
        except PaymentsError as error:
            if isinstance(error, Unauthorized):
                self.accounts.refused(first.account)
            # The refusal of a single payout says nothing about the others.
            self.record.on_outcome(PAYOUT, first.payer, None if is_refusal(error) else error, error_text(error))
            raise
        self.record.on_outcome(PAYOUT, first.payer)
        return made

    def find(self, payouts: Sequence[PayoutMixin]) -> Mapping[str, FiatDisbursement | None]:
        """Look bank transfers that were sent with the same keys up at the service; see `_asking`."""
        since = min(payout.taken_at or payout.created_at for payout in payouts)
        reach = FORGOTTEN if any(payout.state == PayoutState.REFUSED for payout in payouts) else CLOCKS_DIFFER
        wanted = [payout.service_reference for payout in payouts]
        return self._asking(payouts[0].account, payouts[0], wanted, since - reach)()

    def unknown_transfers(self, refunds: Sequence[PayoutMixin]) -> Mapping[str, list[FiatDisbursement]]:
        """Look for bank transfers of payments that are not stored here, whose refunds are sent with the same keys.

        :param refunds: numbered as the next transfers of their payments.
        :returns: the transfers by the payment's checkout id.
        """
        of = self.payouts.next_references(refunds)
        before = self.payouts.arrived(set(of.values())) - CLOCKS_DIFFER
        unknown = defaultdict[str, list[FiatDisbursement]](list)
        found = self._asking(refunds[0].account, refunds[0], [*of], before)()
        for reference, made in found.items():
            if made is not None:
                unknown[of[reference]].append(made)
        return unknown

    def reading(self, payout: PayoutMixin, earlier: Try | None = None) -> Callable[[], FiatDisbursement | None]:
        """A function that reads a sent bank transfer; it returns None when the service does not know its reference.

        :param earlier: an earlier try, to be read in place of the present one.
        :raises PaymentsError: the shop gives no keys for the account, or, of the function, not those that sent it.
        """
        sent: Try | PayoutMixin = earlier or payout
        reach = CLOCKS_DIFFER if earlier is None else FORGOTTEN
        ask = self._asking(payout.account, sent, [sent.service_reference], payout.created_at - reach)

        def read() -> FiatDisbursement | None:
            found = ask()
            if sent.service_reference not in found:
                raise AccountUnavailable(PAYOUT, payout.account, keys_gone_text(sent.client_id))
            return found[sent.service_reference]

        return read

    def _asking(
        self, account: str, sent: Try | PayoutMixin, wanted: Sequence[str], before: datetime
    ) -> Callable[[], Mapping[str, FiatDisbursement | None]]:
        """A function that asks the service about tries of an account that were sent with the same keys.

        It returns the disbursements by service reference; None for one that does not exist. Those that other keys than
        they were sent with do not find are left out, since they may exist all the same. It may run in a thread of its
        own; the shop is asked for the account's keys here.

        :param sent: one of the tries, or the payout of which it is the present one; the only one where its disbursement
            is known.
        :param wanted: the service references of all.
        :param before: the service got none of them before this time.
        :raises PaymentsError: the shop gives no keys for the account.
        """
        after = None
        if sent.disbursement_id is None:
            # One that the service certainly had before it could be given any of these.
            after = self.payouts.sent_before(account, sent.client_id, before)
        # The account whose money paid, or may have; its keys may have been exchanged since.
        payer = account if sent.paid_by is None else sent.paid_by
        client = self.accounts.client_of(payer, PAYOUT)

        def ask(client: PaymentsClient) -> Mapping[str, FiatDisbursement | None]:
            # A signer of the shop's own may need no client id.
            sent_it = sent.client_id in (None, client.client_id)
            transfers = client.fiat_disbursements
            with self.record.call(READS, payer):
                try:
                    if sent.disbursement_id is None:
                        found = transfers.find(wanted, after=after)
                    else:
                        found = {sent.service_reference: transfers.get(sent.disbursement_id)}
                except NotFound:
                    if sent_it:
                        raise
                    found = {}
                return dict.fromkeys(wanted if sent_it else ()) | found

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


def keys_gone_text(client_id: str | None) -> str:
    """The reason why nobody can find out about a payout, for people."""
    return f"it was sent with the client id {client_id!r}, and no account has its keys now"


def is_refusal(error: Exception) -> TypeGuard[RequestRefused]:
    """Whether the service refused what was asked, and not the keys, so that asking again the same way is no use."""
    return isinstance(error, RequestRefused) and error.carried_out == "no" and not error.retryable


def forgotten_text(made: FiatDisbursement) -> str:
    """The reason why a refund is not sent while the service has another transfer of its payment, and what to do."""
    money = f"{made.amount:f} {made.currency}"
    return (
        f"the service has paid {money} of this payment back as {made.reference}, which is not stored here: ask for that"
        " refund again first, with its amount; it is found, not paid again"
    )


def says_taken(error: RequestRefused) -> bool:
    """Whether a refusal may be about a reference that the service was given before, since it takes each only once."""
    return error.status_code == 409 or _TAKEN.search(error.message or "") is not None


def error_text(error: Exception) -> str:
    """One bounded line about a failure, without the client's advice, which is for people who called it themselves.

    It has no words of an error that nobody expects, which may show a secret.
    """
    if isinstance(error, PaymentsError):
        said = error.summary
    elif isinstance(error, (ValueError, TypeError)):
        said = f"{type(error).__name__}: {error}"
    else:
        said = type(error).__name__
    return visible(said)[:_MAX_TEXT]


def _create(client: PaymentsClient, batch: Sequence[tuple[PayoutMixin, Destination]]) -> Sequence[Made]:
    first, _ = batch[0]
    if first.is_token:
        receivers = [_receiver(*one) for one in batch]
        return client.crypto_disbursements.create(first.currency, receivers).disburse_data
    items = [_item(*one) for one in batch]
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
