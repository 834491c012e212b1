"""The tables in the shop's database: checkouts, and the events about them.

Money is stored as exact text, and times are aware UTC. `current_order_id` and `paid_order_id` are unique, and NULL for
all but one checkout of an order, so that the database itself refuses a second current or a second paid one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, cast

from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import BigInteger, DateTime, FromClause, Index, Integer, String, Table, Text, event, text
from sqlalchemy.orm import Mapped, class_mapper, declared_attr, make_transient_to_detached, mapped_column
from sqlalchemy.orm.attributes import instance_state, manager_of_class, set_committed_value

from flask_paycheckout.clock import as_utc
from flask_paycheckout.errors import ConfigurationError
from flask_paycheckout.rules.order_ids import MAX_ID
from flask_paycheckout.store.payments import PAYMENT_COLUMNS, Payment, payment_of
from flask_paycheckout.store.service_table import service_table
from flask_paycheckout.totals import Pay, Receive, Total

__all__ = [
    "MAX_ID",
    "MONEY_TO_PAY_BACK",
    "CheckoutMixin",
    "EventMixin",
    "Models",
    "make_models",
    "require_one_database",
    "total_columns",
]

MONEY_TO_PAY_BACK = "status IN ('paid', 'rejected') AND paid_order_id IS NULL AND payback IS NULL"
"""The SQL condition for payments that paid no order and were not yet recorded as paid back or kept.

Written as text, because a database uses a partial index only for exactly the same condition.
"""

# SQLite assigns row ids only in a column of exactly the type INTEGER.
_RowId = BigInteger().with_variant(Integer, "sqlite")
# A plain type of SQLAlchemy, so that migrations written by Alembic import nothing of ours.
_Moment = DateTime(timezone=True)
_MOMENTS = (
    "created_at",
    "moved_at",
    "next_read_at",
    "last_read_at",
    "problem_since",
    "webhook_read_at",
    "webhook_due_at",
    "occurred_at",
    "delivered_at",
    "superseded_at",
    "next_attempt_at",
    "lease_until",
    "payment_completed_at",
)


class CheckoutMixin:
    """One attempt at paying an order. Subclass it together with `db.Model` to add columns of your own."""

    __tablename__ = "paycheckout_checkout"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _hold(cls)

    @declared_attr.directive
    def __table_args__(cls) -> tuple[Any, ...]:  # noqa: N805 - it is a class
        # The first serves counts by state, held payments and the newest payments. The last is partial: it contains only
        # the few payments that wait to be recorded as paid back or kept.
        waiting = text(MONEY_TO_PAY_BACK)
        problem = text("problem_since IS NOT NULL")
        return (
            Index("ix_paycheckout_checkout_state", "status", "moved_at"),
            # For an order's newest checkouts, however many it has.
            Index("ix_paycheckout_checkout_order", "order_id", "id"),
            Index("ix_paycheckout_checkout_problem", "problem_since", sqlite_where=problem, postgresql_where=problem),
            Index("ix_paycheckout_checkout_payback", "moved_at", sqlite_where=waiting, postgresql_where=waiting),
        )

    if TYPE_CHECKING:
        __table__: ClassVar[FromClause]

    id: Mapped[int] = mapped_column(_RowId, primary_key=True)
    checkout_id: Mapped[str] = mapped_column(String(MAX_ID), unique=True)
    """The service's id; equals the depositId and the webhook's orderId."""

    order_id: Mapped[str] = mapped_column(String(MAX_ID))
    """The shop's own id."""

    current_order_id: Mapped[str | None] = mapped_column(String(MAX_ID), unique=True)
    """The order id while this is the order's newest checkout, else NULL."""

    paid_order_id: Mapped[str | None] = mapped_column(String(MAX_ID), unique=True)
    """The order id when this checkout paid the order, else NULL."""

    status: Mapped[str] = mapped_column(String(16))
    """The state: `created`, `pending`, `paid`, `held`, `rejected` or `abandoned`."""

    reason: Mapped[str | None] = mapped_column(String(32))
    """The reason why it is held or abandoned; else None."""

    url: Mapped[str] = mapped_column(Text)
    """The URL of the payment page, as the service returned it."""

    total_kind: Mapped[str] = mapped_column(String(8))
    """The kind of total: `pay` or `receive`."""

    total_amount: Mapped[str] = mapped_column(String(64))
    total_currency: Mapped[str] = mapped_column(String(72))
    total_other_currency: Mapped[str | None] = mapped_column(String(72))
    """The other side's currency: `receive_in` of a Pay, `pay_in` of a Receive."""

    created_at: Mapped[datetime] = mapped_column(_Moment)
    """The time of creation; an aware UTC datetime, like every other time here."""

    moved_at: Mapped[datetime] = mapped_column(_Moment)
    """The time when the state, or the deposit's status, last changed."""

    next_read_at: Mapped[datetime | None] = mapped_column(_Moment, index=True)
    """The time of reconcile's next read of the deposit; None when only a webhook causes another one."""

    last_read_at: Mapped[datetime | None] = mapped_column(_Moment)
    webhook_read_at: Mapped[datetime | None] = mapped_column(_Moment)
    """The time of the last read that a webhook caused."""

    webhook_due_at: Mapped[datetime | None] = mapped_column(_Moment)
    """The time of the read that a webhook within the cool-down asked for; NULL once the deposit was read."""

    deposit_status: Mapped[str | None] = mapped_column(String(64))
    """The deposit's status in its last read; None while no deposit was seen."""

    revision: Mapped[int] = mapped_column(Integer)
    """The number of moves; a move's statement requires the revision that it starts from."""

    reads: Mapped[int] = mapped_column(Integer)
    """The number of reads that the service answered, with a deposit or with `Deposit not found`."""

    not_found_reads: Mapped[int] = mapped_column(Integer)
    failed_reads: Mapped[int] = mapped_column(Integer)
    """The number of failures in a row to read the deposit, or to apply the result."""

    problem: Mapped[str | None] = mapped_column(Text)
    """The error of the last read, or of applying its result; None when both succeeded."""

    problem_since: Mapped[datetime | None] = mapped_column(_Moment)
    """The time of the first such error since the last success."""

    webhooks: Mapped[int] = mapped_column(Integer)
    """The number of webhooks about it."""

    found_by: Mapped[str | None] = mapped_column(String(16))
    """The cause of the read that found the payment: webhook, status page, reconcile or settle."""

    payment_paid_amount: Mapped[str | None] = mapped_column(String(255))
    """The first of the columns with the completed deposit's money: exact text, NULL where the deposit has no value."""

    payment_paid_currency: Mapped[str | None] = mapped_column(String(255))
    payment_received_amount: Mapped[str | None] = mapped_column(String(255))
    payment_received_currency: Mapped[str | None] = mapped_column(String(255))
    payment_fee_amount: Mapped[str | None] = mapped_column(String(255))
    payment_fee_percentage: Mapped[str | None] = mapped_column(String(255))
    payment_fee_currency: Mapped[str | None] = mapped_column(String(255))
    payment_method: Mapped[str | None] = mapped_column(String(255))
    """The bank's code, else its name, else `crypto`; known as soon as the customer has picked it."""

    payment_bank_name: Mapped[str | None] = mapped_column(String(255))
    payment_rate: Mapped[str | None] = mapped_column(String(255))
    payment_completed_at: Mapped[datetime | None] = mapped_column(_Moment)
    """The time when the deposit was first read as completed; NULL until then."""

    payback: Mapped[str | None] = mapped_column(String(16))
    """For money that did not pay the order: `paid_back`, `kept`, or None until one of them is recorded."""

    history: Mapped[str] = mapped_column(Text)
    """The history, one JSON object per line; `explain` reads it."""

    @property
    def total(self) -> Total:
        """The total that was asked for, as it was before the redirect to the payment page."""
        amount = Decimal(self.total_amount)
        if self.total_kind == "pay":
            return Pay(amount, self.total_currency, receive_in=self.total_other_currency)
        return Receive(amount, self.total_currency, pay_in=str(self.total_other_currency))

    @property
    def payment(self) -> Payment | None:
        """The money that arrived, as the deposit reported it; None before, and for rows of older versions."""
        return payment_of({name: getattr(self, name) for name in PAYMENT_COLUMNS})

    def __repr__(self) -> str:
        # Without the URL, with which anybody could pay: reprs end up in logs.
        return f"<{type(self).__name__} {self.checkout_id!r} of order {self.order_id!r}: {self.status}>"


class EventMixin:
    """An event, to be delivered to the receivers of its signal."""

    __tablename__ = "paycheckout_event"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _hold(cls)

    @declared_attr.directive
    def __table_args__(cls) -> tuple[Any, ...]:  # noqa: N805 - it is a class
        return (Index("ix_paycheckout_event_undelivered", "next_attempt_at", "id"),)

    if TYPE_CHECKING:
        __table__: ClassVar[FromClause]

    id: Mapped[int] = mapped_column(_RowId, primary_key=True)
    event_id: Mapped[str] = mapped_column(String(36), unique=True)
    """The event's id, equal in every delivery; receivers use it as an idempotency key."""

    once: Mapped[str] = mapped_column(String(600), unique=True)
    """A unique key of the event, such as `order_paid` of an order, so that it is stored only once."""

    name: Mapped[str] = mapped_column(String(32))
    """The signal's name."""

    checkout_id: Mapped[str] = mapped_column(String(MAX_ID))
    """The id of the checkout that the event is about."""

    order_id: Mapped[str] = mapped_column(String(MAX_ID), index=True)
    """The shop's own id."""

    reason: Mapped[str | None] = mapped_column(String(32))
    extra: Mapped[str | None] = mapped_column(Text)
    """A JSON object of further keywords for the receivers, such as a decision's name and reason; NULL without any."""

    occurred_at: Mapped[datetime] = mapped_column(_Moment)
    """The time of the change; an aware UTC datetime, like every other time here."""

    delivered_at: Mapped[datetime | None] = mapped_column(_Moment)
    """The time when the last receiver had run; None before."""

    attempts: Mapped[int] = mapped_column(Integer)
    """The number of deliveries begun."""

    superseded_at: Mapped[datetime | None] = mapped_column(_Moment)
    """The time when the event was found to be no longer true, so that no more receivers run; else None."""

    next_attempt_at: Mapped[datetime | None] = mapped_column(_Moment)
    """The time of the next attempt to deliver; NULL once delivered or superseded."""

    lease_token: Mapped[str | None] = mapped_column(String(36))
    """The token of the process that delivers now; a mark must name it."""

    lease_until: Mapped[datetime | None] = mapped_column(_Moment)
    receivers_done: Mapped[str] = mapped_column(Text)
    """A JSON list of the receivers that have run."""

    last_error: Mapped[str | None] = mapped_column(Text)

    @property
    def done(self) -> list[str]:
        """The names of the receivers that have run."""
        names: list[str] = json.loads(self.receivers_done)
        return names

    def __repr__(self) -> str:
        waiting = f"not delivered, tried {self.attempts} times"
        state = "delivered" if self.delivered_at else "superseded" if self.superseded_at else waiting
        return f"<{type(self).__name__} {self.name} {self.event_id} of order {self.order_id!r}: {state}>"


@dataclass(frozen=True)
class Models:
    """The mapped classes on one shop's database, with their tables for plain statements."""

    Checkout: type[CheckoutMixin]
    Event: type[EventMixin]

    @property
    def bind_key(self) -> str | None:
        """The bind that the tables belong to; None for the shop's default database."""
        key: str | None = getattr(self.Checkout, "__bind_key__", None)
        return key

    @property
    def checkouts(self) -> Table:
        return cast("Table", self.Checkout.__table__)

    def checkout_of_row(self, row: Mapping[Any, Any]) -> CheckoutMixin:
        """Make a detached checkout from a row, which is much cheaper than loading it through a session.

        :param row: every column of the table by its name.
        """
        loaded = {attribute: row[column] for column, attribute in self._attributes}
        manager = manager_of_class(self.Checkout)
        checkout: CheckoutMixin = manager.new_instance()
        vars(checkout).update(loaded)
        make_transient_to_detached(checkout)
        manager.dispatch.load(instance_state(checkout), None)
        return checkout

    def row_of_checkout(self, checkout: CheckoutMixin) -> dict[str, Any]:
        """The values of a checkout, by the names of the table's columns."""
        return {column: vars(checkout)[attribute] for column, attribute in self._attributes}

    @cached_property
    def _attributes(self) -> list[tuple[str, str]]:
        """The columns of the checkout table, each with the name of its attribute."""
        mapper = class_mapper(self.Checkout)
        return [(column.name, mapper.get_property_by_column(column).key) for column in self.checkouts.c]

    @property
    def services(self) -> Table:
        """The table of failing calls, to which no class is mapped."""
        return service_table(self.checkouts)

    @property
    def events(self) -> Table:
        return cast("Table", self.Event.__table__)


def make_models(db: SQLAlchemy) -> Models:
    """Make the mapped classes on this `db`, or take the shop's own subclasses of the mixins."""
    models = Models(
        _mapped(db, CheckoutMixin, "PayCheckoutCheckout"),
        _mapped(db, EventMixin, "PayCheckoutEvent"),
    )
    service_table(models.checkouts)
    return models


def require_one_database(models: Models, config: Mapping[str, Any], *, separate: bool) -> None:
    """Refuse payment tables in another database than the shop's, as no transaction can include both.

    :param config: the app's configuration.
    :param separate: whether the shop accepts that (PAYCHECKOUT_SEPARATE_DATABASE).
    :raises ConfigurationError: the tables are in another database than the shop's, or in two.
    """
    key, other = models.bind_key, getattr(models.Event, "__bind_key__", None)
    if key != other:
        raise ConfigurationError(
            f"{models.checkouts.name} has the __bind_key__ {key!r} and {models.events.name} {other!r}: no transaction"
            " could store a payment together with its event. Give both classes the same one."
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


def total_columns(total: Total) -> dict[str, str | None]:
    """The columns that hold this total exactly."""
    pays = isinstance(total, Pay)
    return {
        "total_kind": "pay" if pays else "receive",
        "total_amount": f"{total.amount:f}",
        "total_currency": total.currency,
        "total_other_currency": total.receive_in if isinstance(total, Pay) else total.pay_in,
    }


def _hold(model: Any) -> None:
    """Keep a mapped class as long as its `db`, since SQLAlchemy holds only weak references."""
    metadata = getattr(model, "metadata", None)
    if metadata is not None:
        metadata.info.setdefault(__name__, []).append(model)


def _mapped(db: SQLAlchemy, mixin: type[Any], name: str) -> type[Any]:
    held = [model for metadata in db.metadatas.values() for model in metadata.info.get(__name__, ())]
    found = next((model for model in held if issubclass(model, mixin) and "__mapper__" in vars(model)), None)
    model: type[Any] = found or type(name, (mixin, db.Model), {"__module__": __name__})
    event.listen(model, "load", _on_load)
    event.listen(model, "refresh", _on_refresh)
    return model


def _on_load(instance: object, context: object) -> None:
    _make_aware(instance)


def _on_refresh(instance: object, context: object, attributes: object) -> None:
    _make_aware(instance)


def _make_aware(instance: object) -> None:
    """Make loaded times aware UTC: SQLite returns them without a zone, PostgreSQL in the connection's zone.

    The instance is not marked as changed.
    """
    loaded = vars(instance)
    for name in _MOMENTS:
        value = loaded.get(name)
        if value is not None and value.tzinfo is not UTC:
            set_committed_value(instance, name, as_utc(value))
