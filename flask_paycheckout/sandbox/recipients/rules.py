"""Finding, creating, changing and deleting recipients of an account."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, or_, select, update
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import User
from flask_paycheckout.sandbox.recipients.schemas import BankUpdate, NewRecipient, RecipientQuery, RecipientUpdate
from flask_paycheckout.sandbox.recipients.tables import Recipient
from flask_paycheckout.sandbox.wire.envelope import unspecified_refusal
from flask_paycheckout.sandbox.wire.field_types import declared_fields
from flask_paycheckout.sandbox.wire.paging import text_filters
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.database import rows_changed
from flask_paycheckout.sandbox.world.ids import new_id


def find_recipient(session: Session, user_id: str, recipient_id: str) -> Recipient | None:
    """Find an account's recipient by its id."""
    return session.scalars(select(Recipient).where(*_is(user_id, recipient_id))).one_or_none()


def get_recipient(session: Session, user_id: str, recipient_id: str) -> Recipient:
    """Find an account's recipient by its id. :raises Refusal: there is none."""
    recipient = find_recipient(session, user_id, recipient_id)
    if recipient is None:
        raise unspecified_refusal(int(assumption("recipient_not_found")), "Recipient not found")
    return recipient


def _is(user_id: str, recipient_id: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return Recipient.id == recipient_id, Recipient.user_id == user_id


def selection(user_id: str, query: RecipientQuery) -> Select[Recipient]:
    """The statement that selects the recipients of a list."""
    wanted = select(Recipient).where(Recipient.user_id == user_id)
    wanted = wanted.where(*text_filters([(Recipient.country, query.country)]))
    if query.currency is not None:
        wanted = wanted.where(Recipient.currency == query.currency)
    return wanted if query.search is None else wanted.where(_matches(query.search.casefold()))


def _matches(text: str) -> ColumnElement[bool]:
    columns = Recipient.name_key, Recipient.email_key
    match assumption("recipient_search"):
        case "exact":
            return or_(*(column == text for column in columns))
        case "prefix":
            return or_(*(column.startswith(text, autoescape=True) for column in columns))
    return or_(*(column.contains(text, autoescape=True) for column in columns))


def add_recipient(session: Session, user_id: str, sent: NewRecipient, recipient_id: str | None = None) -> Recipient:
    """Store a recipient; it belongs to the user's organization unless the request names another.

    :param recipient_id: a free id; a new one when None.
    """
    now = world().clock.now()
    columns = _columns(sent)
    if columns["organization_id"] is None:
        columns["organization_id"] = session.scalars(
            select(User.organization_id).where(User.id == user_id)
        ).one_or_none()
    recipient = Recipient(
        id=recipient_id or new_id(session),
        bank_id=new_id(session),
        user_id=user_id,
        created_at=now,
        updated_at=now,
        **columns,
        **_keys(columns),
    )
    session.add(recipient)
    session.flush()
    return recipient


def change_recipient(session: Session, user_id: str, recipient_id: str, sent: RecipientUpdate) -> Recipient:
    """Change a recipient's name, and other fields as the unknown `recipient_changes` says; absent fields stay."""
    recipient = get_recipient(session, user_id, recipient_id)
    columns = {name: value for name, value in _columns(sent).items() if value is not None}
    if assumption("recipient_changes") == "refused":
        _refuse_changes(recipient, columns)
    if assumption("recipient_changes") != "applied":
        columns = {"name": sent.name}
    changes = columns | _keys(columns) | {"updated_at": world().clock.now()}
    if not rows_changed(session, update(Recipient).where(*_is(user_id, recipient_id)).values(changes)):
        raise unspecified_refusal(int(assumption("recipient_not_found")), "Recipient not found")
    session.refresh(recipient)
    return recipient


def _refuse_changes(recipient: Recipient, columns: dict[str, str]) -> None:
    changed = [name for name, value in columns.items() if name != "name" and getattr(recipient, name) != value]
    if changed:
        raise unspecified_refusal(
            400, f"{_wire_name(changed[0])} cannot be changed; send it as it is. Only the name can."
        )


def _wire_name(column: str) -> str:
    own = {field.attribute: field.name for field in declared_fields(RecipientUpdate)}
    of_bank = {field.attribute: f"bank.{field.name}" for field in declared_fields(BankUpdate)}
    return (own | of_bank)[column]


def delete_recipient(session: Session, user_id: str, recipient_id: str) -> Recipient:
    """Delete a recipient, and return its last state. Disbursements and payments have their own copy."""
    recipient = get_recipient(session, user_id, recipient_id)
    if not rows_changed(session, delete(Recipient).where(*_is(user_id, recipient_id))):
        raise unspecified_refusal(int(assumption("recipient_not_found")), "Recipient not found")
    return recipient


def _columns(sent: NewRecipient | RecipientUpdate) -> dict[str, Any]:
    """The columns of recipient and bank, which share one row; no two have the same name."""
    columns = asdict(sent)
    bank: dict[str, Any] = columns.pop("bank")
    return columns | bank


def _keys(columns: dict[str, Any]) -> dict[str, str]:
    return {f"{name}_key": columns[name].casefold() for name in ("name", "email") if name in columns}
