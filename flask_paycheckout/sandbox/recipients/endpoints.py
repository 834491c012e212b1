"""Endpoints of recipients below `/v1/recipient`."""

from __future__ import annotations

from flask import Blueprint
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.access import check_access
from flask_paycheckout.sandbox.recipients.rules import (
    add_recipient,
    change_recipient,
    delete_recipient,
    get_recipient,
    selection,
)
from flask_paycheckout.sandbox.recipients.schemas import (
    NewRecipient,
    RecipientQuery,
    RecipientRecord,
    RecipientUpdate,
    WhichRecipient,
    represent,
)
from flask_paycheckout.sandbox.recipients.tables import ORDERING
from flask_paycheckout.sandbox.wire.envelope import Envelope, success
from flask_paycheckout.sandbox.wire.operations import Credentials, operation, read_body, read_query
from flask_paycheckout.sandbox.wire.paging import Page, page_of
from flask_paycheckout.sandbox.wire.request_log import in_one_transaction
from flask_paycheckout.sandbox.world.context import assumption

recipients = Blueprint("recipients", __name__, url_prefix="/v1/recipient")


@recipients.get("")
@operation(credentials=Credentials.SIGNATURE, query=RecipientQuery)
@in_one_transaction
def list_recipients(session: Session) -> Envelope[Page[RecipientRecord]]:
    """List recipients, by name, e-mail address, and country and currency of the bank account."""
    account = check_access(session)
    query = read_query(RecipientQuery)
    return success(page_of(session, selection(account.user_id, query), ORDERING, query, represent))


@recipients.post("")
@operation(credentials=Credentials.SIGNATURE, body=NewRecipient, codes=(200, 201))
@in_one_transaction
def create_recipient(session: Session) -> Envelope[RecipientRecord]:
    """Create a recipient with its bank account."""
    recipient = add_recipient(session, check_access(session).user_id, read_body(NewRecipient))
    return success(represent(recipient), "Recipient created successfully", int(assumption("recipient_status_code")))


@recipients.get("/<id>")
@operation(credentials=Credentials.SIGNATURE)
@in_one_transaction
def read_recipient(session: Session, id: str) -> Envelope[RecipientRecord]:  # noqa: A002 - the interface's name for it
    """Read a recipient."""
    return success(represent(get_recipient(session, check_access(session).user_id, id)))


@recipients.patch("/<id>")
@operation(credentials=Credentials.SIGNATURE, body=RecipientUpdate)
@in_one_transaction
def update_recipient(session: Session, id: str) -> Envelope[RecipientRecord]:  # noqa: A002
    """Change a recipient's name, the only field that can be changed at present."""
    account = check_access(session)
    recipient = change_recipient(session, account.user_id, id, read_body(RecipientUpdate))
    return success(represent(recipient), "Recipient updated successfully")


@recipients.delete("/<id>")
@operation(credentials=Credentials.SIGNATURE)
@in_one_transaction
def remove_recipient(session: Session, id: str) -> Envelope[RecipientRecord]:  # noqa: A002
    """Delete a recipient, and answer it a last time."""
    return _removed(session, id)


@recipients.delete("")
@operation(credentials=Credentials.SIGNATURE, query=WhichRecipient)
@in_one_transaction
def remove_recipient_by_query(session: Session) -> Envelope[RecipientRecord]:
    """Delete a recipient that the query names."""
    return _removed(session, None)


def _removed(session: Session, recipient_id: str | None) -> Envelope[RecipientRecord]:
    account = check_access(session)
    recipient_id = read_query(WhichRecipient).id if recipient_id is None else recipient_id
    recipient = delete_recipient(session, account.user_id, recipient_id)
    return success(represent(recipient), "Recipient deleted successfully")
