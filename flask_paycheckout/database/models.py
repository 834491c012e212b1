"""The mapped classes and tables of one app, which each subject makes and `flask_paycheckout.models` puts together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

from sqlalchemy import Table
from sqlalchemy.orm import class_mapper, make_transient_to_detached
from sqlalchemy.orm.attributes import instance_state, manager_of_class

from flask_paycheckout.database.deeds import deed_table
from flask_paycheckout.database.service_table import service_table

Row = TypeVar("Row")


@dataclass(frozen=True)
class Models:
    """The mapped classes of one app, with their tables for plain statements."""

    Checkout: type[Any]
    Event: type[Any]
    Payout: type[Any]
    Booking: type[Any]
    Request: type[Any]
    days: Table
    """The table of the sums sent in each day, to which no class is mapped."""

    @property
    def bind_key(self) -> str | None:
        """The bind that the tables belong to; None for the shop's default database."""
        key: str | None = getattr(self.Checkout, "__bind_key__", None)
        return key

    @cached_property
    def checkouts(self) -> Table:
        return table_of(self.Checkout)

    @cached_property
    def events(self) -> Table:
        return table_of(self.Event)

    @cached_property
    def payouts(self) -> Table:
        return table_of(self.Payout)

    @cached_property
    def bookings(self) -> Table:
        return table_of(self.Booking)

    @cached_property
    def requests(self) -> Table:
        return table_of(self.Request)

    @cached_property
    def services(self) -> Table:
        """The table of failing calls, to which no class is mapped."""
        return service_table(self.checkouts)

    @cached_property
    def deeds(self) -> Table:
        """The table of deeds, to which no class is mapped."""
        return deed_table(self.checkouts)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All of them."""
        mapped_to = self.checkouts, self.events, self.payouts, self.bookings, self.requests
        return *mapped_to, self.services, self.deeds, self.days

    def row_of(self, subject: object) -> dict[str, Any]:
        """The values of a checkout, event, payout or request, by the names of the table's columns."""
        return {column: vars(subject)[attribute] for column, attribute in self._attributes[type(subject)]}

    def of_row(self, model: type[Row], row: Mapping[Any, Any]) -> Row:
        """Make a detached object from a row, which is much cheaper than loading it through a session.

        :param row: every column of the table by its name.
        """
        manager = manager_of_class(model)
        made: Row = manager.new_instance()
        vars(made).update({attribute: row[column] for column, attribute in self._attributes[model]})
        make_transient_to_detached(made)
        manager.dispatch.load(instance_state(made), None)
        return made

    @cached_property
    def _attributes(self) -> dict[type[Any], list[tuple[str, str]]]:
        """The columns of the tables of these classes, each with the name of its attribute."""
        mappers = {model: class_mapper(model) for model in (self.Checkout, self.Event, self.Payout, self.Request)}
        return {
            model: [(column.name, mapper.get_property_by_column(column).key) for column in mapper.local_table.c]
            for model, mapper in mappers.items()
        }


def table_of(model: type[Any]) -> Table:
    """The table of a mapped class."""
    return cast("Table", model.__table__)
