"""The limit of calls in a minute, counted for each client by the virtual clock.

A client is who its credentials say, whether or not they are right; without any, it is the caller's address.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from flask import g, request
from sqlalchemy import BigInteger, Connection, String, delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute, Mapped, mapped_column

from flask_paycheckout.sandbox.wire.envelope import unspecified_refusal
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.database import Table, transaction

__all__ = ["CountInWindows"]


class CountInWindows:
    """The counts in one table, whose primary key is who is counted and the window.

    :param who: the column of who is counted.
    :param window: the column of the window's number; later windows have higher numbers.
    :param counted: the column of the count.
    """

    def __init__(
        self, who: InstrumentedAttribute[str], window: InstrumentedAttribute[int], counted: InstrumentedAttribute[int]
    ) -> None:
        self._who, self._window, self._counted = who, window, counted

    def add(self, connection: Connection, who: str, window: int) -> int:
        """Add one to the count of this window, and delete the counts of earlier windows.

        :return: the count with this one. It takes one statement, because another process may count at the same time.
        """
        table: Any = self._counted.class_
        insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
        counting = (
            insert(table)
            .values({self._who.key: who, self._window.key: window, self._counted.key: 1})
            .on_conflict_do_update(
                index_elements=[self._who.key, self._window.key], set_={self._counted.key: self._counted + 1}
            )
            .returning(self._counted)
        )
        count = int(connection.execute(counting).scalar_one())
        if count == 1:
            connection.execute(delete(table).where(self._window < window))
        return count


OFF = "off"
_SECONDS = 60


class CallCount(Table):
    """The calls of one client in one minute."""

    __tablename__ = "call_count"

    caller: Mapped[str] = mapped_column(String(64), primary_key=True)
    """A digest, because credentials are secret."""
    minute: Mapped[int] = mapped_column(BigInteger, primary_key=True, index=True)
    calls: Mapped[int]


_CALLS = CountInWindows(CallCount.caller, CallCount.minute, CallCount.calls)


def check_rate() -> None:
    """Count the current call. :raises Refusal: it is one more than the unknown `rate_limit` allows."""
    limit = assumption("rate_limit")
    if limit == OFF:
        return
    now = int(world().clock.now().timestamp())
    with transaction() as session:
        calls = _CALLS.add(session.connection(), _caller(), now // _SECONDS)
    if calls > int(limit):
        g.retry_after = _SECONDS - now % _SECONDS
        raise unspecified_refusal(429, f"There were more than {limit} calls in a minute.")


def _caller() -> str:
    sent = request.headers.get("X-Client-ID") or request.headers.get("Authorization") or request.remote_addr or ""
    return sha256(sent.encode("utf-8", "surrogateescape")).hexdigest()
