"""The table of recipients whom fiat disbursements were sent to."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import ForeignKey, Index, String, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from flask_paycheckout.sandbox.disbursements.fees import FeeTerms
from flask_paycheckout.sandbox.disbursements.tables import Disbursement
from flask_paycheckout.sandbox.world.database import Table, ordered_text


@dataclass(frozen=True)
class FiatMethod:
    """One bank in one currency; amounts are in that currency, limits are inclusive."""

    currency: str
    bank_code: str
    bank_name: str
    min_amount: Decimal
    max_amount: Decimal
    fees: FeeTerms


def _method(currency: str, code: str, name: str, minimum: str, maximum: str, flat: str, percentage: str) -> FiatMethod:
    terms = FeeTerms(Decimal(flat), Decimal(percentage))
    return FiatMethod(currency, code, name, Decimal(minimum), Decimal(maximum), terms)


METHODS = (
    _method("USD", "us_first_sandbox", "First Sandbox Bank", "1.00", "250000.00", "0.50", "0.1"),
    _method("USD", "us_harbor_savings", "Harbor Savings Bank", "5.00", "50000.00", "1.25", "0"),
    _method("EUR", "fr_banque_du_sable", "Banque du Sable", "1.00", "200000.00", "0.35", "0.1"),
    _method("EUR", "de_nordhafen", "Nordhafen Bank", "1.00", "100000.00", "0.20", "0.15"),
    _method("GBP", "gb_sandbox_society", "Sandbox Building Society", "1.00", "150000.00", "0.30", "0.1"),
    _method("JPY", "jp_sunaba", "Sunaba Bank", "100", "30000000", "165", "0.05"),
    _method("IDR", "id_kotak_pasir", "Bank Kotak Pasir", "10000.00", "500000000.00", "2500.00", "0"),
    _method("IDR", "id_merapi", "Bank Merapi", "10000.00", "250000000.00", "1500.00", "0.02"),
    _method("INR", "in_ganga_valley", "Ganga Valley Bank", "100.00", "5000000.00", "5.00", "0.1"),
    _method("SGD", "sg_straits_union", "Straits Union Bank", "1.00", "200000.00", "0.50", "0.05"),
    _method("KWD", "kw_al_marsa", "Al Marsa Bank", "0.500", "15000.000", "0.150", "0.125"),
)


def methods_of(currency: str | None = None) -> list[FiatMethod]:
    """The methods of a currency, or all."""
    return [method for method in METHODS if currency in {None, method.currency}]


def find_method(currency: str, bank_code: str | None, bank_name: str | None = None) -> FiatMethod | None:
    """Find the method of a bank by its code, or by its name when no code is given."""
    for method in methods_of(currency):
        if method.bank_code == bank_code or (bank_code is None and method.bank_name == bank_name):
            return method
    return None


class BankTransfer(Table):
    """A copy of the recipient from the time of the disbursement, which later changes and deletion do not affect."""

    __tablename__ = "bank_transfer"

    disbursement_id: Mapped[str] = mapped_column(ForeignKey(Disbursement.id), primary_key=True)
    recipient_id: Mapped[str | None] = mapped_column(String(24))
    """None when the recipient was given in the request."""
    email: Mapped[str | None] = mapped_column(ordered_text())
    name: Mapped[str | None] = mapped_column(Text)
    bank_name: Mapped[str] = mapped_column(Text)
    account_name: Mapped[str] = mapped_column(Text)
    account_number: Mapped[str | None] = mapped_column(Text)
    bank_code: Mapped[str] = mapped_column(String(40))
    country: Mapped[str | None] = mapped_column(Text)

    __table_args__ = (
        # For finding it by its recipient.
        Index("bank_transfer_by_recipient", "recipient_id"),
        Index("bank_transfer_by_email", text("lower(email)")),
    )
