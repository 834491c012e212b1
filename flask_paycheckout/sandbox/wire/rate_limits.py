"""The limit of calls in a minute, counted for each client by the virtual clock.

A client is who its credentials say, whether or not they are right; without any, it is the caller's address.
"""

from __future__ import annotations

from hashlib import sha256

from flask import g, request
from sqlalchemy import BigInteger, delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.wire.envelope import unspecified_refusal
from flask_paycheckout.sandbox.world.context import assumption, current_time
from flask_paycheckout.sandbox.world.database import Table, transaction

OFF = "off"
_SECONDS = 60


class CallCount(Table):
    """The calls of one client in one minute."""

    __tablename__ = "call_count"

    caller: Mapped[str] = mapped_column(primary_key=True)
    """A digest, because credentials are secret."""
    minute: Mapped[int] = mapped_column(BigInteger, primary_key=True, index=True)
    calls: Mapped[int]


def check_rate() -> None:
    """Count the current call. :raises Refusal: it is one more than the unknown `rate_limit` allows."""
    limit = assumption("rate_limit")
    if limit == OFF:
        return
    now = int(current_time().timestamp())
    with transaction() as session:
        calls = _count(session, _caller(), now // _SECONDS)
    if calls > int(limit):
        g.retry_after = _SECONDS - now % _SECONDS
        raise unspecified_refusal(429, f"There were more than {limit} calls in a minute.")


def _count(session: Session, caller: str, minute: int) -> int:
    """Count a call, in one statement because another process may count at the same time; forget earlier minutes."""
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    counting = (
        insert(CallCount)
        .values(caller=caller, minute=minute, calls=1)
        .on_conflict_do_update(index_elements=["caller", "minute"], set_={"calls": CallCount.calls + 1})
        .returning(CallCount.calls)
    )
    calls = session.scalars(counting).one()
    if calls == 1:
        session.execute(delete(CallCount).where(CallCount.minute < minute))
    return calls


def _caller() -> str:
    sent = request.headers.get("X-Client-ID") or request.headers.get("Authorization") or request.remote_addr or ""
    return sha256(sent.encode("utf-8", "surrogateescape")).hexdigest()
