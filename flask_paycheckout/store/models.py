"""The tables on the shop's database: attempts at paying, and the events that tell of them.

Money is exact text. Times are aware UTC. Columns whose names say so are kept NULL on purpose: a unique column that is
NULL for all but one attempt lets the database itself refuse a second current, or a second paid, attempt of an order.
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
"""The SQL condition of money that paid no order, a rejected payment or an accepted second one, of which nobody has said
yet whether it was paid back. Written out, because a database uses its partial index only for the same words."""

# SQLite numbers rows by itself only in a column that is exactly INTEGER.
_RowId = BigInteger().with_variant(Integer, "sqlite")
# A plain type of SQLAlchemy's, so that a migration written by Alembic needs no import of ours.
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
    """One attempt at paying an order. Subclass it together with `db.Model` to add columns of your own.

    :ivar checkout_id: from the service; equals the depositId and the webhook's orderId.
    :ivar order_id: the shop's own id.
    :ivar status: `created`, `pending`, `paid`, `held`, `rejected` or `abandoned`.
    :ivar reason: why it is held or abandoned; else None.
    :ivar url: where the customer pays, as the service returned it.
    :ivar created_at: an aware UTC datetime, like every other time here.
    :ivar deposit_status: as the service last said it; None while no deposit was ever seen.
    :ivar moved_at: when the state, or what the deposit says, last changed.
    :ivar next_read_at: when reconcile reads the deposit next; None when never again by itself.
    :ivar webhooks: how many webhooks told of it.
    :ivar problem: why the deposit could not be read, or what it says not be applied, the last time; None when it could.
    :ivar problem_since: since when that has been so.
    :ivar found_by: what caused the read that found the payment: webhook, status page, reconcile or settle.
    :ivar payback: what became of money that did not pay the order: `paid_back`, `kept`, or None while nobody said.
    """

    __tablename__ = "paycheckout_checkout"

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _hold(cls)

    @declared_attr.directive
    def __table_args__(cls) -> tuple[Any, ...]:  # noqa: N805 - it is a class
        # Counts by state, what is held, and the newest payments, without a look at every row.
        # The last one holds only the few payments of which somebody must say whether they are paid back or kept.
        waiting = text(MONEY_TO_PAY_BACK)
        problem = text("problem_since IS NOT NULL")
        return (
            Index("ix_paycheckout_checkout_state", "status", "moved_at"),
            # An order's newest attempts, however many it has.
            Index("ix_paycheckout_checkout_order", "order_id", "id"),
            Index("ix_paycheckout_checkout_problem", "problem_since", sqlite_where=problem, postgresql_where=problem),
            Index("ix_paycheckout_checkout_payback", "moved_at", sqlite_where=waiting, postgresql_where=waiting),
        )

    if TYPE_CHECKING:
        __table__: ClassVar[FromClause]

    id: Mapped[int] = mapped_column(_RowId, primary_key=True)
    checkout_id: Mapped[str] = mapped_column(String(MAX_ID), unique=True)
    order_id: Mapped[str] = mapped_column(String(MAX_ID))
    #: The order id while this is the order's newest attempt, else NULL.
    current_order_id: Mapped[str | None] = mapped_column(String(MAX_ID), unique=True)
    #: The order id when this attempt paid the order, else NULL.
    paid_order_id: Mapped[str | None] = mapped_column(String(MAX_ID), unique=True)
    status: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str | None] = mapped_column(String(32))
    url: Mapped[str] = mapped_column(Text)
    #: "pay" or "receive".
    total_kind: Mapped[str] = mapped_column(String(8))
    total_amount: Mapped[str] = mapped_column(String(64))
    total_currency: Mapped[str] = mapped_column(String(72))
    #: `receive_in` of a Pay, `pay_in` of a Receive.
    total_other_currency: Mapped[str | None] = mapped_column(String(72))
    created_at: Mapped[datetime] = mapped_column(_Moment)
    #: When the state, or what the deposit says, last changed.
    moved_at: Mapped[datetime] = mapped_column(_Moment)
    #: When reconcile reads the deposit next; NULL when never again by itself.
    next_read_at: Mapped[datetime | None] = mapped_column(_Moment, index=True)
    last_read_at: Mapped[datetime | None] = mapped_column(_Moment)
    #: When a webhook last caused a read.
    webhook_read_at: Mapped[datetime | None] = mapped_column(_Moment)
    #: When the read is due that a webhook within the cool-down asked for; NULL once somebody reads, whoever it is.
    webhook_due_at: Mapped[datetime | None] = mapped_column(_Moment)
    deposit_status: Mapped[str | None] = mapped_column(String(64))
    #: Counts the moves; a move names the revision it starts from.
    revision: Mapped[int] = mapped_column(Integer)
    #: Reads that the service answered, with a deposit or with "Deposit not found".
    reads: Mapped[int] = mapped_column(Integer)
    not_found_reads: Mapped[int] = mapped_column(Integer)
    #: Attempts in a row to read the deposit, or to apply what it says, that failed.
    failed_reads: Mapped[int] = mapped_column(Integer)
    #: Why the last of them failed, in words for people; NULL after one that succeeded.
    problem: Mapped[str | None] = mapped_column(Text)
    #: When the first of them failed.
    problem_since: Mapped[datetime | None] = mapped_column(_Moment)
    webhooks: Mapped[int] = mapped_column(Integer)
    #: What caused the read that found the payment: webhook, status page, reconcile or settle.
    found_by: Mapped[str | None] = mapped_column(String(16))
    #: What the completed deposit said of its money, numbers as exact text; NULL where it said nothing.
    payment_paid_amount: Mapped[str | None] = mapped_column(String(255))
    payment_paid_currency: Mapped[str | None] = mapped_column(String(255))
    payment_received_amount: Mapped[str | None] = mapped_column(String(255))
    payment_received_currency: Mapped[str | None] = mapped_column(String(255))
    payment_fee_amount: Mapped[str | None] = mapped_column(String(255))
    payment_fee_percentage: Mapped[str | None] = mapped_column(String(255))
    payment_fee_currency: Mapped[str | None] = mapped_column(String(255))
    #: The bank's code, else its name, else "crypto"; known as soon as the customer picked it.
    payment_method: Mapped[str | None] = mapped_column(String(255))
    payment_bank_name: Mapped[str | None] = mapped_column(String(255))
    payment_rate: Mapped[str | None] = mapped_column(String(255))
    #: When the deposit was first read as completed; NULL while no money arrived.
    payment_completed_at: Mapped[datetime | None] = mapped_column(_Moment)
    #: "paid_back" or "kept", of money that did not pay the order; NULL while nobody said which.
    payback: Mapped[str | None] = mapped_column(String(16))
    #: What happened, a JSON object a line; read by `explain`.
    history: Mapped[str] = mapped_column(Text)

    @property
    def total(self) -> Total:
        """What was asked for, as it was before the customer was sent to pay."""
        amount = Decimal(self.total_amount)
        if self.total_kind == "pay":
            return Pay(amount, self.total_currency, receive_in=self.total_other_currency)
        return Receive(amount, self.total_currency, pay_in=str(self.total_other_currency))

    @property
    def payment(self) -> Payment | None:
        """What the deposit said of the money that arrived; None before, and for rows that older versions wrote."""
        return payment_of({name: getattr(self, name) for name in PAYMENT_COLUMNS})

    def __repr__(self) -> str:
        # No URL here: whoever has it can pay, and reprs end in logs.
        return f"<{type(self).__name__} {self.checkout_id!r} of order {self.order_id!r}: {self.status}>"


class EventMixin:
    """One thing that happened, to be told to the receivers of its signal.

    :ivar event_id: the same each time that a receiver is told; the idempotency key of what receivers do elsewhere.
    :ivar name: the signal's.
    :ivar checkout_id: of the attempt that it happened to.
    :ivar order_id: the shop's own id.
    :ivar occurred_at: an aware UTC datetime, like every other time here.
    :ivar delivered_at: when the last receiver had been told; None before.
    :ivar superseded_at: when it was found to be no longer true, so that no receiver hears of it any more; else None.
    :ivar attempts: how often delivery was begun.
    """

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
    #: What can happen only once: "order_paid" of an order, or a move of a checkout.
    once: Mapped[str] = mapped_column(String(600), unique=True)
    name: Mapped[str] = mapped_column(String(32))
    checkout_id: Mapped[str] = mapped_column(String(MAX_ID))
    order_id: Mapped[str] = mapped_column(String(MAX_ID), index=True)
    reason: Mapped[str | None] = mapped_column(String(32))
    #: JSON object of further keywords for the receivers: who decided a held payment, and why; NULL without any.
    extra: Mapped[str | None] = mapped_column(Text)
    occurred_at: Mapped[datetime] = mapped_column(_Moment)
    delivered_at: Mapped[datetime | None] = mapped_column(_Moment)
    attempts: Mapped[int] = mapped_column(Integer)
    #: When the event was found to be no longer true; receivers that had not run by then never hear of it.
    superseded_at: Mapped[datetime | None] = mapped_column(_Moment)
    #: When delivery is tried next; NULL once delivered or superseded.
    next_attempt_at: Mapped[datetime | None] = mapped_column(_Moment)
    #: Who delivers now; a mark without this token is refused.
    lease_token: Mapped[str | None] = mapped_column(String(36))
    lease_until: Mapped[datetime | None] = mapped_column(_Moment)
    #: JSON list of the receivers that ran.
    receivers_done: Mapped[str] = mapped_column(Text)
    last_error: Mapped[str | None] = mapped_column(Text)

    @property
    def done(self) -> list[str]:
        """Names of the receivers that ran."""
        names: list[str] = json.loads(self.receivers_done)
        return names

    def __repr__(self) -> str:
        told = f"not delivered, tried {self.attempts} times"
        told = "delivered" if self.delivered_at else "superseded" if self.superseded_at else told
        return f"<{type(self).__name__} {self.name} {self.event_id} of order {self.order_id!r}: {told}>"


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
        """The checkout that a plain statement found; belongs to no session, as if loaded and let go.

        Much cheaper than loading it through a session.

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
        """Every column of the table by its name, as this checkout has it."""
        return {column: vars(checkout)[attribute] for column, attribute in self._attributes}

    @cached_property
    def _attributes(self) -> list[tuple[str, str]]:
        """Each column of the checkout table with its attribute's name."""
        mapper = class_mapper(self.Checkout)
        return [(column.name, mapper.get_property_by_column(column).key) for column in self.checkouts.c]

    @property
    def services(self) -> Table:
        """How the service answers the shop; no class is mapped to it."""
        return service_table(self.checkouts)

    @property
    def events(self) -> Table:
        return cast("Table", self.Event.__table__)


def make_models(db: SQLAlchemy) -> Models:
    """The mapped classes on this `db`: the shop's own subclasses of the mixins where it has them, else plain ones."""
    models = Models(
        _mapped(db, CheckoutMixin, "PayCheckoutCheckout"),
        _mapped(db, EventMixin, "PayCheckoutEvent"),
    )
    service_table(models.checkouts)
    return models


def require_one_database(models: Models, config: Mapping[str, Any], *, separate: bool) -> None:
    """Refuse tables in another database than the shop's, where no transaction would reach both.

    :param config: the app's configuration.
    :param separate: the shop knows what that means.
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
        " what a receiver writes and the mark that it ran would be two commits, and its effects could happen twice."
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
    """SQLAlchemy forgets classes that nobody else holds; these live as long as the `db` whose tables they are."""
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
    """SQLite forgets that a stored moment was UTC, PostgreSQL tells it in the connection's zone: say UTC again.

    The instance is not marked as changed.
    """
    loaded = vars(instance)
    for name in _MOMENTS:
        value = loaded.get(name)
        if value is not None and value.tzinfo is not UTC:
            set_committed_value(instance, name, as_utc(value))
