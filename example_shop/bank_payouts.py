"""The rail of fiat disbursements, for suppliers with a bank account: recipients, one batch, statuses and proofs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from example_shop.hooks import hooks
from example_shop.money import CURRENCY
from example_shop.payments import paycheckout
from example_shop.suppliers import BankAccount, Supplier
from flask_paycheckout.client import BankDetails, FiatItem

if TYPE_CHECKING:
    from flask import Flask

    from example_shop.rails import Bill


class BankTransfers:
    """The rail of bank transfers, in the shop's own currency."""

    def currency_for(self, supplier: Supplier) -> str | None:
        return CURRENCY if isinstance(supplier.account, BankAccount) else None

    def send(self, currency: str, bills: Sequence[Bill]) -> Mapping[str, str]:
        items = [
            FiatItem(
                amount=bill.amount,
                recipient_id=recipient_of(bill.supplier),
                reference=bill.reference,
                note="Fair & Foul, jars sold",
            )
            for bill in bills
        ]
        batch = paycheckout.client.fiat_disbursements.create(currency, items)
        return {str(made.reference): made.disbursement_id for made in batch.disburse_data}

    def find(self, references: Sequence[str]) -> Mapping[str, str]:
        wanted, found = set(references), {}
        newest = paycheckout.client.fiat_disbursements.iterate(sort="-createdAt", currency=CURRENCY, limit=100)
        while wanted and (payout := next(newest, None)):
            if payout.reference in wanted:
                wanted.remove(payout.reference)
                found[payout.reference] = payout.disbursement_id
        return found

    def status(self, disbursement_id: str) -> str:
        return paycheckout.client.fiat_disbursements.get(disbursement_id).status

    def proof(self, disbursement_id: str) -> bytes:
        return paycheckout.client.fiat_disbursements.report(disbursement_id)


def recipient_of(supplier: Supplier) -> str:
    """The supplier's id at the service; searched before it is created, since an earlier answer may have been lost."""
    recipients = paycheckout.client.recipients
    for found in recipients.iterate(search=supplier.email, limit=100):
        if found.reference == supplier.slug:
            return found.id
    return recipients.create(
        name=supplier.name,
        email=supplier.email,
        address=supplier.address,
        city=supplier.city,
        post_code=supplier.post_code,
        bank=bank_details(supplier),
        recipient_type="Business",
        reference=supplier.slug,
    ).id


def bank_details(supplier: Supplier) -> BankDetails:
    account = supplier.account
    assert isinstance(account, BankAccount)  # noqa: S101 - others do not travel by this rail
    return BankDetails(
        account_name=supplier.name,
        currency=CURRENCY,
        country=account.country,
        bank_name=account.bank,
        account_number=account.number,
        account_type="Checking",
    )


def init_app(app: Flask) -> None:
    hooks(app).rails.append(BankTransfers())
