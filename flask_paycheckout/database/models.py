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


@dataclass(eq=False)
class Models:
    """The mapped classes of one app, with their tables for plain statements."""

    Checkout: type[Any]
    Event: type[Any]
    Payout: type[Any]
    Booking: type[Any]
    Request: type[Any]
    days: Table
    """The table of the sums sent in each day, to which no class is mapped."""

    def __post_init__(self) -> None:
        self.classes = self.Checkout, self.Event, self.Payout, self.Booking, self.Request
        mapped_to = [table_of(model) for model in self.classes]
        self.checkouts, self.events, self.payouts, self.bookings, self.requests = mapped_to
        # No class is mapped to these.
        self.services, self.deeds = service_table(self.checkouts), deed_table(self.checkouts)
        self.tables = (*mapped_to, self.services, self.deeds, self.days)
        # The bind that the tables belong to; None for the shop's default database.
        self.bind_key: str | None = getattr(self.Checkout, "__bind_key__", None)

    def row_of(self, subject: object) -> dict[str, Any]:
        """The values of an object of a mapped class, by the names of the table's columns."""
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
        return {
            model: [
                (column.name, class_mapper(model).get_property_by_column(column).key) for column in table_of(model).c
            ]
            for model in self.classes
        }


def table_of(model: type[Any]) -> Table:
    """The table of a mapped class."""
    return cast("Table", model.__table__)
