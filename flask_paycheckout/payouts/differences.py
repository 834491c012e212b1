"""Comparison of a payout with what the service says of it. Pure."""

from __future__ import annotations

from flask_paycheckout.client import CryptoDisbursement, FiatDisbursement
from flask_paycheckout.payouts.destinations import Destination, ToBank, ToRecipient, ToWallet
from flask_paycheckout.payouts.payout_model import PayoutMixin

__all__ = ["Made", "difference", "goes_elsewhere", "is_same_number"]

Made = FiatDisbursement | CryptoDisbursement
"""A payout as the service has it."""

_MASKING = "*•"


def difference(payout: PayoutMixin, to: Destination | None, made: Made) -> str | None:
    """The first of amount, currency and destination in which the service's record is another payout's; else None.

    What the record leaves out is not compared.

    :param to: the payout's destination; None when it cannot be read any more.
    """
    if made.amount is not None and made.amount != payout.amount:
        return "amount"
    currency = made.token if isinstance(made, CryptoDisbursement) else made.currency
    if currency is not None and currency != payout.currency:
        return "currency"
    return "destination" if to is not None and goes_elsewhere(to, made) else None


def goes_elsewhere(to: Destination, made: Made) -> bool:
    """Whether the service's record has another destination than a payout; what it leaves out is not compared."""
    if isinstance(made, CryptoDisbursement):
        return isinstance(to, ToWallet) and not _same_wallet(to.address, made.receiver_address)
    recipient = made.recipient
    if recipient is None:
        return False
    if isinstance(to, ToRecipient):
        return recipient.recipient_id not in (None, to.recipient_id)
    if isinstance(to, ToBank) and recipient.bank is not None:
        return not is_same_number(to.account_number, recipient.bank.account_number)
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
        return _compact(number).endswith(_compact(shown[end:]))
    return _compact(number) == _compact(shown)


def _compact(number: str) -> str:
    return "".join(char for char in number if char.isalnum()).upper()
