"""Mapped classes in a shop's metadata: made once for each, kept as long as it, with aware times."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any, ClassVar

from sqlalchemy import BigInteger, DateTime, FromClause, Index, Integer, event, text

from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.hosts import ShopDatabase

# SQLite assigns row ids only in a column of exactly the type INTEGER.
ROW_ID = BigInteger().with_variant(Integer, "sqlite")
# The type of our times: a plain one of SQLAlchemy, so that migrations written by Alembic import nothing of ours.
MOMENT = DateTime(timezone=True)


def partial_index(name: str, *columns: str, where: str) -> Index:
    """An index that contains only the rows with this condition of SQL."""
    return Index(name, *columns, sqlite_where=text(where), postgresql_where=text(where))


class PaymentTable:
    """Base of the mixins of our tables, whose mapped classes are kept as long as their metadata.

    SQLAlchemy itself holds only weak references to them.
    """

    if TYPE_CHECKING:
        __table__: ClassVar[FromClause]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        metadata = getattr(cls, "metadata", None)
        if metadata is not None:
            metadata.info.setdefault(__name__, []).append(cls)


def mapped(database: ShopDatabase, mixin: type[Any], name: str, bind_key: str | None = None) -> type[Any]:
    """The shop's own subclass of a mixin in its metadata, or one that is made now.

    :param bind_key: the bind of one that is made now; None for the shop's default database.
    """
    held = [model for metadata in database.metadatas.values() for model in metadata.info.get(__name__, ())]
    found = next((model for model in held if issubclass(model, mixin) and "__mapper__" in vars(model)), None)
    bind = {} if bind_key is None else {"__bind_key__": bind_key}
    model: type[Any] = found or type(name, (mixin, database.base(bind_key)), {"__module__": __name__, **bind})
    event.listen(model, "load", _make_aware)
    event.listen(model, "refresh", _make_aware)
    return model


def _make_aware(instance: PaymentTable, *event_facts: object) -> None:
    """Make loaded times aware UTC: SQLite returns them without a zone, PostgreSQL in the connection's zone.

    The instance is not marked as changed. A shop's subclass may have other times, which stay as they are loaded.
    """
    loaded = vars(instance)
    for column in instance.__table__.c:
        value = loaded.get(column.key) if column.type is MOMENT else None
        if value is not None and value.tzinfo is not UTC:
            loaded[column.key] = as_utc(value)
