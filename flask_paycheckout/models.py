"""The mapped classes of one shop's database: checkouts, events, payouts, their bookings, and payment requests."""

from __future__ import annotations

from sqlalchemy import MetaData

from flask_paycheckout.books.audit.month_results import audit_table
from flask_paycheckout.books.booking_model import BookingMixin
from flask_paycheckout.books.telling import alarm_table
from flask_paycheckout.checkouts.checkout_model import CheckoutMixin
from flask_paycheckout.checkouts.order_problems import order_problem_table
from flask_paycheckout.checkouts.requests import RequestMixin
from flask_paycheckout.database.models import Models, mapped, table_of
from flask_paycheckout.database.shop_session import ShopDatabase
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.events.event_model import EventMixin
from flask_paycheckout.payouts.daily_limit import day_table
from flask_paycheckout.payouts.payout_model import PayoutMixin


def make_models(database: ShopDatabase) -> Models:
    """Make the mapped classes in the shop's metadata, or use the shop's own subclasses of the mixins."""
    checkout = mapped(database, CheckoutMixin, "PayCheckoutCheckout")
    # The other tables follow the bind of the checkouts, so a shop sets it only once.
    bind_key = getattr(checkout, "__bind_key__", None)
    models = Models(
        checkout,
        mapped(database, EventMixin, "PayCheckoutEvent"),
        mapped(database, PayoutMixin, "PayCheckoutPayout", bind_key),
        mapped(database, BookingMixin, "PayCheckoutBooking", bind_key),
        mapped(database, RequestMixin, "PayCheckoutRequest", bind_key),
        day_table(table_of(checkout)),
        audit_table(table_of(checkout)),
        order_problem_table(table_of(checkout)),
        alarm_table(table_of(checkout)),
    )
    database.metadatas[None].info[__name__] = models
    return models


def models_in(metadata: MetaData) -> Models:
    """The mapped classes that `make_models` has made in this metadata.

    :raises ConfigurationError: the metadata has no such classes.
    """
    models = metadata.info.get(__name__)
    if not isinstance(models, Models):
        raise ConfigurationError("The payment tables are made by paycheckout.init_app(app, db). Call it first.")
    return models
