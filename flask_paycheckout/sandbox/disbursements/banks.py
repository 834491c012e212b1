"""The banks that can be paid, and the payee of an item: a recipient given in the request, or a saved one."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from msgspec.structs import asdict
from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.disbursements.fiat_schemas import FiatPaymentMethod, FiatPaymentV2
from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.wire.envelope import FieldError, Unusable
from flask_paycheckout.sandbox.world.money import rows_of

METHODS = tuple(
    # The amounts, in the currency: both limits, which are inclusive, and the flat and the percentage of the fee.
    FiatPaymentMethod(currency, code, name, *map(Decimal, amounts.split()))
    for currency, code, name, amounts in rows_of("""
USD | us_first_sandbox   | First Sandbox Bank       | 1.00 250000.00 0.50 0.1
USD | us_harbor_savings  | Harbor Savings Bank      | 5.00 50000.00 1.25 0
EUR | fr_banque_du_sable | Banque du Sable          | 1.00 200000.00 0.35 0.1
EUR | de_nordhafen       | Nordhafen Bank           | 1.00 100000.00 0.20 0.15
GBP | gb_sandbox_society | Sandbox Building Society | 1.00 150000.00 0.30 0.1
JPY | jp_sunaba          | Sunaba Bank              | 100 30000000 165 0.05
IDR | id_kotak_pasir     | Bank Kotak Pasir         | 10000.00 500000000.00 2500.00 0
IDR | id_merapi          | Bank Merapi              | 10000.00 250000000.00 1500.00 0.02
INR | in_ganga_valley    | Ganga Valley Bank        | 100.00 5000000.00 5.00 0.1
SGD | sg_straits_union   | Straits Union Bank       | 1.00 200000.00 0.50 0.05
KWD | kw_al_marsa        | Al Marsa Bank            | 0.500 15000.000 0.150 0.125
""")
)


class NoMethod(Unusable):
    """The recipient's bank is not among the payment methods of the currency."""

    def __init__(self, field: str, currency: str) -> None:
        super().__init__(
            f"{field} leads to no bank of the {currency} payment methods;"
            " GET /v1/disbursement/fiat/payment-method lists them."
        )


def _find_method(field: str, currency: str, bank_code: str | None, bank_name: str | None = None) -> FiatPaymentMethod:
    """The method of a bank, by its code, or by its name when no code is given. :raises NoMethod: there is none."""
    for method in METHODS:
        is_named = bank_code is None and method.bank_name == bank_name
        if method.currency == currency and (method.bank_code == bank_code or is_named):
            return method
    raise NoMethod(field, currency)


def saved_recipients(session: Session, user_id: str, ids: Iterable[str | None]) -> dict[str, Recipient]:
    """The account's recipients among these ids, by id; one query."""
    query = select(Recipient).where(Recipient.user_id == user_id, Recipient.id.in_({id_ for id_ in ids if id_}))
    return {recipient.id: recipient for recipient in session.scalars(query)}


def payee_of(
    saved: dict[str, Recipient], field: str, payment: FiatPaymentV2, currency: str
) -> tuple[dict[str, str | None], FiatPaymentMethod]:
    """The payee of an item as it is now, as columns of the disbursement, and the method of its bank.

    :raises NoMethod: the bank has none in the currency.
    :raises FieldError: there is no payee, or two.
    """
    if (payment.recipient_id is None) == (payment.recipient is None):
        raise FieldError(f"{field} must have one of recipientId and recipient.")
    if payment.recipient is not None:
        bank = payment.recipient.bank
        method = _find_method(f"{field}.recipient.bank.bankCode", currency, bank.bank_code)
        return asdict(bank) | {"email": payment.recipient.email, "name": payment.recipient.name}, method
    field, recipient = f"{field}.recipientId", saved.get(str(payment.recipient_id))
    if recipient is None:
        raise Unusable(f"{field} is no recipient of this account; GET /v1/recipient lists them.")
    if recipient.currency != currency:
        raise NoMethod(field, currency)
    method = _find_method(field, currency, recipient.payment_code, recipient.bank_name)
    payee = {
        "account_name": recipient.account_name,
        "account_number": recipient.account_number or recipient.iban_number,
        "bank_name": recipient.bank_name or method.bank_name,
        "bank_code": method.bank_code,
        "recipient_id": recipient.id,
        "email": recipient.email,
        "name": recipient.name,
        "country": recipient.country,
    }
    return payee, method
