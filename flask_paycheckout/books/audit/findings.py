"""The findings of an audit: the values of both sides and a verdict for each deposit, disbursement and booking.

Values are texts; amounts are exact, and account numbers are masked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from flask_paycheckout.text import account_text, visible

Facts = Mapping[str, str | None]
"""The values of one side by name; None for a missing value."""

_MAX_SHOWN = 200
_SHOWN_OF_MISSING = ("status", "amount", "currency", "paid_amount", "paid_currency", "destination")


class Verdict(StrEnum):
    """The outcome of a comparison."""

    AGREED = "agreed"
    DIFFERS = "differs"
    UNREADABLE = "unreadable"
    MISSING_THERE = "missing at the service"
    MISSING_HERE = "missing here"


class Kind(StrEnum):
    """The kinds of things that are compared."""

    DEPOSIT = "deposit"
    DISBURSEMENT = "disbursement"
    BOOKING = "booking"


@dataclass(frozen=True)
class Finding:
    """One deposit or disbursement, or the bookings of one checkout or payout, with the values of both sides."""

    verdict: Verdict
    kind: Kind
    account: str
    """The merchant account's name; "" for the account of the settings."""

    order_id: str | None = None
    checkout_id: str | None = None
    """The checkout of a deposit, or the checkout whose money a refund pays back."""

    reference: str | None = None
    """The shop's own reference of a payout; the service's reference of a disbursement that no row here knows."""

    disbursement_id: str | None = None
    here: Facts | None = None
    """The values of the rows of checkouts and payouts."""

    there: Facts | None = None
    """The values of the service, or of the books."""

    differences: tuple[str, ...] = ()
    """The names of the facts that differ."""

    remedy: str | None = None
    """An instruction, in a sentence; None if both sides agree."""

    def says(self, verdict: Verdict, differences: Sequence[str], remedy: str) -> Finding:
        """A copy of this finding with the verdict that both sides differ, or could not be compared."""
        return replace(self, verdict=verdict, differences=tuple(differences), remedy=remedy)

    def __str__(self) -> str:
        """Lines for people: the subject, each difference with both values, and the remedy."""
        texts = [f"{self.verdict}: {self._subject()}{account_text(self.account)}"]
        side = "in the books" if self.kind is Kind.BOOKING else "there"
        is_missing = self.verdict in (Verdict.MISSING_HERE, Verdict.MISSING_THERE)
        for name in self.differences or (_SHOWN_OF_MISSING if is_missing else ()):
            here, there = _shown(self.here, name), _shown(self.there, name)
            texts += [f"    {name}: here {here}, {side} {there}"] if here != there else []
        texts += [f"    {self.remedy}"] if self.remedy else []
        return "\n".join(visible(line) for line in texts)

    def _subject(self) -> str:
        if self.kind is Kind.BOOKING:
            subject = f"checkout {self.checkout_id}" if self.reference is None else f"payout {self.reference}"
            return f"the books about {subject}"
        if self.kind is Kind.DEPOSIT:
            return f"deposit {self.checkout_id} of order {self.order_id}"
        if self.reference is None and self.disbursement_id is None:
            return "the list of disbursements"
        id_text = f" {self.disbursement_id}" if self.disbursement_id else ""
        return f"disbursement{id_text}" + (f" with the reference {self.reference}" if self.reference else "")


def _shown(side: Facts | None, name: str) -> str:
    value = (side or {}).get(name)
    return "nothing" if value is None else value[:_MAX_SHOWN]
