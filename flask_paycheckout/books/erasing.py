"""Erasure of stored personal data about an order or a payout; the money and its proof stay.

Recipients are deleted at the service first, outside of any transaction; then one transaction empties the rows. A call
that ended between the two is repeated safely.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Connection, Engine, Table, delete, exists, or_, select, update
from sqlalchemy.exc import OperationalError

from flask_paycheckout.checkouts.requests import PaymentRequests
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.client import PaymentsClient, PaymentsError, RequestRefused
from flask_paycheckout.database.connections import begin_limited, read_rows
from flask_paycheckout.database.deeds import record_deed, who_and_why
from flask_paycheckout.database.state_table import Row, lines, reduced
from flask_paycheckout.errors import payout_status_text
from flask_paycheckout.payouts.claims import id_in, name_in
from flask_paycheckout.payouts.destinations import ERASED
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import ENDED, PayoutStatus
from flask_paycheckout.payouts.payout_table import Payouts
from flask_paycheckout.service.calls import RECIPIENT, Service
from flask_paycheckout.service.record import CLAIM, PAYOUT
from flask_paycheckout.text import plain, request_of, require_order_id, visible
from flask_paycheckout.wiring import Wiring

T = TypeVar("T")

# The facts of a history that are kept, because no customer typed them: times, states, amounts, ids, and staff names.
_FACTS = frozenset(
    {"at", "what", "to", "rule", "by", "total", "counts", "replaces", "via", "deposit", "reason", "gone"}
    | {"compared", "revision", "result", "missed", "received", "fee", "disbursement_id"}
)
_CHANGED = "it changed at the same moment; erase again"
_ERASED = "erased"
# The maximum number of recipients of one name; the service's pages may have this size.
_MOST_SEARCHED = 100
# The status codes for a recipient that is gone.
_NOT_THERE = (400, 404)
# The operations whose stored errors may name persons.
_OF_PERSONS = CLAIM, PAYOUT


@dataclass(frozen=True)
class Erased:
    """The result of an erasure; for a dry run, the result that it would have had."""

    order_id: str | None
    """The order whose persons were erased; None for a single payout."""

    reference: str | None
    """The reference of the payout whose person was erased; None for an order."""

    checkouts: int
    """The number of checkouts without personal data now."""

    payouts: int
    """The number of payouts and refunds without personal data now."""

    recipients: int
    """The number of recipients that were deleted at the service."""

    kept: Mapping[str, str] = field(default_factory=dict)
    """The records that could not be erased yet, with the reasons; a later call erases them."""

    found: bool = True
    """Whether anything is stored about the order or payout. If not, nothing was done, and no deed recorded."""

    dry_run: bool = False


@dataclass(frozen=True)
class Erasing:
    """Erases, and lists, what is stored about the orders of one app."""

    wiring: Wiring
    checkouts: Checkouts
    requests: PaymentRequests
    payouts: Payouts
    service: Service

    def erase(self, order_id: str | None, reference: str | None, by: str, why: str, *, dry_run: bool = False) -> Erased:
        """Erase the persons of an order, or of a payout; arguments and result as for `PayCheckout.erase`."""
        by, why = who_and_why(by, why)
        conditions = self._conditions(order_id, reference)
        if not any(self._rows(name, condition) for name, condition in conditions.items()):
            return Erased(order_id, reference, 0, 0, 0, found=False, dry_run=dry_run)
        checkouts = self.checkouts.of_order(order_id) if order_id is not None else ()
        table = self.payouts.table
        payouts = self.payouts.loaded(select(table).where(conditions["payouts"]).order_by(table.c.id))
        ended = [payout for payout in payouts if _ended(payout)]
        kept = {
            payout.reference: f"the {payout.kind} {payout_status_text(payout.status)}"
            for payout in payouts
            if payout not in ended
        }
        if dry_run:
            recipients = sum(id_in(line) is not None for payout in ended for line in _lines(payout))
            return Erased(order_id, reference, len(checkouts), len(ended), recipients, kept, dry_run=True)
        deleted: list[str] = []
        left = {payout.id: self._delete_recipients(payout, deleted, kept) for payout in ended}
        with _begin_erasing(self.wiring.engine()) as connection:
            emptied = {each.checkout_id: self._empty(connection, self.checkouts.table, each) for each in checkouts}
            wiped = {
                each.reference: self._empty(connection, table, each, **_columns(each, left[each.id])) for each in ended
            }
            self._empty_others(connection, conditions, payouts)
            now, deeds, subject = self.wiring.clock(), self.wiring.models.deeds, order_id or reference or ""
            record_deed(connection, deeds, now, by, "erased", subject, why, order_id)
        kept |= {name: _CHANGED for name, is_empty in (emptied | wiped).items() if not is_empty}
        return Erased(order_id, reference, sum(emptied.values()), sum(wiped.values()), len(deleted), kept)

    def _conditions(self, order_id: str | None, reference: str | None) -> dict[str, ColumnElement[bool]]:
        """The condition of the rows about an order, or about a payout, by table; exactly one of the two is given.

        :raises TypeError: both are given, or none.
        """
        models = self.wiring.models
        deeds, events, payouts = models.deeds.c, models.events.c, models.payouts.c
        if order_id is not None and reference is None:
            self.requests.require_order(order_id)
            names = ("checkouts", "payouts", "bookings", "events", "order_problems")
            of_order = {name: getattr(models, name).c.order_id == order_id for name in names}
            references = select(payouts.reference).where(of_order["payouts"])
            return of_order | {
                "deeds": or_(deeds.order_id == order_id, deeds.subject.in_(references)),
                "requests": models.requests.c.reference == request_of(order_id),
            }
        if order_id is not None or reference is None:
            raise TypeError("give the order_id of an order, or the reference of a payout, and not both")
        require_order_id(reference, "reference")
        mine = payouts.reference == reference
        # The deeds of requesting a refund, and of rejecting a held payment by it, name the payment. The refund, its
        # deeds and its event are stored with the same time.
        requested = exists().where(mine, payouts.refund_of == deeds.subject, payouts.created_at == deeds.at)
        moved = exists().where(mine, payouts.refund_of == events.checkout_id, payouts.created_at == events.occurred_at)
        return {
            "payouts": mine,
            "events": (events.payout_reference == reference) | moved,
            "deeds": (deeds.subject == reference) | requested,
        }

    def _rows(self, name: str, condition: ColumnElement[bool]) -> list[dict[str, Any]]:
        table: Table = getattr(self.wiring.models, name)
        rows = select(table).where(condition).order_by(*table.primary_key)
        return [_plain(row._mapping) for row in read_rows(self.wiring.engine(), rows)]

    def stored_about(self, order_id: str) -> dict[str, Any]:
        """Everything that is stored about an order, as plain data, by table."""
        rows = {name: self._rows(name, condition) for name, condition in self._conditions(order_id, None).items()}
        return {"order_id": order_id} | rows

    def _empty_others(
        self, connection: Connection, conditions: Mapping[str, ColumnElement[bool]], payouts: Sequence[PayoutMixin]
    ) -> None:
        """Remove typed text from events, requests, deeds and failing calls."""
        models = self.wiring.models
        events, services = models.events, models.services
        for number, extra in connection.execute(select(events.c.id, events.c.extra).where(conditions["events"])).all():
            facts = json.loads(extra or "{}")
            emptied = json.dumps(facts | {"why": ""}) if "why" in facts else extra
            connection.execute(update(events).filter_by(id=number).values(last_error=None, extra=emptied))
        for refund in (payout for payout in payouts if payout.refund_of is not None):
            # If the refund rejected its payment, the payment's history contains the reason.
            of_payment, c = self.checkouts.table.c.checkout_id == refund.refund_of, self.checkouts.table.c
            history = connection.execute(select(c.history).where(of_payment).with_for_update()).scalar_one()
            emptied = reduced(history, _FACTS, refund.created_at)
            connection.execute(update(self.checkouts.table).where(of_payment).values(history=emptied))
        if "requests" in conditions:
            connection.execute(update(models.requests).where(conditions["requests"]).values(title="", note=None))
            # An error of the shop may name a person; if it lasts, it is stored again.
            connection.execute(delete(models.order_problems).where(conditions["order_problems"]))
        connection.execute(update(models.deeds).where(conditions["deeds"]).values(why=""))
        # The service's errors may repeat a customer's input, and these rows do not name the order.
        connection.execute(update(services).where(services.c.operation.in_(_OF_PERSONS)).values(error=""))

    # Recipients

    def _delete_recipients(self, payout: PayoutMixin, deleted: list[str], kept: dict[str, str]) -> str:
        """Delete the recipients that the service stores for a customer's bank account.

        :param deleted: receives the ids of deleted recipients.
        :param kept: receives the recipients that the service keeps, with the reasons.
        :returns: the lines of the recipients that the service keeps.
        """
        # The recipients belong to the account that pays.
        payer, left = self.service.accounts.payer_of(payout.account), ""
        for line in _lines(payout):
            stored_id = id_in(line)
            try:
                for recipient_id in (
                    self._search(payer, payout.reference, name_in(line)) if stored_id is None else [stored_id]
                ):
                    self._delete(payer, recipient_id)
                    deleted.append(recipient_id)
            except PaymentsError as error:
                left += line
                kept[stored_id or f"recipients of {payout.reference}"] = visible(str(error))
        return left

    def _search(self, account: str, reference: str, name: str) -> Sequence[str]:
        """The ids of a payout's recipients with this name; for recipients whose creation the service did not answer."""
        page = self._ask(account, lambda client: client.recipients.list(search=name, limit=_MOST_SEARCHED))
        return [recipient.id for recipient in page if recipient.reference == reference]

    def _delete(self, account: str, recipient_id: str) -> None:
        """Delete a recipient; one that is gone already causes no error.

        :raises flask_paycheckout.client.PaymentsError: the service keeps it, or did not answer.
        """
        try:
            self._ask(account, lambda client: client.recipients.delete(recipient_id))
        except PaymentsError:
            if self._exists(account, recipient_id):
                raise

    def _exists(self, account: str, recipient_id: str) -> bool:
        """Whether the service still keeps a recipient: the answer to an earlier deletion may have been lost."""
        try:
            self._ask(account, lambda client: client.recipients.get(recipient_id))
        except RequestRefused as refused:
            return refused.status_code not in _NOT_THERE
        return True

    def _ask(self, account: str, call: Callable[[PaymentsClient], T]) -> T:
        with self.service.permit(RECIPIENT, account) as permit:
            return permit.ask(call)

    # Rows

    @staticmethod
    def _empty(connection: Connection, table: Table, subject: Any, **columns: Any) -> bool:
        """Remove typed text from a row; False if the row has changed since it was loaded."""
        # Keep the fact that there is a problem, because an alarm may show it.
        problem = None if subject.problem is None else _ERASED
        values = {"history": reduced(subject.history, _FACTS), "problem": problem} | columns
        same = update(table).filter_by(id=subject.id, status=subject.status, history=subject.history)
        return connection.execute(same.values(values)).rowcount == 1


@contextmanager
def _begin_erasing(engine: Engine) -> Iterator[Connection]:
    """A transaction of our own; SQLite keeps none of the old values in its file."""
    sqlite = engine.dialect.name == "sqlite"
    with begin_limited(engine) as connection:
        if sqlite:
            connection.exec_driver_sql("PRAGMA secure_delete = ON").close()
        yield connection
    if sqlite:
        # Old pages stay in a write-ahead log until it is emptied, which a concurrent reader prevents.
        with suppress(OperationalError), engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").close()


def _ended(payout: PayoutMixin) -> bool:
    """Whether a payout has ended; a token payout has once it is sent, because the service does not show it again."""
    return payout.status in ENDED or (payout.status == PayoutStatus.SENT and payout.is_token)


def _lines(payout: PayoutMixin) -> list[str]:
    return payout.recipients.splitlines(keepends=True)


def _columns(payout: PayoutMixin, recipients: str) -> dict[str, Any]:
    """The columns of a payout without personal data.

    :param recipients: the lines of the recipients that the service keeps, which a later call deletes.
    """
    values: dict[str, Any] = {
        "note": None,
        "fingerprint": None,
        "recipients": recipients,
        "changes": payout.changes + 1,
    }
    if payout.destination is not None:
        values["destination"] = ERASED
    # A recipient that the shop has named is stored as an id only, which stays.
    is_shops = payout.to_kind == "recipient" and not payout.is_claimed
    return values if is_shops else values | {"to_details": None}


def _plain(row: Row) -> dict[str, Any]:
    """A row as plain data, its history as a list."""
    history = {"history": lines(row["history"])} if "history" in row else {}
    return dict(plain({**row, **history}))
