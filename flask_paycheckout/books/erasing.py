"""Erasure of what is stored about the persons of an order; the money and its proof stay.

Recipients are deleted at the service first, outside of any transaction; then one transaction empties the rows. A call
that ended between the two is repeated safely.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Table, or_, select, update

from flask_paycheckout.checkouts.requests import PaymentRequests
from flask_paycheckout.checkouts.stored import Checkouts
from flask_paycheckout.client import PaymentsError, RequestRefused
from flask_paycheckout.database.connections import begin_limited, read_rows
from flask_paycheckout.database.deeds import record_deed, who_and_why
from flask_paycheckout.database.history import lines, reduced
from flask_paycheckout.database.order_ids import request_of
from flask_paycheckout.database.state_table import Row
from flask_paycheckout.errors import payout_status_text
from flask_paycheckout.parts import Parts
from flask_paycheckout.payouts.calls import PayoutCalls
from flask_paycheckout.payouts.destinations import ToRecipient
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import ENDED, PayoutStatus
from flask_paycheckout.payouts.stored import Payouts
from flask_paycheckout.service.calls import RECIPIENT, Service
from flask_paycheckout.service.record import CLAIM, PAYOUT
from flask_paycheckout.text import plain, visible

# The facts in a history that nobody typed: times, states, amounts, ids, and the names of staff.
_FACTS = frozenset(
    {"at", "what", "to", "rule", "by", "total", "counts", "replaces", "via", "deposit", "reason"}
    | {"compared", "revision", "result", "missed", "received", "fee", "disbursement_id"}
)
_CHANGED = "it changed at the same moment; erase again"
_ERASED = "erased"
# Calls that name persons.
_OF_PERSONS = CLAIM, PAYOUT


@dataclass(frozen=True)
class Erased:
    """The result of an erasure; for a dry run, the result that it would have had."""

    order_id: str
    checkouts: int
    """The number of checkouts of which nothing about persons is left."""

    payouts: int
    """The number of payouts and refunds of which nothing about persons is left."""

    recipients: int
    """The number of recipients that were deleted at the service."""

    kept: Mapping[str, str] = field(default_factory=dict)
    """The records that could not be erased yet, with the reasons; a later call erases them."""

    dry_run: bool = False


@dataclass(frozen=True)
class Erasing:
    """Erases, and lists, what is stored about the orders of one app."""

    parts: Parts
    checkouts: Checkouts
    requests: PaymentRequests
    payouts: Payouts
    calls: PayoutCalls
    service: Service

    def erase(self, order_id: str, by: str, why: str, *, dry_run: bool = False) -> Erased:
        """Erase the persons of an order; arguments and result as for `PayCheckout.erase`."""
        by, why = who_and_why(by, why)
        self.requests.require_order(order_id)
        payouts = self.payouts.of_order(order_id)
        kept = {one.reference: f"the {one.kind} {payout_status_text(one.status)}" for one in payouts if not _ended(one)}
        ended, checkouts = [one for one in payouts if _ended(one)], self.checkouts.of_order(order_id)
        deleted, holding = 0, set[int]()
        for payout in ended:
            gone, refused = self._delete_recipients(payout, dry_run)
            deleted += gone
            kept |= refused
            if refused:
                holding.add(payout.id)
        if dry_run:
            return Erased(order_id, len(checkouts), len(ended), deleted, kept, dry_run)
        with begin_limited(self.parts.engine()) as connection:
            emptied = {one.checkout_id: self._empty(connection, self.checkouts.table, one) for one in checkouts}
            wiped = {
                one.reference: self._empty(connection, self.payouts.table, one, **_columns(one, one.id in holding))
                for one in ended
            }
            self._empty_events(connection, order_id)
            request = update(self.requests.table).filter_by(reference=request_of(order_id))
            connection.execute(request.values(title="", note=None))
            deeds = self.parts.models.deeds
            connection.execute(update(deeds).filter_by(order_id=order_id).values(why=""))
            # The service may have repeated what a customer typed, and no row there tells of whose order.
            services = self.parts.models.services
            told = map(services.c.operation.startswith, _OF_PERSONS)
            connection.execute(update(services).where(or_(*told)).values(words=""))
            record_deed(connection, deeds, self.parts.clock(), by, "erased", order_id, why, order_id)
        kept |= {name: _CHANGED for name, is_empty in (emptied | wiped).items() if not is_empty}
        return Erased(order_id, sum(emptied.values()), sum(wiped.values()), deleted, kept)

    def stored_about(self, order_id: str) -> dict[str, Any]:
        """Everything that is stored about an order, as plain data, by table."""
        self.requests.require_order(order_id)
        stored: dict[str, Any] = {"order_id": order_id}
        of_request = {"reference": request_of(order_id)}
        for name in ("checkouts", "payouts", "bookings", "events", "deeds", "requests"):
            key = of_request if name == "requests" else {"order_id": order_id}
            rows = select(getattr(self.parts.models, name)).filter_by(**key).order_by("id")
            stored[name] = [_plain(row._mapping) for row in read_rows(self.parts.engine(), rows)]
        return stored

    # Recipients

    def _delete_recipients(self, payout: PayoutMixin, dry_run: bool) -> tuple[int, dict[str, str]]:
        """Delete the recipients that the service keeps of a customer's bank account.

        :returns: how many were deleted, and those that the service keeps with the reason.
        """
        if not payout.claims or payout.is_token:
            return 0, {}
        refused: dict[str, str] = {}
        try:
            payer = self.calls.payer_of(payout)
            made = self._recipients_of(payout, payer)
            for recipient_id in () if dry_run else made:
                try:
                    self._delete(payer, recipient_id)
                except PaymentsError as error:
                    refused[recipient_id] = visible(str(error))
            # One whose deletion was refused may be gone all the same; a list may be late, and an answer is not.
            listed = self._recipients_of(payout, payer) if refused else ()
        except PaymentsError as error:
            return 0, {f"recipients of {payout.reference}": visible(str(error))}
        kept = {one: error for one, error in refused.items() if one in listed}
        return len(made) - len(kept), kept

    def _delete(self, account: str, recipient_id: str) -> None:
        try:
            with self.service.permit(RECIPIENT, account) as permit:
                permit.ask(lambda client: client.recipients.delete(recipient_id))
        except RequestRefused as refused:
            # The interface writes this call in two forms.
            if refused.status_code not in (404, 405):
                raise
            with self.service.permit(RECIPIENT, account) as permit:
                permit.ask(lambda client: client.call("DELETE", "/v1/recipient", query={"id": recipient_id}))

    def _recipients_of(self, payout: PayoutMixin, payer: str) -> Sequence[str]:
        """The ids of the recipients that were made through the payout's link, even if the service's answer was lost."""
        last = self.calls.known_destination(payout) if payout.is_claimed else None
        named = last.recipient_id if isinstance(last, ToRecipient) else None
        with self.service.permit(RECIPIENT, payer) as permit:
            listed = permit.ask(lambda client: list(client.recipients.iterate()))
        return [one.id for one in listed if one.reference == payout.reference or one.id == named]

    # Rows

    @staticmethod
    def _empty(connection: Connection, table: Table, subject: Any, **columns: Any) -> bool:
        """Take out of a row what people typed; False when the row has changed since it was loaded."""
        # That there is a problem stays, since an alarm may tell of it.
        told = None if subject.problem is None else _ERASED
        values = {"history": reduced(subject.history, _FACTS), "problem": told} | columns
        same = update(table).filter_by(id=subject.id, status=subject.status, history=subject.history)
        return connection.execute(same.values(values)).rowcount == 1

    def _empty_events(self, connection: Connection, order_id: str) -> None:
        events = self.parts.models.events
        found = select(events.c.id, events.c.extra).where(events.c.order_id == order_id)
        for number, extra in connection.execute(found).all():
            facts = json.loads(extra or "{}")
            told = json.dumps(facts | {"why": ""}) if "why" in facts else extra
            connection.execute(update(events).filter_by(id=number).values(last_error=None, extra=told))


def _ended(payout: PayoutMixin) -> bool:
    """Whether a payout is at its end; one in tokens that was sent is, since the service does not show it again."""
    return payout.status in ENDED or (payout.status == PayoutStatus.SENT and payout.is_token)


def _columns(payout: PayoutMixin, holding: bool) -> dict[str, Any]:
    """The columns of a payout without what they tell of persons.

    :param holding: whether the service still keeps a recipient, whose id a later call needs.
    """
    values: dict[str, Any] = {"note": None, "changes": payout.changes + 1}
    if payout.destination is not None:
        values["destination"] = _ERASED
    # A recipient whom the shop has named is stored as an id only.
    is_shops = payout.to_kind == "recipient" and not payout.is_claimed
    return values if holding or is_shops else values | {"to_details": None}


def _plain(row: Row) -> dict[str, Any]:
    """A row as plain data, its history as a list."""
    told = {"history": lines(row["history"])} if "history" in row else {}
    return dict(plain({**row, **told}))
