"""The table of payouts: its queries, and the tries of a payout, each with a service reference of its own.

`payouts.due_payouts` claims due payouts, and `payouts.payout_moves` moves payouts.

Service references are derived from a key of the installation, which is in the database, and so in each backup. After a
backup is restored, the shop may request payouts again that the backup lacks. They get the same references, and the
service accepts a reference only once, so it refuses the second payment itself.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from itertools import chain, count
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Connection, exists, func, select, update

from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.database.models import Models
from flask_paycheckout.database.state_table import StateTable
from flask_paycheckout.errors import UnknownPayout
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PASSED_ON, Doubt, PayoutKind, PayoutState, PayoutStatus
from flask_paycheckout.wiring.installation import installation_key

# The number of a payment's next transfers that are looked up before a refund is sent.
_NEXT = 5
# The number of characters of the shop's reference in a service reference, by which people recognise it.
_SHOWN = 16
# The earlier tries of a payout that are watched: more are not made, and each is a call.
_WATCHED = 3
_TRANSFER = re.compile("[A-Za-z0-9-]+-([0-9]{1,6})-[0-9a-f]{16}")


class RefundState(NamedTuple):
    """A group of a payment's refunds that have the same status and amount."""

    checkout_id: str
    status: str
    currency: str
    amount: str
    times: int


@dataclass(frozen=True, eq=False)
class Payouts(StateTable[PayoutMixin]):
    """The stored payouts of one app."""

    mapped = "Payout"
    key = "reference"
    unknown = UnknownPayout
    # Each claim counts as a change, so that a process which lost its claim changes nothing.
    unmoved = ("id", "status", "changes")

    _key: list[bytes] = field(default_factory=list, init=False, repr=False)
    """The key of this installation, once it has been read."""

    def planned(self, columns: frozenset[str]) -> dict[str, Any]:
        return super().planned(columns) | {"changes": self.table.c.changes + 1}

    def installation_key(self, connection: Connection | None = None) -> bytes:
        """The key of this installation, from which service references are derived; `connection` as for `find`.

        The key never changes, so it is cached; but not if the caller's transaction created it, because that may be
        rolled back.
        """
        if not self._key:
            if connection is not None:
                return installation_key(connection, self.models.installation)
            with begin_limited(self.engine()) as own:
                key = installation_key(own, self.models.installation)
            self._key.append(key)
        return self._key[0]

    def of_checkout(self, checkout_id: str, connection: Connection | None = None) -> Sequence[PayoutMixin]:
        """The refunds of a checkout, oldest first; `connection` as for `find`."""
        return self.of("refund_of", checkout_id, connection)

    def refund_states(self, order_id: str) -> Sequence[RefundState]:
        """The refunds of an order, grouped by payment, status and amount.

        Cancelled and replaced refunds are left out, and unsent refunds of a payment that was taken back. The number of
        groups does not grow with the number of refunds of one amount.
        """
        c, payments = self.table.c, self.models.checkouts.c
        columns = payments.checkout_id, c.status, c.currency, c.amount
        live = (
            c.kind == PayoutKind.REFUND,
            c.status != PayoutStatus.CANCELLED,
            c.state != PayoutState.REPLACED,
            payments.payment_completed_at.is_not(None) | c.state.not_in(NOT_SENT),
        )
        joined = self.table.join(self.models.checkouts, payments.checkout_id == c.refund_of)
        counted = select(*columns, func.count()).select_from(joined).where(c.order_id == order_id, *live)
        return [RefundState(*row) for row in self.rows(counted.group_by(*columns))]

    def _used_references(self, refunds: Sequence[Any], connection: Connection | None = None) -> set[str]:
        """The service references under which transfers of these refunds' payments were sent, or may have been."""
        c = self.table.c
        of_payments = c.refund_of.in_([*map(attrgetter("refund_of"), refunds)])
        rows = self.rows(select(c.service_reference, c.taken_at, c.earlier).where(of_payments), connection)
        used = set[str]()
        for row in rows:
            if row.taken_at is not None:
                used.add(row.service_reference)
            used |= {each.service_reference for each in tries_of(row.earlier)} if row.earlier else set()
        return used

    def had_come_back(self, payout: PayoutMixin, connection: Connection | None = None) -> bool:
        """Whether a person said that an earlier try, or an earlier refund of the payment that has ended, came back.

        :param connection: as for `find`.
        """
        tries = [*tries_of(payout.earlier), *chain.from_iterable(map(all_tries, self.passed_on(payout, connection)))]
        return any(each.doubt == Doubt.DENIED for each in tries)

    def passed_on(self, payout: PayoutMixin, connection: Connection | None = None) -> Sequence[PayoutMixin]:
        """The other refunds of its payment that it may count the money of; `connection` as for `find`."""
        c = self.table.c
        ended = c.refund_of == payout.refund_of, c.state.in_(PASSED_ON), c.id != payout.id
        return self.loaded(select(self.table).where(*ended), connection) if payout.refund_of else ()

    def number(self, connection: Connection, refunds: Sequence[Any]) -> None:
        """Number unsent refunds as the next transfers of their payments.

        :param refunds: their rows.
        :raises IntegrityError: another process gave the same number to another refund of a payment.
        """
        key = self.installation_key(connection)
        used = self._used_references(refunds, connection)
        for refund in refunds:
            (reference,) = next_transfers(key, refund.account, refund.refund_of, used)
            used.add(reference)
            self.renumber(connection, refund.id, reference)

    def next_references(self, refunds: Sequence[PayoutMixin]) -> dict[str, str]:
        """The service references of numbered refunds and of the next transfers of their payments.

        :returns: the checkout ids of the payments by service reference.
        """
        checkout_ids, used = dict[str, str](), self._used_references(refunds)
        for refund in refunds:
            checkout_id = str(refund.refund_of)
            following = next_transfers(self.installation_key(), refund.account, checkout_id, used, _NEXT)
            checkout_ids |= dict.fromkeys([refund.service_reference, *following], checkout_id)
        return checkout_ids

    def renumber(self, connection: Connection, payout_id: int, reference: str) -> None:
        """Give a refund a service reference of its payment; the unsent refund that had it gets the refund's own one."""
        table = self.table
        own, other = select(table.c.service_reference).where(table.c.id == payout_id), table.c.service_reference
        current = connection.execute(own).scalar_one()
        if current == reference:
            return
        # The references must be unique after each statement.
        for condition, value in (
            (table.c.id == payout_id, f"~{current}"),
            (other == reference, current),
            (table.c.id == payout_id, reference),
        ):
            connection.execute(update(table).where(condition).values(service_reference=value))

    def is_stopped(self, payout: PayoutMixin) -> bool:
        """Whether it is a refund of a payment that was taken back."""
        return bool(self.rows(select(self.table.c.id).where(self.table.c.id == payout.id, is_stopped(self.models))))

    def arrived(self, checkout_ids: Collection[str]) -> datetime:
        """The time when the first of these payments arrived, with the zone that the database gives it, if any."""
        c = self.models.checkouts.c
        first = select(func.min(c.payment_completed_at)).where(c.checkout_id.in_(checkout_ids))
        arrived: datetime = self.rows(first)[0][0]
        return arrived

    def sent_before(self, account: str, client_id: str | None, before: datetime) -> str | None:
        """The service reference of the newest bank transfer that the service had by then; None if there is none."""
        c = self.table.c
        sent = (
            select(c.service_reference)
            .where(c.account == account, c.client_id.is_not_distinct_from(client_id), c.to_kind != "wallet")
            .where(c.status.in_([PayoutStatus.SENT, PayoutStatus.COMPLETED]), c.moved_at < before)
            .where(c.disbursement_id.is_not(None))
        )
        newest = self.rows(sent.order_by(c.id.desc()).limit(1))
        return newest[0][0] if newest else None


def is_stopped(models: Models) -> ColumnElement[bool]:
    """The condition that a payout refunds a payment that was taken back, so that it would give the money back twice."""
    c, payments = models.payouts.c, models.checkouts.c
    return exists().where(payments.checkout_id == c.refund_of, payments.payment_completed_at.is_(None))


NOT_SENT = (
    *(PayoutState.CLAIMABLE, PayoutState.WAITING, PayoutState.POSTPONED),
    *(PayoutState.READY, PayoutState.RELEASED, PayoutState.FAILED),
)
"""In these states nothing is under way, but the payout may still be sent."""


# Tries


class Try(msgspec.Struct, frozen=True, omit_defaults=True):
    """One attempt to pay, which was or may have been sent, under one service reference."""

    service_reference: str
    client_id: str | None = None
    """The client id of the keys that it was sent with."""

    paid_by: str | None = None
    """The merchant account whose money was to pay it."""

    disbursement_id: str | None = None
    doubt: str | None = None
    """As in the payout's row, when the next try began."""


def tries_of(text: str | None) -> tuple[Try, ...]:
    """The tries that a payout's `earlier` holds, oldest first."""
    return msgspec.json.decode(text, type=tuple[Try, ...]) if text else ()


def all_tries(payout: PayoutMixin) -> tuple[Try, ...]:
    """The tries of a payout, oldest first."""
    return (*tries_of(payout.earlier), msgspec.convert(payout, Try, from_attributes=True))


def late_tries(earlier: str | None) -> Sequence[Try]:
    """The earlier tries of a bank transfer that failed at the service, which may pay them after all, newest first."""
    tries = reversed(tries_of(earlier))
    return [each for each in tries if each.disbursement_id is not None and each.doubt != Doubt.DENIED][:_WATCHED]


def try_columns(payout: PayoutMixin, earlier: Try) -> dict[str, Any]:
    """The columns of a payout whose present try changes places with an earlier one."""
    others = tuple(each for each in all_tries(payout) if each != earlier)
    return msgspec.structs.asdict(earlier) | {"earlier": tries_text(others), "fee": None} | asked_columns(payout)


def asked_columns(payout: PayoutMixin) -> dict[str, Any]:
    """The columns of what was asked for, where a person has accepted another amount of the present try."""
    asked = payout.asked_amount
    if asked is None:
        return {}
    counted = {"counts": asked} if payout.counts_currency == payout.currency else {}
    return {"amount": asked, "asked_amount": None} | counted


def references_of(payouts: Iterable[PayoutMixin]) -> set[str]:
    """All service references that these payouts have, or had."""
    return {each.service_reference for payout in payouts for each in all_tries(payout)}


def tries_text(tries: tuple[Try, ...]) -> str | None:
    """These tries as the text that `tries_of` reads."""
    return msgspec.json.encode(tries).decode() if tries else None


def service_reference(key: bytes, account: str, reference: str, number: int) -> str:
    """The service reference of a try. It begins like the shop's reference, and cannot be guessed.

    :param key: the key of the installation.
    :param number: the number of the try, from 1.
    """
    return f"{_readable(reference)}-{_digest(key, 'try', account, reference, str(number))}"


def transfer_reference(key: bytes, account: str, checkout_id: str, number: int) -> str:
    """The service reference of a transfer that pays a payment back.

    A restored shop that requests a refund again gives it the same number, whatever other refunds were requested but not
    sent.

    :param number: the number among the payment's transfers, from 1.
    """
    digest = _digest(key, "transfer", account, checkout_id, str(number))
    return f"{_readable(checkout_id)}-{number}-{digest}"


def next_transfers(key: bytes, account: str, checkout_id: str, used: Collection[str], most: int = 1) -> list[str]:
    """The service references of a payment's next transfers: the first ones that are not used yet."""
    following: list[str] = []
    for number in count(1):
        if len(following) == most:
            break
        reference = transfer_reference(key, account, checkout_id, number)
        if reference not in used:
            following.append(reference)
    return following


def is_of_account(key: bytes, payout: Mapping[Any, Any]) -> bool:
    """Whether a payout's service reference was made for the merchant account in its row."""
    reference, of_payment = payout["service_reference"], (payout["account"], payout["refund_of"])
    if payout["to_kind"] == "hand":
        return True
    if payout["refund_of"] is not None:
        number = _TRANSFER.fullmatch(reference)
        return number is not None and bool(transfer_reference(key, *of_payment, int(number[1])) == reference)
    tries = range(1, len(tries_of(payout["earlier"])) + 3)
    return any(
        service_reference(key, payout["account"], payout["reference"], number_of_try) == reference
        for number_of_try in tries
    )


@lru_cache
def _readable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name)[:_SHOWN].strip("-") or "payout"


def refund_reference(key: bytes, checkout_id: str, number: int) -> str:
    """The reference of a checkout's refund.

    :param number: the number among the checkout's refunds, from 1.
    """
    return f"refund-{_digest(key, 'refund', checkout_id, str(number))}"


def _digest(key: bytes, *parts: str) -> str:
    return hmac.digest(key, msgspec.json.encode(parts), "sha256").hex()[:16]
