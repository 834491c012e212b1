"""Recipients below `/v1/recipient`: their requests, their records, and the endpoints."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import contains, eq
from typing import Annotated, Any

import msgspec
from flask import Blueprint
from msgspec.structs import asdict
from sqlalchemy import select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import operation
from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp, unspecified_refusal, when
from flask_paycheckout.sandbox.wire.field_types import (
    MAX_TEXT,
    Email,
    FiatCode,
    Request,
    Text,
    choice,
    declared_fields,
    note,
)
from flask_paycheckout.sandbox.wire.paging import Page, PageQuery, is_like, made_by, page_of
from flask_paycheckout.sandbox.world.accounts import Account
from flask_paycheckout.sandbox.world.context import assumption, current_time
from flask_paycheckout.sandbox.world.settings import new_id

RecipientType = Annotated[str, choice("Individual", "Business")]
AccountType = Annotated[str, choice("Checking", "Savings")]


class WhichRecipient(Request):
    """The recipient's id in the query, as in the interface's sample of the delete operation."""

    id: Text


class BankUpdate(Request, kw_only=True):
    """The bank account in a change of a recipient."""

    account_name: Text
    currency: FiatCode | None = None
    country: Text | None = None
    bank_name: Text | None = None
    account_number: Text | None = None
    payment_code: Text | None = None
    ach_number: Text | None = None
    fedwire_number: Text | None = None
    iban_number: Text | None = None
    account_type: AccountType | None = None
    ifsc: Text | None = None


class NewBank(BankUpdate, kw_only=True):
    """The bank account of a new recipient."""

    currency: FiatCode
    country: Text


class RecipientUpdate(Request, kw_only=True):
    """The body of `PATCH /v1/recipient/{id}`."""

    name: Text
    email: Email
    address: Text
    city: Text
    post_code: Text
    recipient_type: RecipientType | None = None
    organization_id: Text | None = None
    reference: Annotated[str, note(MAX_TEXT)] | None = None
    bank: BankUpdate


class NewRecipient(RecipientUpdate, kw_only=True):
    """The body of `POST /v1/recipient`."""

    bank: NewBank


class RecipientQuery(PageQuery):
    """The query of the list; country and currency belong to the bank account."""

    search: Text | None = None
    country: Text | None = None
    currency: FiatCode | None = None


class RecipientBank(Record):
    id: str = msgspec.field(name="_id")
    account_name: str
    currency: str
    country: str
    bank_name: str | None = None
    account_number: Annotated[int, when("account_number_type", "number")] | str | None = None
    payment_code: str | None = None
    ach_number: str | None = None
    fedwire_number: str | None = None
    iban_number: str | None = None
    account_type: AccountType | None = None
    ifsc: str | None = None


class RecipientRecord(Record):
    id: str
    name: str
    email: str
    user_id: str
    bank: list[RecipientBank]
    city: str
    address: str
    post_code: str
    created_at: Timestamp
    updated_at: Timestamp
    recipient_type: RecipientType | None = None
    organization_id: str | None = None
    reference: str | None = None


def represent(recipient: Recipient) -> RecipientRecord:
    """Convert a recipient to its record."""
    bank = RecipientBank.of(
        recipient,
        id=recipient.bank_id,
        account_number=written_account_number(recipient.account_number),
    )
    return RecipientRecord.of(recipient, bank=[bank])


def written_account_number(number: str | None) -> int | str | None:
    """An account number as JSON number, unless digits would be lost: `007` stays a string."""
    if number is None or assumption("account_number_type") == "string":
        return number
    is_number = number.isascii() and number.isdigit() and not number.startswith("0")
    return int(number) if is_number else number


recipients = Blueprint("recipients", __name__, url_prefix="/v1/recipient")

_DELETED = "Recipient deleted successfully"


@recipients.get("")
@operation()
def list_recipients(session: Session, account: Account, query: RecipientQuery) -> Page[RecipientRecord]:
    """List recipients, by name, e-mail address, and country and currency of the bank account."""
    return page_of(made_by(session, Recipient, account), query, _is_wanted, partial(map, represent))


_COMPARED: dict[str, Callable[[str, str], bool]] = {"substring": contains, "prefix": str.startswith, "exact": eq}
"""How a name or an address is compared with the search text, by the values of the unknown `recipient_search`."""


def _is_wanted(recipient: Recipient, query: RecipientQuery) -> bool:
    searched, is_found = (query.search or "").casefold(), _COMPARED[assumption("recipient_search")]
    return (
        is_like(recipient.country, query.country)
        and query.currency in {None, recipient.currency}
        and (not searched or any(is_found(text.casefold(), searched) for text in (recipient.name, recipient.email)))
    )


@recipients.post("")
@operation(code="recipient_status_code", message="Recipient created successfully")
def create_recipient(session: Session, account: Account, sent: NewRecipient) -> RecipientRecord:
    """Create a recipient with its bank account."""
    now = current_time()
    columns = _columns(sent)
    if columns["organization_id"] is None:
        columns["organization_id"] = account.organization_id
    ids = {"id": new_id(session), "bank_id": new_id(session), "user_id": account.user_id}
    recipient = Recipient(**ids, **columns, created_at=now, updated_at=now)
    session.add(recipient)
    return represent(recipient)


@recipients.get("/<id>")
@operation()
def read_recipient(session: Session, account: Account, id: str) -> RecipientRecord:  # noqa: A002 - the interface's name for it
    """Read a recipient."""
    return represent(_get_recipient(session, account, id))


@recipients.patch("/<id>")
@operation(message="Recipient updated successfully")
def update_recipient(session: Session, account: Account, id: str, sent: RecipientUpdate) -> RecipientRecord:  # noqa: A002
    """Change a recipient's name, the only field that can be changed at present."""
    recipient = _get_recipient(session, account, id)
    columns = {name: value for name, value in _columns(sent).items() if value is not None}
    if assumption("recipient_changes") == "refused":
        _refuse_changes(recipient, columns)
    if assumption("recipient_changes") != "applied":
        columns = {"name": sent.name}
    for name, value in (columns | {"updated_at": current_time()}).items():
        setattr(recipient, name, value)
    return represent(recipient)


def _refuse_changes(recipient: Recipient, columns: dict[str, str]) -> None:
    changed = [name for name, value in columns.items() if name != "name" and getattr(recipient, name) != value]
    if changed:
        names = {field.attribute: f"bank.{field.name}" for field in declared_fields(BankUpdate)}
        names |= {field.attribute: field.name for field in declared_fields(RecipientUpdate)}
        raise unspecified_refusal(400, f"{names[changed[0]]} cannot be changed; send it as it is. Only the name can.")


@recipients.delete("/<id>")
@operation(message=_DELETED)
def remove_recipient(session: Session, account: Account, id: str) -> RecipientRecord:  # noqa: A002
    """Delete a recipient, and answer it a last time."""
    return _removed(session, account, id)


@recipients.delete("")
@operation(message=_DELETED)
def remove_recipient_by_query(session: Session, account: Account, query: WhichRecipient) -> RecipientRecord:
    """Delete a recipient that the query names."""
    return _removed(session, account, query.id)


def _removed(session: Session, account: Account, recipient_id: str) -> RecipientRecord:
    """Delete a recipient. Disbursements and payments have their own copy."""
    recipient = _get_recipient(session, account, recipient_id)
    session.delete(recipient)
    return represent(recipient)


def find_recipient(session: Session, user_id: str, recipient_id: str) -> Recipient | None:
    """Find an account's recipient by its id, and lock it, so that nobody else changes or deletes it meanwhile."""
    query = select(Recipient).where(Recipient.id == recipient_id, Recipient.user_id == user_id)
    return session.scalar(query.with_for_update())


def _get_recipient(session: Session, account: Account, recipient_id: str) -> Recipient:
    recipient = find_recipient(session, account.user_id, recipient_id)
    if recipient is None:
        raise unspecified_refusal("recipient_not_found", "Recipient not found")
    return recipient


def _columns(sent: RecipientUpdate) -> dict[str, Any]:
    """The columns of recipient and bank, which share one row; no two have the same name."""
    return {name: value for name, value in asdict(sent).items() if name != "bank"} | asdict(sent.bank)
