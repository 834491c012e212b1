"""The tries of a payout: each has a service reference of its own, which a restored database derives again.

The references are derived with a key of the installation, which is in the database, and so in each backup. After a
restored backup the shop asks for payouts that it has forgotten. The service takes a reference only once, so it refuses
the second payment itself.
"""

from __future__ import annotations

import hmac
import re
import secrets

import msgspec
from sqlalchemy import Connection, Table, select

from flask_paycheckout.database.service_table import insert_in
from flask_paycheckout.payouts.payout_model import PayoutMixin

# A row of the table of failing calls, whose `words` is the key; it never fails, so no report shows it.
_ROW = {"account": "", "operation": "installation key"}


def installation_key(connection: Connection, services: Table) -> bytes:
    """The key, which the first caller makes in its own transaction.

    :param services: the table of `database.service_table`.
    """
    stored = select(services.c.words).filter_by(**_ROW)
    found = connection.execute(stored).scalar_one_or_none()
    if found is None:
        made = insert_in(connection, services).values(**_ROW, words=secrets.token_hex(32), count=0)
        connection.execute(made.on_conflict_do_nothing())
        found = connection.execute(stored).scalar_one()
    return bytes.fromhex(found)


# Characters of the shop's reference that the service's contains, so that people recognise it.
_SHOWN = 16


class Try(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt to pay, which was sent, or may have been, under one service reference."""

    service_reference: str
    client_id: str | None = None
    """The client id of the keys that it was sent with."""

    paid_by: str | None = None
    """The merchant account whose money was to pay."""

    disbursement_id: str | None = None


def present_try(payout: PayoutMixin) -> Try:
    """The try under the payout's present service reference."""
    return msgspec.convert(payout, Try, from_attributes=True)


def tries_of(text: str | None) -> tuple[Try, ...]:
    """The tries that a payout's `earlier` holds, oldest first."""
    return msgspec.json.decode(text, type=tuple[Try, ...]) if text else ()


def tries_text(tries: tuple[Try, ...]) -> str | None:
    """The text of which `tries_of` makes these tries again."""
    return msgspec.json.encode(tries).decode() if tries else None


def service_reference(key: bytes, account: str, reference: str, number: int) -> str:
    """The service reference of a try, which people recognise the shop's reference in, and nobody can guess.

    :param key: the installation's.
    :param number: of the try, from 1.
    """
    readable = re.sub(r"[^A-Za-z0-9]+", "-", reference)[:_SHOWN].strip("-") or "payout"
    return f"{readable}-{_digest(key, 'try', account, reference, str(number))}"


def refund_reference(key: bytes, checkout_id: str, number: int) -> str:
    """The reference of a checkout's refund.

    :param number: of the checkout's refunds, from 1.
    """
    return f"refund-{_digest(key, 'refund', checkout_id, str(number))}"


def _digest(key: bytes, *parts: str) -> str:
    return hmac.digest(key, msgspec.json.encode(parts), "sha256").hex()[:16]
