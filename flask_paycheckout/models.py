"""The mapped classes on one shop's database: checkouts, events, payouts, their bookings, and payment requests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

from sqlalchemy import MetaData, Table
from sqlalchemy.orm import class_mapper, make_transient_to_detached
from sqlalchemy.orm.attributes import instance_state, manager_of_class

from flask_paycheckout.books.booking_model import BookingMixin
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.requests import RequestMixin
from flask_paycheckout.database.deeds import deed_table
from flask_paycheckout.database.hosts import ShopDatabase
from flask_paycheckout.database.mapping import mapped
from flask_paycheckout.database.service_table import service_table
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.payouts.daily_limit import day_table
from flask_paycheckout.payouts.payout_model import PayoutMixin

Row = TypeVar("Row")


@dataclass(frozen=True)
class Models:
    """The mapped classes on one shop's database, with their tables for plain statements."""

    Checkout: type[CheckoutMixin]
    Event: type[EventMixin]
    Payout: type[PayoutMixin]
    Booking: type[BookingMixin]
    Request: type[RequestMixin]

    @property
    def bind_key(self) -> str | None:
        """The bind that the tables belong to; None for the shop's default database."""
        key: str | None = getattr(self.Checkout, "__bind_key__", None)
        return key

    @property
    def checkouts(self) -> Table:
        return cast("Table", self.Checkout.__table__)

    @property
    def payouts(self) -> Table:
        return cast("Table", self.Payout.__table__)

    @property
    def requests(self) -> Table:
        return cast("Table", self.Request.__table__)

    @property
    def bookings(self) -> Table:
        return cast("Table", self.Booking.__table__)

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

    @cached_property
    def services(self) -> Table:
        """The table of failing calls, to which no class is mapped."""
        return service_table(self.checkouts)

    @cached_property
    def deeds(self) -> Table:
        """The table of deeds, to which no class is mapped."""
        return deed_table(self.checkouts)

    @cached_property
    def days(self) -> Table:
        """The table of the sums sent in each day, to which no class is mapped."""
        return day_table(self.checkouts)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All of them."""
        mapped_to = self.checkouts, self.events, self.payouts, self.bookings, self.requests
        return *mapped_to, self.services, self.deeds, self.days

    @property
    def events(self) -> Table:
        return cast("Table", self.Event.__table__)


def make_models(database: ShopDatabase) -> Models:
    """Make the mapped classes in the shop's metadata, or take the shop's own subclasses of the mixins."""
    checkout = mapped(database, CheckoutMixin, "PayCheckoutCheckout")
    # A shop that moved its payment tables to another bind before there were payouts has them there too.
    beside = getattr(checkout, "__bind_key__", None)
    models = Models(
        checkout,
        mapped(database, EventMixin, "PayCheckoutEvent"),
        mapped(database, PayoutMixin, "PayCheckoutPayout", beside),
        mapped(database, BookingMixin, "PayCheckoutBooking", beside),
        mapped(database, RequestMixin, "PayCheckoutRequest", beside),
    )
    # Now, so that migrations and `create_all` include the tables to which no class is mapped.
    database.metadatas[None].info[__name__], _ = models, models.tables
    return models


def models_in(metadata: MetaData) -> Models:
    """The mapped classes that `make_models` has made in this metadata.

    :raises ConfigurationError: there are none.
    """
    found = metadata.info.get(__name__)
    if not isinstance(found, Models):
        raise ConfigurationError("The payment tables are made by paycheckout.init_app(app, db). Call it first.")
    return found


def require_one_database(models: Models, config: Mapping[str, Any], *, separate: bool) -> None:
    """Refuse payment tables in another database than the shop's, as no transaction can include both.

    :param config: the app's configuration.
    :param separate: whether the shop accepts that (PAYCHECKOUT_SEPARATE_DATABASE).
    :raises ConfigurationError: the tables are in another database than the shop's, or in two.
    """
    key = models.bind_key
    others = (models.events, models.Event), (models.payouts, models.Payout), (models.bookings, models.Booking)
    for table, other in (*others, (models.requests, models.Request)):
        if (another := getattr(other, "__bind_key__", None)) != key:
            raise ConfigurationError(
                f"{models.checkouts.name} has the __bind_key__ {key!r} and {table.name} {another!r}: no transaction"
                " could store a payment together with its event. Give the classes the same one."
            )
    binds = set(config.get("SQLALCHEMY_BINDS") or ())
    has_default = config.get("SQLALCHEMY_DATABASE_URI") is not None or None in binds
    if key is None or separate or not (has_default or binds - {key}):
        return
    raise ConfigurationError(
        f"the payment tables have the __bind_key__ {key!r}, so they are in another database than the shop's orders:"
        " a receiver's writes and the mark that it has run would be two commits, and its effects could happen twice."
        " Take the __bind_key__ away, or set PAYCHECKOUT_SEPARATE_DATABASE = True if your receivers can be run again"
        " with the same event_id."
    )
