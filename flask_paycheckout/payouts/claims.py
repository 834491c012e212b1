"""Claims of refunds: the customer says where the money goes, until a person has approved it.

A bank account becomes a recipient of the service, whose id is stored; its number is neither stored nor logged. Each
claim is counted before the call, so that a link can make a limited number of recipients, whatever becomes of the calls.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, Table, update

from flask_paycheckout.client import PaymentsError, TransportFailed
from flask_paycheckout.client.records.recipients import BankDetails
from flask_paycheckout.clock import Clock
from flask_paycheckout.database.lock_limit import begin_limited
from flask_paycheckout.database.parameters import is_of
from flask_paycheckout.errors import PayoutRefused, UnknownPayout
from flask_paycheckout.events.outbox import Outbox
from flask_paycheckout.payouts.destinations import Destination, ToRecipient, iban_of
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_moves import PayoutMove, PayoutMoves
from flask_paycheckout.payouts.payout_states import PAYOUT_TRANSITIONS, PayoutEvidence, PayoutKind, PayoutStatus
from flask_paycheckout.payouts.refund_forms import ACCOUNT_NUMBER, RefundForm
from flask_paycheckout.payouts.requests import destination_columns
from flask_paycheckout.payouts.sealing import Sealing
from flask_paycheckout.payouts.stored import Payouts
from flask_paycheckout.service.calls import RECIPIENT, NotAsked, Service
from flask_paycheckout.service.limits import Cooldown
from flask_paycheckout.service.record import CLAIM, ServiceRecord

if TYPE_CHECKING:
    from flask_paycheckout.models import Models


MAX_CLAIMS = 20
"""The most times that the link of a refund can be used to say where the money goes."""

_CLAIMABLE = [status.value for status, evidence in PAYOUT_TRANSITIONS if evidence is PayoutEvidence.CLAIMED]


class ClaimCounts:
    """Counts the claims of refunds: before each one is made, in a statement of its own that keeps the limit."""

    def __init__(self, engine: Callable[[], Engine], models: Models) -> None:
        self._engine = engine
        self._models = models
        self._table: Table = models.payouts

    def take(self, reference: str) -> PayoutMixin | None:
        """Count one more claim of a refund; None when its state or the limit does not allow it.

        :returns: the refund, detached from any session.
        """
        with begin_limited(self._engine()) as connection:
            row = connection.execute(self._take, {"of_reference": reference}).mappings().one_or_none()
        return None if row is None else self._models.payout_of_row(row)

    def give_back(self, reference: str) -> None:
        """Count one claim less, since the service was certainly not reached with it."""
        with begin_limited(self._engine()) as connection:
            connection.execute(self._give_back, {"of_reference": reference})

    # Statements

    @cached_property
    def _take(self) -> Any:
        c = self._table.c
        allowed = (c.kind == PayoutKind.REFUND.value, c.status.in_(_CLAIMABLE), c.claims < MAX_CLAIMS)
        counted = update(self._table).where(is_of(self._table, "reference"), *allowed)
        return counted.values(claims=c.claims + 1, changes=c.changes + 1).returning(*c)

    @cached_property
    def _give_back(self) -> Any:
        c = self._table.c
        given_back = update(self._table).where(is_of(self._table, "reference"), c.claims > 0)
        return given_back.values(claims=c.claims - 1, changes=c.changes + 1)


# Simultaneous changes of the refund that a claim is repeated for; other claims of the same link are limited to fewer.
_MAX_ROUNDS = 3 * MAX_CLAIMS
# After a call that was not carried out, and costs the link no use.
_REFUSED = timedelta(seconds=5)
_TOO_LATE = "Where a refund goes can be said until a person has approved it."


class TooManyClaims(Exception):
    """This refund's link has reached its limit of uses."""


class RefundClaims:
    """Records where the customers of one app want their refunds."""

    def __init__(
        self,
        payouts: Payouts,
        counts: ClaimCounts,
        moves: PayoutMoves,
        outbox: Outbox,
        service: Service,
        record: ServiceRecord,
        sealing: Sealing,
        clock: Clock,
    ) -> None:
        self._payouts = payouts
        self._counts = counts
        self._moves = moves
        self._outbox = outbox
        self._service = service
        self._record = record
        self._sealing = sealing
        self._clock = clock
        self._refused_lately = Cooldown(_REFUSED)

    def find(self, reference: str) -> PayoutMixin | None:
        """The refund with this reference; None when there is none, or it is another kind of payout."""
        found = self._payouts.find(reference)
        return found if found is not None and found.kind == PayoutKind.REFUND else None

    def claim(self, reference: str, form: RefundForm) -> PayoutMixin:
        """Store where a refund goes, which then waits for a person's approval.

        :param form: a form without faults, of the refund's currency.
        :returns: the refund as it stands now.
        :raises UnknownPayout: no such refund is stored.
        :raises PayoutRefused: it was approved or cancelled; nothing changed.
        :raises TooManyClaims: its link was used too often.
        :raises ReceiverFailed: an atomic receiver of `refund_claimed` raised; nothing was stored.
        :raises flask_paycheckout.client.PaymentsError: the service refused the bank account, or could not be reached.
        """
        to: Destination | None = form.wallet
        try:
            if to is None:
                to = self._make_recipient(reference, form)
            else:
                self._count(reference)
            return self._store(reference, to, form.masked)
        finally:
            self._record.write()

    def _count(self, reference: str) -> PayoutMixin:
        counted = self._counts.take(reference)
        if counted is not None:
            return counted
        self._require_claimable(reference)
        raise TooManyClaims(reference)

    def _make_recipient(self, reference: str, form: RefundForm) -> ToRecipient:
        merchant = self._require_claimable(reference).account
        wait = self._refused_lately.left(reference, self._clock())
        if wait:
            raise NotAsked(RECIPIENT, "the service refused this claim a moment ago", wait)
        # The permit comes first: a call that the limits do not allow must not count as a claim.
        with self._service.permit(RECIPIENT, merchant) as permit, self._record.call(CLAIM, merchant):
            payout = self._count(reference)
            values = form.values
            # The service has a field of its own for an IBAN, and customers have one or the other.
            iban = iban_of(values[ACCOUNT_NUMBER])
            account = BankDetails(
                account_name=values["account_name"],
                account_number=values[ACCOUNT_NUMBER] if iban is None else None,
                iban_number=iban,
                bank_name=values["bank_name"],
                country=values["country"],
                currency=payout.currency,
            )
            try:
                recipient = permit.ask(
                    lambda client: client.recipients.create(
                        name=values["account_name"],
                        email=values["email"],
                        address=values["address"],
                        city=values["city"],
                        post_code=values["post_code"],
                        bank=account,
                        reference=payout.reference,
                    )
                )
            except PaymentsError as error:
                if error.carried_out == "no":
                    # Otherwise a customer would use up the link without any recipient.
                    self._counts.give_back(reference)
                    self._refused_lately.begin(reference, self._clock())
                raise
        try:
            to = ToRecipient(recipient.id)
        except ValueError:
            to = None
        if to is None or to.recipient_id != recipient.id:
            raise TransportFailed(RECIPIENT, "the answer's id cannot be stored")
        return to

    def _store(self, reference: str, to: Destination, masked: str) -> PayoutMixin:
        for _ in range(_MAX_ROUNDS):
            payout = self._require_claimable(reference)
            revision = payout.revision + 1
            values = destination_columns(to, self._sealing) | {"destination": masked, "revision": revision}
            move = PayoutMove(PayoutEvidence.CLAIMED, values, {"destination": masked, "revision": revision})
            moved = self._moves.move(payout, move, self._clock())
            if moved is not None:
                self._outbox.deliver(moved.events)
                return self._payouts.find(reference) or moved.payout
        raise PayoutRefused(reference, payout.status, PayoutEvidence.CLAIMED, "It keeps changing; try again.")

    def _require_claimable(self, reference: str) -> PayoutMixin:
        payout = self.find(reference)
        if payout is None:
            raise UnknownPayout(reference)
        if not can_be_claimed(payout):
            raise PayoutRefused(reference, payout.status, PayoutEvidence.CLAIMED, _TOO_LATE)
        return payout


def can_be_claimed(payout: PayoutMixin) -> bool:
    """Whether the state of a refund still allows that the customer says where it goes."""
    return (PayoutStatus(payout.status), PayoutEvidence.CLAIMED) in PAYOUT_TRANSITIONS


def claims_left(payout: PayoutMixin) -> int:
    """How often the link of a refund can still be used to say where it goes."""
    return max(0, MAX_CLAIMS - payout.claims) if can_be_claimed(payout) else 0
