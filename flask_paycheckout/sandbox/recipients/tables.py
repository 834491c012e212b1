"""The table of recipients, each with its bank account, and the recipients of the start state."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from sqlalchemy.orm import Mapped, Session

from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import Made, insert_rows
from flask_paycheckout.sandbox.world.money import rows_of


class Recipient(Made):
    """Somebody who is paid; only the account that made it can see it."""

    __tablename__ = "recipient"

    name: Mapped[str]
    email: Mapped[str]
    recipient_type: Mapped[str | None]
    organization_id: Mapped[str | None]
    address: Mapped[str]
    city: Mapped[str]
    post_code: Mapped[str]
    reference: Mapped[str | None]
    bank_id: Mapped[str]
    account_name: Mapped[str]
    currency: Mapped[str]
    country: Mapped[str]
    bank_name: Mapped[str | None]
    account_number: Mapped[str | None]
    payment_code: Mapped[str | None]
    ach_number: Mapped[str | None]
    fedwire_number: Mapped[str | None]
    iban_number: Mapped[str | None]
    account_type: Mapped[str | None]
    ifsc: Mapped[str | None]


# Each line is a column, with the value of each recipient.
_COLUMNS = {
    name: cells
    for name, *cells in rows_of("""
name | Ada Example | Brunel Works Ltd | Émilie Exemple | Budi Contoh | 砂場商事株式会社
email | ada@example.com | accounts@brunel.example | emilie@example.fr | budi@example.id | keiri@sunaba.example
recipient_type | Individual | Business | Individual | Individual | Business
address | 1 Analytical Street | 2 Bridge Road | 3 rue du Châtelet | Jalan Pasir 4 | 5-1 Sunaba
city | New York | Bristol | Paris | Jakarta | Tokyo
post_code | 10001 | BS1 6QH | 75001 | 10110 | 100-0001
bank_name | First Sandbox Bank | Sandbox Building Society | Banque du Sable | Bank Kotak Pasir | Sunaba Bank
account_number | 4000123412 | 01234567 | 00012345678 | 8800112233 | 7654321
currency | USD | GBP | EUR | IDR | JPY
country | United States | United Kingdom | France | Indonesia | Japan
account_type | Checking |  |  |  | Savings
ach_number | 021000021 |  |  |  |
iban_number |  |  | FR1420041010050500013M02606 |  |
payment_code | us_first_sandbox | gb_sandbox_society | fr_banque_du_sable | id_kotak_pasir | jp_sunaba
""")
}
_RECIPIENTS = [
    dict(zip(_COLUMNS, (cell or None for cell in cells), strict=True)) for cells in zip(*_COLUMNS.values(), strict=True)
]
COUNT = len(_RECIPIENTS)
FIRST_IDS = [(f"5a6d0000000000000000010{place}", f"5a6d0000000000000000020{place}") for place in range(1, COUNT + 1)]
"""Ids of the first account's recipients and of their banks."""


def add_start_recipients(session: Session, account: Account, ids: Iterable[tuple[str, str]] = FIRST_IDS) -> None:
    """Add an account's recipients, created on consecutive days up to yesterday."""
    now = world().clock.begin()
    of_account = {"user_id": account.user_id, "organization_id": account.organization_id}
    rows = []
    for position, (row, (recipient_id, bank_id)) in enumerate(zip(_RECIPIENTS, ids, strict=True), 1):
        created_at = now - timedelta(days=COUNT + 1 - position)
        own = {"id": recipient_id, "bank_id": bank_id, "account_name": row["name"], "created_at": created_at}
        rows.append({**row, **of_account, **own, "updated_at": created_at})
    insert_rows(session, Recipient, rows)
