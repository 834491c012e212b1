"""Claims: the receiver of a refund or payout names its destination, until a person has approved it.

A bank account is created as a recipient at the service, and the recipient's id is stored; the account number is neither
stored nor logged. Each claim is counted before the call, so that a link creates a limited number of recipients even if
calls fail.

A payout's row lists the recipients that its claims created at the service, one per line: `lost MARK NAME` from before
the call until its answer is stored, and then `id ID`. Each recipient that may exist can therefore be deleted when its
person is erased: by its id, or, if the answer was lost, after a search for its name.
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
"""The maximum number of claims through the link of a refund."""

ACCOUNT_NUMBER = "account_number"
"""The form field whose value is never shown again, so that the customer must retype it."""

_BANK_FIELDS = ("account_name", ACCOUNT_NUMBER, "bank_name", "country", "email", "address", "city", "post_code")
_WALLET_FIELDS = ("wallet_address",)

MAX_SHOWN = 70
"""The maximum length of fields that an approver compares; names in bank transfers are not longer."""

_SHOWN = frozenset({"account_name", "bank_name"})
# With these characters a name could look like a masked account number.
_BULLETS = frozenset("•‣⁃⁌⁍∙◘◦●⚫⦁⦾⦿")

_ID, _LOST = "id ", "lost "
# A call that was not carried out does not count as a use of the link, so a pause limits such calls.
_PAUSE = timedelta(seconds=5)


class TooManyClaims(Exception):
    """This refund's link has reached its limit of uses."""


@dataclass(frozen=True, eq=False)
class RefundClaims:
    """Records the destinations that the customers of one app name for their refunds."""

    wiring: Wiring
    payouts: Payouts
    decisions: PayoutDecisions
    service: Service
    record: ServiceRecord
    sealing: Sealing
    _refused_lately: Cooldown = field(default_factory=lambda: Cooldown(_PAUSE), init=False)

    def find(self, reference: str) -> PayoutMixin | None:
        """The refund, or the payout that its receiver claims, with this reference; None if there is none.

        It is cancelled first if its claim period has ended.
        """
        payout = self.payouts.find(reference)
        if payout is None or not (payout.kind == PayoutKind.REFUND or payout.is_claimed):
            return None
        end, now = payout.claim_ends_at, self.wiring.clock()
        if payout.status != PayoutStatus.CLAIMABLE or end is None or end > now:
            return payout
        # The next round of `send_payouts` retries the cancellation, and reports the receiver's error.
        with suppress(ReceiverFailed):
            events = self.decisions.moves.move(payout, PayoutMove(PayoutEvidence.EXPIRED), now)
            self.decisions.outbox.deliver(events or ())
        return self.payouts.find(reference)

    def claim(self, reference: str, form: RefundForm) -> PayoutMixin:
        """Store the destination of a refund, which then waits for a person's approval.

        :param form: a form without faults, for the refund's currency.
        :returns: the refund after the claim.
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
        """Count one more claim, in its own transaction, before anything else is done.

        :param lost: the line of the recipient that is about to be created; empty for a wallet.
        """
        c = self.payouts.table.c
        if not self._change(payout, c.claims < MAX_CLAIMS, claims=c.claims + 1, recipients=c.recipients + lost):
            raise TooManyClaims(payout.reference)

    def _note(self, payout: PayoutMixin, lost: str, replacement: str) -> None:
        """Replace a recipient's line by its id line, or by nothing if none was created and the claim does not count."""
        c = self.payouts.table.c
        claims = c.claims if replacement else c.claims - 1
        self._change(payout, claims=claims, recipients=func.replace(c.recipients, lost, replacement))

    def _change(self, payout: PayoutMixin, *where: ColumnElement[bool], **values: Any) -> bool:
        table = self.payouts.table
        with begin_limited(self.payouts.engine()) as connection:
            changed = update(table).where(table.c.id == payout.id, *where).values(values)
            return connection.execute(changed).rowcount == 1

    def _make_recipient(self, refund: PayoutMixin, form: RefundForm) -> ToRecipient:
        wait = self._refused_lately.left(refund.reference, self.wiring.clock())
        if wait:
            raise NotAsked(RECIPIENT, "the service refused this claim a moment ago", wait)
        # The recipient must exist in the account that pays.
        payer = self.service.accounts.payer_of(refund.account)
        # The permit comes first: a call that the limits do not allow must not count as a claim.
        with self.service.permit(RECIPIENT, payer) as permit, self.record.call(CLAIM, payer):
            lost = lost_line(form.values["account_name"])
            self._count(refund, lost)
            arguments = _recipient(form.values, refund)
            try:
                recipient = permit.ask(lambda client: client.recipients.create(**arguments))
            except PaymentsError as error:
                if error.carried_out == "no":
                    # Otherwise failed calls would use up the link without creating a recipient.
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
    """The arguments of the call that creates a recipient, from the fields of the customer's form."""
    # The service has a separate field for an IBAN; the customer's form has one field for both kinds of numbers.
    iban = iban_of(values[ACCOUNT_NUMBER])
    number = {"account_number": values[ACCOUNT_NUMBER]} if iban is None else {"iban_number": iban}
    account = {name: values[name] for name in ("account_name", "bank_name", "country")}
    bank = BankDetails(**account, **number, currency=payout.currency)
    contact = {name: values[name] for name in ("email", "address", "city", "post_code")}
    return contact | {"name": values["account_name"], "bank": bank, "reference": payout.reference}


def can_be_claimed(payout: PayoutMixin) -> bool:
    """Whether the customer may still name the destination: nobody has approved the payout, now or in an earlier try."""
    was_approved = payout.doubt is not None or payout.earlier is not None
    return not was_approved and (PayoutState(payout.state), PayoutEvidence.CLAIMED) in PAYOUT_TRANSITIONS


def claims_left(payout: PayoutMixin) -> int:
    """The number of claims that the link of a refund still allows."""
    return MAX_CLAIMS - payout.claims if can_be_claimed(payout) else 0


# The recipients in a payout's row


def lost_line(name: str) -> str:
    """A unique line for a recipient whose creation the service has not answered yet."""
    return f"{_LOST}{secrets.token_hex(8)} {name}\n"


def id_line(recipient_id: str) -> str:
    """The line of a recipient that the service has created."""
    return f"{_ID}{recipient_id}\n"


def id_in(line: str) -> str | None:
    """The id in a line; None if the answer was lost."""
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
    """The form as a customer filled it in, without invisible characters."""

    values: Mapping[str, str] = field(repr=False)
    """All fields of the form."""

    faults: Mapping[str, Fault]
    """The fault of each field that has one; empty for a valid form."""

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
    """The maximum length of a field other than the account number."""
    return MAX_SHOWN if name in _SHOWN else MAX_TEXT


def read_form(currency: str, typed: Mapping[str, str]) -> RefundForm:
    """Check the form fields of this currency; other fields are ignored.

    :param typed: the text of each field; a missing one counts as empty.
    """
    cleaners = {name: pasted if name == ACCOUNT_NUMBER else drawn for name in fields_of(currency)}
    values = {name: clean(typed.get(name, "")) for name, clean in cleaners.items()}
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
