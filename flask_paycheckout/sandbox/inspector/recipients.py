"""`GET /inspector/recipients` and `/inspector/recipients/<id>`: whom the accounts can pay."""

from __future__ import annotations

from flask import Response
from sqlalchemy import select

from flask_paycheckout.sandbox.auth.tables import Account
from flask_paycheckout.sandbox.inspector.account_filter import name_of, read_filter
from flask_paycheckout.sandbox.inspector.blueprint import inspector, query_text, show, show_missing
from flask_paycheckout.sandbox.inspector.newest import Order, newest
from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.world.database import transaction

_ORDER = Order(Recipient.created_at, Recipient.number)
_SHOWN_DIGITS = 4


@inspector.get("/inspector/recipients")
def show_recipients() -> Response:
    """Show recipients, newest first, filtered by `?currency=`, `?country=` and `?account=`."""
    currency, country = query_text("currency"), query_text("country")
    filters = [Recipient.currency == currency] if currency else []
    filters += [Recipient.country == country] if country else []
    with transaction() as session:
        accounts = read_filter(session)
        rows = select(Recipient, Account.name).join(Account, Account.user_id == Recipient.user_id)
        page = newest(session, rows, _ORDER, accounts.of(Recipient.user_id), filters)
    return show("recipients", page=page, accounts=accounts, wanted={"currency": currency, "country": country})


@inspector.get("/inspector/recipients/<recipient_id>")
def show_recipient(recipient_id: str) -> Response:
    with transaction() as session:
        recipient = session.scalars(select(Recipient).where(Recipient.id == recipient_id)).one_or_none()
        if recipient is None:
            return show_missing("recipient")
        account = name_of(session, recipient.user_id)
    numbers = {
        "Account number": recipient.account_number,
        "IBAN": recipient.iban_number,
        "ACH number": recipient.ach_number,
        "Fedwire number": recipient.fedwire_number,
    }
    shown = {name: _masked(number) for name, number in numbers.items() if number}
    return show("recipient", recipient=recipient, account=account, numbers=shown)


def _masked(number: str) -> str:
    """The last digits, by which people tell accounts apart; short numbers not at all."""
    return f"…{number[-_SHOWN_DIGITS:]}" if len(number) > 2 * _SHOWN_DIGITS else "…"
