"""Payment requests: amounts to pay without an order of the shop, each with a title, a deadline, and a page of its own.

A request is paid like an order, under the order id `request:` and its reference. Its row has the total and the account,
so the shop's `order_total` and `account_of` are not called.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection, Index, String, Text, insert, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, declared_attr, mapped_column

from flask_paycheckout.checkouts.checkout_model import TotalMixin, total_columns
from flask_paycheckout.checkouts.states import UNREMINDED, Status
from flask_paycheckout.clock import moment_after
from flask_paycheckout.database.connections import begin_limited, read_rows
from flask_paycheckout.database.deeds import record_deed, stored_name, who_and_why
from flask_paycheckout.database.mapping import MOMENT, ROW_ID, PaymentTable, partial_index
from flask_paycheckout.database.state_table import StateTable
from flask_paycheckout.errors import UnknownRequest, WithdrawalRefused
from flask_paycheckout.shop_functions import personal
from flask_paycheckout.text import MAX_ID, one_line, order_of_request, request_of, require_order_id, trimmed
from flask_paycheckout.totals import Pay, Receive, Total
from flask_paycheckout.wiring import Wiring

MAX_TITLE = 255
MAX_NOTE = 1000
"""The maximum lengths of a request's title and note."""

# The states of an order that its request shows even if it is withdrawn or has expired.
_MONEY = UNREMINDED | {Status.PART}


class RequestMixin(TotalMixin, PaymentTable):
    """A payment request. Subclass it together with `db.Model` to add columns of your own."""

    __tablename__ = "paycheckout_request"

    @declared_attr.directive
    def __table_args__(cls) -> tuple[Any, ...]:  # noqa: N805 - it is a class
        return (
            Index("ix_paycheckout_request_account", "account", "id"),
            partial_index("ix_paycheckout_request_remind", "remind_at", "id", where="remind_at IS NOT NULL"),
        )

    id: Mapped[int] = mapped_column(ROW_ID, primary_key=True)
    reference: Mapped[str] = mapped_column(String(64), unique=True)
    """The name of the request, which cannot be guessed."""

    account: Mapped[str] = mapped_column(String(MAX_ID))
    """The name of the merchant account that is paid; empty for the account of the settings."""

    title: Mapped[str] = mapped_column(String(MAX_TITLE))
    """The title on its page; empty once it is erased."""

    note: Mapped[str | None] = mapped_column(Text)
    """A sentence below the title; None without one."""

    asked_by: Mapped[str | None] = mapped_column(String(MAX_ID))
    """The person who created it; None if nobody was named."""

    created_at: Mapped[datetime] = mapped_column(MOMENT)
    """The time of creation; an aware UTC datetime, like every other time here."""

    expires_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time after which it cannot be paid any more; None for no end."""

    withdrawn_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time when a person withdrew it; None if nobody did."""

    remind_at: Mapped[datetime | None] = mapped_column(MOMENT)
    """The time of its next reminder; NULL when there is none."""

    @property
    def order_id(self) -> str:
        """The id of its order: `request:` and the reference."""
        return order_of_request(self.reference)

    def status(self, of_order: str, now: datetime) -> str:
        """The state of the request: its order's state, or `withdrawn` or `expired` while no money is on its way.

        :param of_order: the status of its order.
        """
        if of_order in _MONEY:
            return of_order
        if self.withdrawn_at is not None:
            return "withdrawn"
        return "expired" if self.expires_at is not None and self.expires_at <= now else of_order

    def __repr__(self) -> str:
        # Without title and note, which may name persons: reprs end up in logs.
        return f"<{type(self).__name__} {self.reference!r}: {self.total}>"


class ShownRequest(NamedTuple):
    """A payment request with its state: its order's state, or `withdrawn` or `expired`."""

    request: RequestMixin
    status: str


def new_reference() -> str:
    """A reference for a new request."""
    return secrets.token_hex(8)


@dataclass(frozen=True, eq=False)
class PaymentRequests(StateTable[RequestMixin]):
    """The payment requests of one app."""

    wiring: Wiring

    mapped = "Request"
    key = "reference"
    unknown = UnknownRequest

    # Making and withdrawing

    def add(
        self,
        total: Total,
        title: str,
        note: str | None,
        expires: datetime | timedelta | None,
        account: str,
        by: str | None,
        reference: str | None = None,
    ) -> RequestMixin:
        """Add a request to the shop's session; arguments and errors as for `PayCheckout.request`.

        :param reference: the reference of a form, which creates one request only; by default a new one.
        """
        now = self.wiring.clock()
        if not isinstance(total, (Pay, Receive)):
            raise TypeError(f"total must be Pay or Receive, not {type(total).__name__}; write Pay('12.50', 'USD')")
        headline = one_line("title", title, MAX_TITLE)
        if headline is None:
            raise ValueError("title must not be empty: it says what is paid for")
        end = None if expires is None else moment_after(now, expires)
        if end is not None and end <= now:
            raise ValueError("expires must be later than now, or nobody could ever pay")
        first = next(iter(self.wiring.settings.remind_after), None)
        values = {
            "reference": reference or new_reference(),
            "account": self.wiring.require_account(account),
            "title": headline,
            "note": None if note is None else one_line("note", note, MAX_NOTE),
            "asked_by": None if by is None else stored_name(who_and_why(by, "-")[0]),
            "created_at": now,
            "expires_at": end,
            "remind_at": None if first is None else now + first,
            **total_columns(total),
        }
        session = self.wiring.sessions.of_context()
        # Watch the engine before the session creates a savepoint that the shop may have begun.
        self.engine()
        model: Any = self.model
        request = cast("RequestMixin", session.scalars(insert(model).values(values).returning(model)).one())
        if request.asked_by is not None:
            connection = self.wiring.sessions.connection_of(session)
            deeds = self.models.deeds
            record_deed(
                connection, deeds, now, request.asked_by, "requested", request.reference, order_id=request.order_id
            )
        return request

    def make(
        self,
        total: Total,
        title: str,
        note: str | None,
        expires: datetime | None,
        account: str,
        by: str,
        reference: str | None = None,
    ) -> RequestMixin:
        """Make a request and commit it, for a form or a command; arguments and errors as for `add`.

        :returns: the stored request if this form was sent before with the same content.
        :raises ValueError: also for a form that was sent before with other content.
        """
        reference = reference or new_reference()
        with self.wiring.sessions.own() as session:
            try:
                self.add(total, title, note, expires, account, by, reference)
                session.commit()
            except IntegrityError:
                # The form was sent twice.
                session.rollback()
                stored = self.find(reference)
                if stored is None:
                    raise
                content = total, trimmed(title), trimmed(note or "") or None, expires, account
                if (stored.total, stored.title, stored.note, stored.expires_at, stored.account) != content:
                    raise ValueError(
                        "the request of this form is made already, with what stood in it then. Look at it below; send"
                        " the form again if you want another one"
                    ) from None
        return self.require(reference)

    def withdraw(self, reference: str, by: str, why: str) -> RequestMixin:
        """Withdraw a request; arguments and errors as for `PayCheckout.withdraw_request`."""
        by, why = who_and_why(by, why)
        now, table = self.wiring.clock(), self.table
        checkouts = self.models.checkouts.c
        this = table.c.reference == require_order_id(reference, "reference")
        with begin_limited(self.wiring.engine()) as connection:
            # Take SQLite's write lock, or a server's row lock, before the order is read.
            statement = update(table).where(this, table.c.withdrawn_at.is_(None)).values(withdrawn_at=now)
            changed = connection.execute(statement).rowcount == 1
            request = self.require(reference, connection)
            paid = select(checkouts.id).where(checkouts.paid_order_id == order_of_request(reference))
            if connection.execute(paid).first() is not None:
                raise WithdrawalRefused(reference, Status.PAID)
            if not changed:
                raise WithdrawalRefused(reference, "withdrawn")
            record_deed(connection, self.models.deeds, now, by, "withdrawn", reference, why, request.order_id)
            return request

    # Questions

    def titles(self, order_ids: Iterable[str]) -> dict[str, str]:
        """The titles of requests by their order's id, without orders of the shop and erased titles."""
        references = {reference: order_id for order_id in order_ids if (reference := request_of(order_id))}
        if not references:
            return {}
        c = self.table.c
        rows = select(c.reference, c.title).where(c.reference.in_([*references]), c.title != "")
        titles = {references[row.reference]: row.title for row in read_rows(self.single, rows)}
        return personal(titles) if titles else titles

    def of_an_order(self, order_id: str, connection: Connection | None = None) -> RequestMixin | None:
        """The request whose order id this is; None for an order of the shop, or if there is no such request.

        :param connection: the connection of the caller's transaction; None for one of its own.
        """
        reference = request_of(order_id)
        return None if reference is None else self.find(reference, connection)

    def has_ended(self, order_id: str, connection: Connection | None) -> bool:
        """Whether the request whose order id this is has expired or was withdrawn; False for an order of the shop."""
        request = self.of_an_order(order_id, connection)
        return request is not None and request.status("unpaid", self.wiring.clock()) != "unpaid"

    def payable_in(self, connection: Connection, order_id: str) -> Total | None:
        """The total that a request asks for now; None if it cannot be paid.

        The row is locked until the transaction ends, so that nobody withdraws a request that is being paid.
        """
        locked = select(self.table).where(self.table.c.reference == request_of(order_id)).with_for_update()
        request = next(iter(self.loaded(locked, connection)), None)
        if request is None or request.status("unpaid", self.wiring.clock()) != "unpaid":
            return None
        return request.total

    def require_order(self, order_id: object) -> str:
        """Return a valid order id unchanged: an order id of the shop, or of a request.

        :raises TypeError: it is not a string.
        :raises ValueError: it is no order id, or begins with `request:` although there is no such request. A request
            that the shop's open transaction has just added counts.
        """
        checked = require_order_id(order_id)
        reference = request_of(checked)
        if reference is None or self.find(reference, self.wiring.sessions.open_connection()) is not None:
            return checked
        raise ValueError(
            "order_id must not begin with 'request:', as the ids of payment requests do, and there is no such request."
            " Give the shop's orders other ids."
        )
