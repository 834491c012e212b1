"""The recipients of the start state, one for each kind of bank account."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import insert_rows

INDIVIDUAL, BUSINESS = "Individual", "Business"

# Columns: name, e-mail, type, address, city, post code, bank, account number, currency, country, further details
_RECIPIENTS: tuple[tuple[str, str, str, str, str, str, str, str, str, str, dict[str, str]], ...] = (
    (
        *("Ada Example", "ada@example.com", INDIVIDUAL, "1 Analytical Street", "New York", "10001"),
        *("First Sandbox Bank", "4000123412", "USD", "United States"),
        {"account_type": "Checking", "ach_number": "021000021", "payment_code": "us_first_sandbox"},
    ),
    (
        *("Brunel Works Ltd", "accounts@brunel.example", BUSINESS, "2 Bridge Road", "Bristol", "BS1 6QH"),
        *("Sandbox Building Society", "01234567", "GBP", "United Kingdom"),
        {"payment_code": "gb_sandbox_society"},
    ),
    (
        *("Émilie Exemple", "emilie@example.fr", INDIVIDUAL, "3 rue du Châtelet", "Paris", "75001"),
        *("Banque du Sable", "00012345678", "EUR", "France"),
        {"iban_number": "FR1420041010050500013M02606", "payment_code": "fr_banque_du_sable"},
    ),
    (
        *("Budi Contoh", "budi@example.id", INDIVIDUAL, "Jalan Pasir 4", "Jakarta", "10110"),
        *("Bank Kotak Pasir", "8800112233", "IDR", "Indonesia"),
        {"payment_code": "id_kotak_pasir"},
    ),
    (
        *("砂場商事株式会社", "keiri@sunaba.example", BUSINESS, "5-1 Sunaba", "Tokyo", "100-0001"),
        *("Sunaba Bank", "7654321", "JPY", "Japan"),
        {"account_type": "Savings", "payment_code": "jp_sunaba"},
    ),
)


COUNT = len(_RECIPIENTS)
_NO_DETAILS: dict[str, str | None] = {name: None for row in _RECIPIENTS for name in row[-1]}
FIRST_IDS = [(f"5a6d0000000000000000010{place}", f"5a6d0000000000000000020{place}") for place in range(1, COUNT + 1)]
"""Ids of the first account's recipients and of their banks."""


def add_start_recipients(
    session: Session, user_id: str, organization_id: str, ids: Iterable[tuple[str, str]] = FIRST_IDS
) -> None:
    """Add an account's recipients, created on consecutive days up to yesterday."""
    now = world().clock.begin()
    rows = []
    for position, (row, (recipient_id, bank_id)) in enumerate(zip(_RECIPIENTS, ids, strict=True), 1):
        name, email, kind, address, city, post_code, bank, number, currency, country, details = row
        made = now - timedelta(days=COUNT + 1 - position)
        rows.append(
            {
                **{"id": recipient_id, "user_id": user_id, "name": name, "email": email},
                **{"name_key": name.casefold(), "email_key": email.casefold(), "recipient_type": kind},
                **{"organization_id": organization_id, "address": address, "city": city, "post_code": post_code},
                **{"bank_id": bank_id, "account_name": name, "bank_name": bank, "account_number": number},
                **{"currency": currency, "country": country, "created_at": made, "updated_at": made},
                **_NO_DETAILS,
                **details,
            }
        )
    # The account that they belong to must be there before.
    session.flush()
    insert_rows(session, Recipient, rows)
