"""Claims of refunds and payouts: the receiver says where the money goes, until a person has approved it.

A bank account becomes a recipient of the service, whose id is stored; its number is neither stored nor logged. Each
claim is counted before the call, so that a link can make a limited number of recipients, whatever becomes of the calls.

The recipients that claims of a payout had made at the service stand in the payout's row, one a line: `lost MARK NAME`
from before the call until its answer is stored, and then `id ID`. So each recipient that may exist can be deleted when
its person is erased: by its id, or, where the answer was lost, after a search for its name.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, func, update

from flask_paycheckout.client import PaymentsError, TransportFailed
from flask_paycheckout.client.resources.recipients import BankDetails
from flask_paycheckout.database.connections import begin_limited
from flask_paycheckout.errors import PayoutRefused, ReceiverFailed
from flask_paycheckout.payouts.account_numbers import begins_like_iban, iban_of, is_account_number, pasted
from flask_paycheckout.payouts.decisions import PayoutDecisions
from flask_paycheckout.payouts.destinations import (
    MAX_TEXT,
    Destination,
    Sealing,
    ToRecipient,
    ToWallet,
    is_email,
    is_one_line,
    masked_account,
    require_destination,
)
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_moves import PayoutMove
from flask_paycheckout.payouts.payout_requests import destination_columns
from flask_paycheckout.payouts.payout_states import (
    PAYOUT_TRANSITIONS,
    PayoutEvidence,
    PayoutKind,
    PayoutState,
    PayoutStatus,
)
from flask_paycheckout.payouts.payout_table import Payouts
from flask_paycheckout.service.calls import RECIPIENT, NotAsked, Service
from flask_paycheckout.service.limits import Cooldown
from flask_paycheckout.service.record import CLAIM, ServiceRecord
from flask_paycheckout.text import drawn
from flask_paycheckout.totals import is_token
from flask_paycheckout.wiring import Wiring

MAX_CLAIMS = 20
"""The most times that the link of a refund can be used to say where the money goes."""

ACCOUNT_NUMBER = "account_number"
"""The field that is never shown again, and must be typed again."""

_BANK_FIELDS = ("account_name", ACCOUNT_NUMBER, "bank_name", "country", "email", "address", "city", "post_code")
_WALLET_FIELDS = ("wallet_address",)

MAX_SHOWN = 70
"""The most characters of what an approver compares; names in bank transfers have no more."""

_SHOWN = frozenset({"account_name", "bank_name"})
# With these a name could look like the digits of an account.
_BULLETS = frozenset("•‣⁃⁌⁍∙◘◦●⚫⦁⦾⦿")

_ID, _LOST = "id ", "lost "
# After a call that was not carried out, and costs the link no use.
_REFUSED = timedelta(seconds=5)


class TooManyClaims(Exception):
    """This refund's link has reached its limit of uses."""


@dataclass(frozen=True, eq=False)
class RefundClaims:
    """Records where the customers of one app want their refunds."""

    wiring: Wiring
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
        end, now = found.claim_ends_at, self.wiring.clock()
        if found.status != PayoutStatus.CLAIMABLE or end is None or end > now:
            return found
        # The next round of `send_payouts` tries it again, and reports the receiver.
        with suppress(ReceiverFailed):
            events = self.decisions.moves.move(found, PayoutMove(PayoutEvidence.EXPIRED), now)
            self.decisions.outbox.deliver(events or ())
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
                self._count(refund, "")
        finally:
            self.record.write()
        columns = destination_columns(to, self.sealing) | {"destination": form.masked}

        def plan(payout: PayoutMixin) -> PayoutMove:
            self._require_claimable(payout)
            revision = payout.revision + 1
            facts = {"destination": form.masked, "revision": revision}
            return PayoutMove(PayoutEvidence.CLAIMED, columns | {"revision": revision}, facts=facts)

        return self.decisions.move(reference, plan)

    def _count(self, payout: PayoutMixin, lost: str) -> None:
        """Count one more claim, in a transaction of its own before anything else is done.

        :param lost: the line of the recipient that is about to be made.
        """
        c = self.payouts.table.c
        if not self._change(payout, c.claims < MAX_CLAIMS, claims=c.claims + 1, recipients=c.recipients + lost):
            raise TooManyClaims(payout.reference)

    def _note(self, payout: PayoutMixin, lost: str, became: str) -> None:
        """Store the recipient that was made; without one it was certainly not made, and the claim does not count."""
        c = self.payouts.table.c
        claims = c.claims if became else c.claims - 1
        self._change(payout, claims=claims, recipients=func.replace(c.recipients, lost, became))

    def _change(self, payout: PayoutMixin, *where: ColumnElement[bool], **values: Any) -> bool:
        table = self.payouts.table
        with begin_limited(self.payouts.engine()) as connection:
            changed = update(table).where(table.c.id == payout.id, *where).values(values)
            return connection.execute(changed).rowcount == 1

    def _make_recipient(self, refund: PayoutMixin, form: RefundForm) -> ToRecipient:
        wait = self._refused_lately.left(refund.reference, self.wiring.clock())
        if wait:
            raise NotAsked(RECIPIENT, "the service refused this claim a moment ago", wait)
        # The account that pays must know its recipient.
        payer = self.service.accounts.payer_of(refund.account)
        # The permit comes first: a call that the limits do not allow must not count as a claim.
        with self.service.permit(RECIPIENT, payer) as permit, self.record.call(CLAIM, payer):
            lost = lost_line(form.values["account_name"])
            self._count(refund, lost)
            wanted = _recipient(form.values, refund)
            try:
                recipient = permit.ask(lambda client: client.recipients.create(**wanted))
            except PaymentsError as error:
                if error.carried_out == "no":
                    # Otherwise a customer would use up the link without any recipient.
                    self._note(refund, lost, "")
                    self._refused_lately.begin(refund.reference, self.wiring.clock())
                raise
        with suppress(ValueError):
            if (to := ToRecipient(recipient.id)).recipient_id == recipient.id:
                self._note(refund, lost, id_line(recipient.id))
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
    """Whether the customer may still say where a refund goes: nobody has approved it, now or in an earlier try."""
    was_approved = payout.doubt is not None or payout.earlier is not None
    return not was_approved and (PayoutState(payout.state), PayoutEvidence.CLAIMED) in PAYOUT_TRANSITIONS


def claims_left(payout: PayoutMixin) -> int:
    """How often the link of a refund can still be used to say where it goes."""
    return MAX_CLAIMS - payout.claims if can_be_claimed(payout) else 0


# The recipients in a payout's row


def lost_line(name: str) -> str:
    """A unique line for a recipient whose creation the service has not answered yet."""
    return f"{_LOST}{secrets.token_hex(8)} {name}\n"


def id_line(recipient_id: str) -> str:
    """The line of a recipient that the service has made."""
    return f"{_ID}{recipient_id}\n"


def id_in(line: str) -> str | None:
    """The id in a line; None where the answer was lost."""
    return line[len(_ID) : -1] if line.startswith(_ID) else None


def name_in(lost: str) -> str:
    """The name of the person in the line of a recipient whose answer was lost."""
    return lost.split(" ", 2)[2].rstrip("\n")


# The form of a customer


class Fault(StrEnum):
    """The fault of a field."""

    MISSING = "missing"
    TOO_LONG = "too long"
    SEVERAL_LINES = "line breaks or control characters"
    BULLET = "a bullet"
    NO_EMAIL = "no e-mail address"
    NO_ACCOUNT_NUMBER = "no account number"
    NO_IBAN = "check digits of an IBAN that do not fit"
    NO_WALLET = "no address of a wallet"


@dataclass(frozen=True)
class RefundForm:
    """The form as a customer filled it in, without characters that nobody sees."""

    values: Mapping[str, str] = field(repr=False)
    """All fields of the form."""

    faults: Mapping[str, Fault]
    """The fault of each field that has one; empty when everything can be used."""

    @property
    def wallet(self) -> ToWallet | None:
        """The wallet that the customer entered; None if the form asks for a bank account."""
        address = self.values.get("wallet_address")
        return None if address is None else ToWallet(address)

    @property
    def masked(self) -> str:
        """The destination for people, without an account number."""
        if self.wallet is not None:
            return self.wallet.masked
        return masked_account(self.values["account_name"], self.values["bank_name"], self.values[ACCOUNT_NUMBER])


def fields_of(currency: str) -> tuple[str, ...]:
    """The form's fields in page order: the wallet address for a token, otherwise the fields of a bank account."""
    return _WALLET_FIELDS if is_token(currency) else _BANK_FIELDS


def max_length(name: str) -> int:
    """The most characters of a field that is no account number."""
    return MAX_SHOWN if name in _SHOWN else MAX_TEXT


def read_form(currency: str, typed: Mapping[str, str]) -> RefundForm:
    """Check what was typed into the fields of this currency; other fields are ignored.

    :param typed: the text of each field; a missing one counts as empty.
    """
    cleaned = {name: pasted if name == ACCOUNT_NUMBER else drawn for name in fields_of(currency)}
    values = {name: clean(typed.get(name, "")) for name, clean in cleaned.items()}
    faults = {name: fault for name, value in values.items() if (fault := _fault(name, value, currency))}
    return RefundForm(values, faults)


def _fault(name: str, value: str, currency: str) -> Fault | None:
    if not value:
        return Fault.MISSING
    if not is_one_line(value):
        return Fault.SEVERAL_LINES
    if name == ACCOUNT_NUMBER:
        if begins_like_iban(value) and iban_of(value) is None:
            return Fault.NO_IBAN
        return None if is_account_number(value) else Fault.NO_ACCOUNT_NUMBER
    if len(value) > max_length(name):
        return Fault.TOO_LONG
    if name in _SHOWN and not _BULLETS.isdisjoint(value):
        return Fault.BULLET
    if name == "email" and not is_email(value):
        return Fault.NO_EMAIL
    if name == "wallet_address":
        try:
            require_destination(ToWallet(value), currency)
        except ValueError:
            return Fault.NO_WALLET
    return None
