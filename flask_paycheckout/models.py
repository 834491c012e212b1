"""The mapped classes on one shop's database: checkouts, events, payouts, their bookings, and payment requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import MetaData

from flask_paycheckout.books.booking_model import BookingMixin
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.requests import RequestMixin
from flask_paycheckout.database.hosts import ShopDatabase
from flask_paycheckout.database.mapping import mapped
from flask_paycheckout.database.models import Models, table_of
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.payouts.daily_limit import day_table
from flask_paycheckout.payouts.payout_model import PayoutMixin


def make_models(database: ShopDatabase) -> Models:
    """Make the mapped classes in the shop's metadata, or take the shop's own subclasses of the mixins."""
    checkout = mapped(database, CheckoutMixin, "PayCheckoutCheckout")
    # A shop that has put its checkouts on another bind need not say so of each other table.
    bind_key = getattr(checkout, "__bind_key__", None)
    models = Models(
        checkout,
        mapped(database, EventMixin, "PayCheckoutEvent"),
        mapped(database, PayoutMixin, "PayCheckoutPayout", bind_key),
        mapped(database, BookingMixin, "PayCheckoutBooking", bind_key),
        mapped(database, RequestMixin, "PayCheckoutRequest", bind_key),
        day_table(table_of(checkout)),
    )
    database.metadatas[None].info[__name__] = models
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
    for model in models.classes:
        if (another := getattr(model, "__bind_key__", None)) != key:
            raise ConfigurationError(
                f"{models.checkouts.name} has the __bind_key__ {key!r} and {table_of(model).name} {another!r}: no"
                " transaction could store a payment together with its event. Give the classes the same one."
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
