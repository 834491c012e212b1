"""Claims of refunds and payouts: the receiver says where the money goes, until a person has approved it.

A bank account becomes a recipient of the service, whose id is stored; its number is neither stored nor logged. Each
claim is counted before the call, so that a link can make a limited number of recipients, whatever becomes of the calls.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from sqlalchemy import update

from flask_paycheckout.client import PaymentsError, TransportFailed
from flask_paycheckout.client.resources.recipients import BankDetails
from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.errors import PayoutRefused
from flask_paycheckout.parts import Parts
from flask_paycheckout.payouts.decisions import PayoutDecisions
from flask_paycheckout.payouts.destinations import Destination, ToRecipient, iban_of
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_moves import PayoutMove
from flask_paycheckout.payouts.payout_states import PAYOUT_TRANSITIONS, PayoutEvidence, PayoutKind, PayoutStatus
from flask_paycheckout.payouts.refund_forms import ACCOUNT_NUMBER, RefundForm
from flask_paycheckout.payouts.requests import destination_columns
from flask_paycheckout.payouts.sealing import Sealing
from flask_paycheckout.payouts.stored import Payouts
from flask_paycheckout.service.calls import RECIPIENT, NotAsked, Service
from flask_paycheckout.service.limits import Cooldown
from flask_paycheckout.service.record import CLAIM, ServiceRecord

MAX_CLAIMS = 20
"""The most times that the link of a refund can be used to say where the money goes."""

# After a call that was not carried out, and costs the link no use.
_REFUSED = timedelta(seconds=5)


class TooManyClaims(Exception):
    """This refund's link has reached its limit of uses."""


@dataclass(frozen=True, eq=False)
class RefundClaims:
    """Records where the customers of one app want their refunds."""

    parts: Parts
    payouts: Payouts
    decisions: PayoutDecisions
    service: Service
    record: ServiceRecord
    sealing: Sealing
    _refused_lately: Cooldown = field(default_factory=lambda: Cooldown(_REFUSED), init=False)

    def find(self, reference: str) -> PayoutMixin | None:
        """The refund, or payout that its receiver claims, with this reference; None when there is none.

        One whose time has passed is cancelled first.
        """
        found = self.payouts.find(reference)
        if found is None or not (found.kind == PayoutKind.REFUND or found.is_claimed):
            return None
        end, now = found.next_attempt_at, self.parts.clock()
        if found.status != PayoutStatus.CLAIMABLE or end is None or end > now:
            return found
        self.decisions.moves.move(found, PayoutMove(PayoutEvidence.EXPIRED), now)
        return self.payouts.find(reference)

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
        refund = self._require_claimable(self.payouts.require(reference))
        to: Destination | None = form.wallet
        try:
            if to is None:
                to = self._make_recipient(refund, form)
            else:
                self._count(refund)
        finally:
            self.record.write()
        columns = destination_columns(to, self.sealing) | {"destination": form.masked}

        def plan(payout: PayoutMixin) -> PayoutMove:
            self._require_claimable(payout)
            revision = payout.revision + 1
            facts = {"destination": form.masked, "revision": revision}
            return PayoutMove(PayoutEvidence.CLAIMED, columns | {"revision": revision}, facts=facts)

        return self.decisions.move(reference, plan)

    def _count(self, payout: PayoutMixin, change: int = 1) -> None:
        """Count one more claim, or one less, in a transaction of its own before anything else is done."""
        table = self.payouts.table
        counted = table.c.claims + change
        changed = update(table).where(table.c.id == payout.id, counted <= MAX_CLAIMS).values(claims=counted)
        with begin_limited(self.payouts.engine()) as connection:
            if connection.execute(changed).rowcount != 1:
                raise TooManyClaims(payout.reference)

    def _make_recipient(self, refund: PayoutMixin, form: RefundForm) -> ToRecipient:
        wait = self._refused_lately.left(refund.reference, self.parts.clock())
        if wait:
            raise NotAsked(RECIPIENT, "the service refused this claim a moment ago", wait)
        # The account that pays must know its recipient.
        payer = self.service.accounts.payer_of(refund.account)
        # The permit comes first: a call that the limits do not allow must not count as a claim.
        with self.service.permit(RECIPIENT, payer) as permit, self.record.call(CLAIM, payer):
            self._count(refund)
            wanted = _recipient(form.values, refund)
            try:
                recipient = permit.ask(lambda client: client.recipients.create(**wanted))
            except PaymentsError as error:
                if error.carried_out == "no":
                    # Otherwise a customer would use up the link without any recipient.
                    self._count(refund, -1)
                    self._refused_lately.begin(refund.reference, self.parts.clock())
                raise
        with suppress(ValueError):
            if (to := ToRecipient(recipient.id)).recipient_id == recipient.id:
                return to
        raise TransportFailed(RECIPIENT, "the answer's id cannot be stored")

    def _require_claimable(self, payout: PayoutMixin) -> PayoutMixin:
        if not can_be_claimed(payout):
            too_late = "Where a refund goes can be said until a person has approved it."
            raise PayoutRefused(payout.reference, payout.status, PayoutEvidence.CLAIMED, too_late)
        return payout


def _recipient(values: Any, payout: PayoutMixin) -> dict[str, Any]:
    """The arguments of the call that makes a recipient from the fields of the customer's form."""
    # The service has a field of its own for an IBAN, and customers have one or the other.
    iban = iban_of(values[ACCOUNT_NUMBER])
    number = {"account_number": values[ACCOUNT_NUMBER]} if iban is None else {"iban_number": iban}
    named = {name: values[name] for name in ("account_name", "bank_name", "country")}
    bank = BankDetails(**named, **number, currency=payout.currency)
    typed = {name: values[name] for name in ("email", "address", "city", "post_code")}
    return typed | {"name": values["account_name"], "bank": bank, "reference": payout.reference}


def can_be_claimed(payout: PayoutMixin) -> bool:
    """Whether the state of a refund still allows that the customer says where it goes."""
    # One that only waits for the next day was approved already.
    return (PayoutStatus(payout.status), PayoutEvidence.CLAIMED) in PAYOUT_TRANSITIONS and not payout.waits_for_day


def claims_left(payout: PayoutMixin) -> int:
    """How often the link of a refund can still be used to say where it goes."""
    return MAX_CLAIMS - payout.claims if can_be_claimed(payout) else 0
