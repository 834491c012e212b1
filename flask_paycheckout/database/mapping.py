"""The columns and indexes of our tables, and the base of their mixins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import BigInteger, DateTime, FromClause, Index, Integer, text

# SQLite assigns row ids only in a column of exactly the type INTEGER.
ROW_ID = BigInteger().with_variant(Integer, "sqlite")
# The type of our times: a plain SQLAlchemy type, so that migrations written by Alembic import nothing of ours.
MOMENT = DateTime(timezone=True)
# The key in a metadata's `info` of the list of its mapped classes.
CLASSES = "flask_paycheckout_classes"


def partial_index(name: str, *columns: str, where: str) -> Index:
    """An index that contains only the rows that meet this SQL condition."""
    return Index(name, *columns, sqlite_where=text(where), postgresql_where=text(where))


class PaymentTable:
    """Base of the mixins of our tables; it keeps their mapped classes alive as long as their metadata.

    SQLAlchemy itself holds only weak references to mapped classes.
    """

    if TYPE_CHECKING:
        __table__: ClassVar[FromClause]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        metadata = getattr(cls, "metadata", None)
        if metadata is not None:
            metadata.info.setdefault(CLASSES, []).append(cls)
