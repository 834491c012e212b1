"""The mapped classes and tables of one app: made once in the shop's metadata, kept as long as it, with aware times."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from typing import Any, TypeVar, cast
from weakref import WeakSet

from sqlalchemy import Table, event
from sqlalchemy.orm import class_mapper, make_transient_to_detached
from sqlalchemy.orm.attributes import instance_state, manager_of_class

from flask_paycheckout.database.deeds import deed_table
from flask_paycheckout.database.installation_table import installation_table
from flask_paycheckout.database.mapping import CLASSES, MOMENT, PaymentTable
from flask_paycheckout.database.service_table import service_table
from flask_paycheckout.database.shop_session import ShopDatabase

Row = TypeVar("Row")

# The mapped classes that already have the listener that makes their times aware; added twice, it would run twice.
_AWARE: WeakSet[type[Any]] = WeakSet()


@dataclass(eq=False)
class Models:
    """The mapped classes of one app, with their tables for plain statements."""

    Checkout: type[Any]
    Event: type[Any]
    Payout: type[Any]
    Booking: type[Any]
    Request: type[Any]
    days: Table
    """The table of the sums sent on each day; no class is mapped to it."""

    audits: Table
    """The table of the audits of months; no class is mapped to it."""

    order_problems: Table
    """The table of the orders that cannot be paid; no class is mapped to it."""

    alarms: Table
    """The table of the alarms that were sent to the owner; no class is mapped to it."""

    def __post_init__(self) -> None:
        self.classes = self.Checkout, self.Event, self.Payout, self.Booking, self.Request
        mapped_to = [table_of(model) for model in self.classes]
        self.checkouts, self.events, self.payouts, self.bookings, self.requests = mapped_to
        # No class is mapped to these.
        self.services, self.deeds = service_table(self.checkouts), deed_table(self.checkouts)
        self.installation = installation_table(self.checkouts)
        unmapped = self.services, self.installation, self.deeds, self.days, self.audits, self.order_problems
        self.tables = (*mapped_to, *unmapped, self.alarms)
        # The bind key of the tables; None for the shop's default database.
        self.bind_key: str | None = getattr(self.Checkout, "__bind_key__", None)

    def row_of(self, subject: object) -> dict[str, Any]:
        """The values of an object of a mapped class, by column name."""
        return {column: vars(subject)[attribute] for column, attribute in self._attributes[type(subject)]}

    def of_row(self, model: type[Row], row: Mapping[Any, Any]) -> Row:
        """Make a detached object from a row, which is much cheaper than loading it through a session.

        :param row: the values of all columns, by column name.
        """
        manager = manager_of_class(model)
        instance: Row = manager.new_instance()
        values = vars(instance)
        for column, attribute in self._attributes[model]:
            values[attribute] = row[column]
        make_transient_to_detached(instance)
        manager.dispatch.load(instance_state(instance), None)
        return instance

    @cached_property
    def _attributes(self) -> dict[type[Any], list[tuple[str, str]]]:
        """The columns of each class's table, each with the name of its attribute."""
        return {
            model: [
                (column.name, class_mapper(model).get_property_by_column(column).key) for column in table_of(model).c
            ]
            for model in self.classes
        }


def table_of(model: type[Any]) -> Table:
    """The table of a mapped class."""
    return cast("Table", model.__table__)


def mapped(database: ShopDatabase, mixin: type[Any], name: str, bind_key: str | None = None) -> type[Any]:
    """The shop's own subclass of a mixin in its metadata, or else a new subclass.

    :param bind_key: the bind key of a new subclass; None for the shop's default database.
    """
    classes = [model for metadata in database.metadatas.values() for model in metadata.info.get(CLASSES, ())]
    existing = next((model for model in classes if issubclass(model, mixin) and "__mapper__" in vars(model)), None)
    bind = {} if bind_key is None else {"__bind_key__": bind_key}
    body = {"__module__": __name__, "__reduce__": lambda row: (_record, (mixin, _values(row))), **bind}
    model: type[Any] = existing or type(name, (mixin, database.base(bind_key)), body)
    if model not in _AWARE:
        _AWARE.add(model)
        for loading in ("load", "refresh"):
            event.listen(model, loading, _keep_aware(model))
    return model


def _values(row: PaymentTable) -> dict[str, Any]:
    return {key: value for key, value in vars(row).items() if not key.startswith("_sa_")}


def _record(mixin: type[PaymentTable], values: dict[str, Any]) -> PaymentTable:
    """A copied or unpickled row: its values without a database, because a class made here cannot be imported."""
    record = object.__new__(mixin)
    vars(record).update(values)
    return record


def _keep_aware(model: type[Any]) -> Callable[..., None]:
    """A listener that makes loaded times aware UTC: SQLite returns them without a zone, PostgreSQL in its own zone.

    The instance is not marked as changed. Further times in a shop's subclass stay unchanged.
    """
    times = [column.key for column in table_of(model).c if column.type is MOMENT]

    def make_aware(instance: object, *event_facts: object) -> None:
        loaded = vars(instance)
        for key in times:
            value = loaded.get(key)
            if value is not None and value.tzinfo is not UTC:
                loaded[key] = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)

    return make_aware
