"""The log of requests to the service and their answers, for developers. Secrets are masked."""

from __future__ import annotations

import re
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import msgspec
from flask import Response, g, request
from sqlalchemy import insert
from sqlalchemy.orm import Mapped, Session

from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp, encode
from flask_paycheckout.sandbox.world.context import current_time
from flask_paycheckout.sandbox.world.database import Serial, Table, insert_rows, sweep, transaction
from flask_paycheckout.sandbox.world.exact_json import read_json
from flask_paycheckout.sandbox.world.transitions import Activity

LOSE_RESPONSE = "lose_response"
"""The fault after which a call gets no answer although it had its effect."""
_MAX_TEXT = 4000
_MASK = "***"
_HIDDEN = "(no JSON, and it may hold secrets)"
_SECRET_NAMES = {
    *("password", "otp", "otp_code", "accessToken", "verificationToken", "clientSecret"),
    *("nationalID", "accountNumber", "ibanNumber"),
}
_MAY_BE_SECRET = re.compile(rf"\0|\\|{'|'.join(sorted(_SECRET_NAMES))}")
"""Part of every text with a secret field: the field's name, the sign that begins an escaped letter, or the NUL that
stands between the letters of UTF-16 and UTF-32.
"""


class LoggedRequest(Table):
    __tablename__ = "logged_request"

    number: Mapped[Serial]
    at: Mapped[datetime]
    """When the request arrived, so that it sorts before its effects."""
    method: Mapped[str]
    target: Mapped[str]
    client_id: Mapped[str | None]
    """As sent, whether or not the signature was accepted."""
    account: Mapped[str | None]
    """The name of the account whose signature or access token was accepted. It outlives the account."""
    request_body: Mapped[str]
    status: Mapped[int | None]
    """None when no answer was given."""
    answer_body: Mapped[str]
    fault: Mapped[str | None]
    signed_string: Mapped[str | None]
    """The string that the sandbox signed, when it did not accept the caller's signature."""
    unknown_fields: Mapped[str | None]
    """Names of fields that the operation does not have, which the service may ignore or refuse."""


_LOGGING = insert(LoggedRequest.__table__).returning(LoggedRequest.number)  # type: ignore[arg-type]  # a table


def log_request(response: Response | None, within: Session | None = None) -> None:
    """Log the current request with its answer; None when it gets none.

    :param within: the call's own transaction; without it the entry has one of its own.
    """
    answer = b"" if response is None else response.get_data()
    is_pdf = response is not None and response.mimetype == "application/pdf"
    entry = {
        # A request that was refused for its host has no time of arrival.
        "at": g.get("arrived_at") or current_time(),
        "method": _text(request.method)[:20],
        "target": _text(request.full_path.removesuffix("?")),
        "client_id": _text(request.headers.get("X-Client-ID", "")) or None,
        "account": g.get("account"),
        "request_body": masked(g.get("body", b"")),
        "status": None if response is None else response.status_code,
        "answer_body": f"(application/pdf, {len(answer)} bytes)" if is_pdf else masked(answer),
        "fault": g.get("fault_kind"),
        "signed_string": _text(g.get("rejected_string", "")) or None,
        "unknown_fields": _text(", ".join(g.get("undeclared", ())))[:500] or None,
    }
    with transaction() if within is None else nullcontext(within) as session:
        # Much cheaper than a mapped object, and every call is logged.
        number: int = session.connection().execute(_LOGGING, entry).scalar_one()
        event = {
            "kind": "call",
            "request": number,
            "account": entry["account"],
            "activity": f"{entry['method']} {entry['target']}",
            "description": f"fault: {entry['fault']}" if entry["fault"] else "",
            "status": str(entry["status"] or "no answer"),
            "updated_at": entry["at"],
        }
        insert_rows(session, Activity, [event])
        for numbers in (LoggedRequest.number, Activity.request):
            sweep(session, numbers, number)


def masked(content: bytes) -> str:
    """The text with the values of secret fields replaced; a text without such fields is unchanged."""
    try:
        text = content.decode()
        if _MAY_BE_SECRET.search(text) is not None:
            text = encode(_blanked(read_json(content))).decode()
        return _text(text)
    except (ValueError, RecursionError):
        return _HIDDEN


def _blanked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _MASK if name in _SECRET_NAMES else _blanked(inner) for name, inner in value.items()}
    return [_blanked(inner) for inner in value] if isinstance(value, list) else value


def _text(text: str) -> str:
    # No database stores lone surrogates, and PostgreSQL stores no NUL.
    return text[:_MAX_TEXT].encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


class RequestRecord(Record):
    """A logged request as the control interface shows it."""

    number: int = msgspec.field(name="id")
    at: Timestamp
    method: str
    target: str
    client_id: str | None
    account: str | None
    request_body: str
    status: int | None
    answer_body: str
    fault: str | None
    signed_string: str | None
    unknown_fields: str | None
