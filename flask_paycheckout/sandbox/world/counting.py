"""Counts of what somebody does within a window of time, exact for all processes on one database."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute

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
