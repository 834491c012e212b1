"""The payee of an item: a recipient given in the request, or a saved one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.fiat_disbursements.schemas import GivenRecipient
from flask_paycheckout.sandbox.fiat_disbursements.tables import FiatMethod, find_method
from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.wire.parsing import FieldError

SavedRecipients = Mapping[str, Recipient]


class NoMethod(LookupError):
    """The recipient's bank is not among the payment methods of the currency."""

    def __init__(self, field: str, currency: str) -> None:
        super().__init__(
            f"{field} leads to no bank of the {currency} payment methods;"
            " GET /v1/disbursement/fiat/payment-method lists them."
        )


@dataclass(frozen=True)
class Payee:
    """A recipient as it is at the time of the request; the fields are columns of `BankTransfer`."""

    account_name: str
    account_number: str | None
    bank_name: str
    bank_code: str
    recipient_id: str | None = None
    email: str | None = None
    name: str | None = None
    country: str | None = None


def given_payee(field: str, given: GivenRecipient, currency: str) -> tuple[Payee, FiatMethod]:
    """The payee that a request gives, and the method of its bank. :raises NoMethod: it has none in the currency."""
    bank = given.bank
    method = find_method(currency, bank.bank_code)
    if method is None:
        raise NoMethod(field, currency)
    payee = Payee(
        account_name=bank.account_name,
        account_number=bank.account_number,
        bank_name=bank.bank_name,
        bank_code=method.bank_code,
        email=given.email,
        name=given.name,
    )
    return payee, method


def saved_recipients(session: Session, user_id: str, ids: Sequence[str]) -> SavedRecipients:
    """The account's recipients among these ids, by id; one query."""
    rows = session.scalars(select(Recipient).where(Recipient.user_id == user_id, Recipient.id.in_(set(ids))))
    return {recipient.id: recipient for recipient in rows}


def saved_payee(saved: SavedRecipients, field: str, recipient_id: str, currency: str) -> tuple[Payee, FiatMethod]:
    """The payee of a saved recipient, and the method of its bank. :raises NoMethod: it has none in the currency."""
    recipient = saved.get(recipient_id)
    if recipient is None:
        raise FieldError(f"{field} is no recipient of this account; GET /v1/recipient lists them.")
    method = find_method(currency, recipient.payment_code, recipient.bank_name)
    if method is None or recipient.currency != currency:
        raise NoMethod(field, currency)
    payee = Payee(
        account_name=recipient.account_name,
        account_number=recipient.account_number or recipient.iban_number,
        bank_name=recipient.bank_name or method.bank_name,
        bank_code=method.bank_code,
        recipient_id=recipient.id,
        email=recipient.email,
        name=recipient.name,
        country=recipient.country,
    )
    return payee, method
