"""The calls of the service about payouts: a send of some in one call, a look-up by references, and a read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import msgspec

from flask_paycheckout.client import (
    BearerToken,
    CryptoReceiver,
    FiatDisbursement,
    FiatItem,
    NewRecipient,
    NotFound,
    PaymentsClient,
    PaymentsError,
    PayoutBank,
    RequestRefused,
    Unauthorized,
)
from flask_paycheckout.client.hidden import hide
from flask_paycheckout.payouts.differences import Made
from flask_paycheckout.rules.destinations import Destination, ToBank, ToRecipient, ToWallet
from flask_paycheckout.rules.payout_schedule import LOOK_BACK
from flask_paycheckout.rules.text import visible
from flask_paycheckout.security.sealing import Sealing, Unreadable
from flask_paycheckout.service.accounts import Accounts
from flask_paycheckout.service.record import ServiceRecord
from flask_paycheckout.store.payout_model import PayoutMixin

__all__ = ["PAYOUT", "AccessToken", "Addressed", "PayoutCalls", "is_refusal", "words_of"]

PAYOUT = "payout"
"""The operation of calls that send payouts, in the record of failing calls."""

AccessToken = str | Callable[[], str]
Result = TypeVar("Result")

_MAX_WORDS = 500


class Addressed(msgspec.Struct, frozen=True):
    """A payout with its destination."""

    payout: PayoutMixin
    to: Destination


class PayoutCalls:
    """Calls the service for one app's payouts.

    :param scheme: the word before an access token in the Authorization header.
    """

    def __init__(self, accounts: Accounts, sealing: Sealing, record: ServiceRecord, scheme: str) -> None:
        self._accounts = accounts
        self._scheme = scheme
        self._sealing = sealing
        self._record = record

    def token_of(self, account: str, given: AccessToken | None) -> str | None:
        """The access token that an account's payouts are sent with; None when there is none.

        :param given: the token of the settings or of the round, for accounts without one of their own.
        :raises PaymentsError: the shop gives no keys for the account.
        """
        token = self._accounts.access_token_of(account) or given
        return token() if callable(token) else token

    def authorized(self, access_token: str, account: str = "") -> PaymentsClient:
        """The account's client that sends with this token.

        :raises PaymentsError: the shop gives no keys for the account.
        :raises ValueError: the token cannot stand in a header.
        """
        client = self._accounts.client_of(account, PAYOUT)
        return client.authorized(BearerToken(access_token, self._scheme))

    def destination(self, payout: PayoutMixin) -> Destination:
        """Open a payout's destination.

        :raises Unreadable: it is not stored, or sealed with a key that is not set.
        """
        try:
            return self._sealing.open(payout.to_kind, payout.to_details)
        except (ValueError, TypeError, KeyError) as error:
            fault = type(error).__name__
        # Outside of the handler: the error may quote the details.
        raise Unreadable(f"its stored destination cannot be read ({fault})")

    def known_destination(self, payout: PayoutMixin) -> Destination | None:
        """The payout's destination; None when it cannot be read."""
        try:
            return self.destination(payout)
        except Unreadable:
            return None

    def send(self, client: PaymentsClient, batch: Sequence[Addressed]) -> Sequence[Made]:
        """Send payouts of one currency in one call.

        :raises PaymentsError: there was no answer, or the service refused.
        :raises TypeError, ValueError: the call cannot be built; nothing was sent.
        """
        account = batch[0].payout.account
        try:
            made = self._create(client, batch)
        except PaymentsError as error:
            if isinstance(error, Unauthorized):
                self._accounts.refused(account)
            # The refusal of a single payout says nothing about the others.
            if is_refusal(error) and not isinstance(error, Unauthorized):
                self._record.on_answer(PAYOUT, account)
            else:
                self._record.on_failure(PAYOUT, words_of(error, batch), account)
            raise
        self._record.on_answer(PAYOUT, account)
        return made

    def find(self, payouts: Sequence[PayoutMixin]) -> Mapping[str, FiatDisbursement]:
        """Look bank transfers of one account up at the service, by their service references."""
        account = payouts[0].account
        return self._signed(account, lambda clients: _find(clients, payouts))()

    def reading(self, payout: PayoutMixin) -> Callable[[], FiatDisbursement | None]:
        """A function that reads a sent bank transfer; it returns None when the service does not know its reference.

        It may run in a thread of its own; the shop is asked for the account's keys here.

        :raises PaymentsError: the shop gives no keys for the account.
        """
        return self._signed(payout.account, lambda clients: _read(clients, payout))

    def _signed(self, account: str, call: Callable[[Sequence[PaymentsClient]], Result]) -> Callable[[], Result]:
        """Calls with the keys of an account, which are asked for again after the service has refused them.

        Payouts of an account without an access token of its own are sent with that of the settings, so perhaps only the
        keys of the settings can read them: those are asked too before anything counts as missing.
        """
        client = self._accounts.client_of(account, PAYOUT)
        clients = [client]
        if account and self._accounts.access_token_of(account) is None:
            clients.append(self._accounts.client_of(""))

        def run() -> Result:
            try:
                return call(clients)
            except Unauthorized:
                self._accounts.refused(account, client)
                raise

        return run

    def _create(self, client: PaymentsClient, batch: Sequence[Addressed]) -> Sequence[Made]:
        currency = batch[0].payout.currency
        if batch[0].payout.is_token:
            return client.crypto_disbursements.create(currency, [_receiver(one) for one in batch]).disburse_data
        return client.fiat_disbursements.create(currency, [_item(one) for one in batch]).disburse_data


def _find(clients: Sequence[PaymentsClient], payouts: Sequence[PayoutMixin]) -> Mapping[str, FiatDisbursement]:
    since = min(payout.taken_at or payout.created_at for payout in payouts) - LOOK_BACK
    found: dict[str, FiatDisbursement] = {}
    for client in clients:
        missing = [payout.service_reference for payout in payouts if payout.service_reference not in found]
        found |= client.fiat_disbursements.find(missing, since=since)
    return found


def _read(clients: Sequence[PaymentsClient], payout: PayoutMixin) -> FiatDisbursement | None:
    if payout.disbursement_id is None:
        return _find(clients, [payout]).get(payout.service_reference)
    for client in clients[:-1]:
        try:
            return client.fiat_disbursements.get(payout.disbursement_id)
        except NotFound:
            continue
    return clients[-1].fiat_disbursements.get(payout.disbursement_id)


def is_refusal(error: Exception) -> bool:
    """Whether the service refused what was asked, so that asking again the same way is no use."""
    return isinstance(error, RequestRefused) and error.carried_out == "no" and not error.retryable


def words_of(error: Exception, batch: Sequence[Addressed] = ()) -> str:
    """One bounded line about a failure, without the client's advice, which is for people who called it themselves.

    :param batch: what was sent, whose account numbers the service may have repeated.
    """
    if isinstance(error, RequestRefused):
        said = RequestRefused.__str__(error)
    elif isinstance(error, PaymentsError):
        said = PaymentsError.__str__(error)
    elif isinstance(error, (ValueError, TypeError)):
        said = f"{type(error).__name__}: {error}"
    else:
        said = type(error).__name__
    return visible(hide(said, [secret for one in batch for secret in _secrets_of(one.to)]))[:_MAX_WORDS]


def _secrets_of(to: Destination) -> list[str]:
    if not isinstance(to, ToBank):
        return []
    number = str(to.account_number)
    return [number, "".join(char for char in number if char.isalnum())]


def _item(one: Addressed) -> FiatItem:
    payout, to = one.payout, one.to
    if isinstance(to, ToRecipient):
        recipient_id, recipient = to.recipient_id, None
    elif isinstance(to, ToBank):
        bank = PayoutBank(
            bank_name=to.bank_name,
            account_name=to.account_name,
            account_number=to.account_number,
            bank_code=to.bank_code,
        )
        recipient_id, recipient = None, NewRecipient(bank=bank, email=to.email, name=to.name)
    else:
        raise TypeError(f"{payout.currency} is paid to bank accounts, and this is a wallet")
    return FiatItem(
        amount=payout.amount,
        recipient_id=recipient_id,
        recipient=recipient,
        reference=payout.service_reference,
        note=payout.note,
    )


def _receiver(one: Addressed) -> CryptoReceiver:
    payout, to = one.payout, one.to
    if not isinstance(to, ToWallet):
        raise TypeError(f"{payout.currency} is a token, which only a wallet takes")
    return CryptoReceiver(
        amount=payout.amount,
        receiver_wallet_address=to.address,
        reference=payout.service_reference,
        note=payout.note,
    )
