"""The story of one payout or refund: what it is, and each entry of its history, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from flask_paycheckout.clock import as_utc
from flask_paycheckout.database.history import Entry, lines
from flask_paycheckout.payouts.payout_model import PayoutMixin
from flask_paycheckout.payouts.payout_states import PayoutEvidence, PayoutKind, PayoutStatus
from flask_paycheckout.text import PRUNED_PAYOUT_TEXT, account_text, moment_text

__all__ = ["PayoutStep", "PayoutStory", "payout_lines", "payout_steps", "payout_story"]

_DECISIONS: dict[str, str] = {
    PayoutEvidence.APPROVED: "approved it",
    PayoutEvidence.CANCELLED: "cancelled it",
    PayoutEvidence.RETRIED: "had it tried again, under a new reference for the service",
    PayoutEvidence.SEEN_SENT: "found that it was sent",
    PayoutEvidence.SEEN_UNSENT: "found that it was not sent",
    PayoutEvidence.RETURNED: "found that it came back, or never left",
    PayoutEvidence.AMENDED: "accepted the amount that the service reports",
    PayoutEvidence.BY_HAND: "gave the money back by hand",
}
_TOLD: dict[str, str] = {
    PayoutStatus.CLAIMABLE: "Waits for the customer, who says where the money goes on the page of refund_url.",
    PayoutStatus.WAITING: "Waits for a person. Approve with: flask paycheckout payouts approve {reference}"
    " --seen {revision} --by YOU",
    PayoutStatus.FAILED: "FAILED. Try again with: flask paycheckout payouts retry {reference} --by YOU --why REASON",
    PayoutStatus.UNKNOWN: "UNKNOWN whether it was sent. Look at the service, then say:"
    " flask paycheckout payouts resolve {reference} --sent (or --not-sent) --by YOU --why REASON",
}


@dataclass(frozen=True)
class PayoutStep:
    """One entry of a payout's history, with its wording for people."""

    at: datetime
    what: str
    """The kind of entry, such as `created`, `moved` or `no answer`."""

    facts: dict[str, Any]
    text: str


@dataclass(frozen=True)
class PayoutStory:
    """One payout or refund of an order, with its whole history."""

    reference: str
    service_reference: str
    """The reference that the service is given."""

    kind: PayoutKind
    status: PayoutStatus
    amount: Decimal
    currency: str
    destination: str | None
    """Where the money goes, with a masked account number; None until the customer has said it."""

    revision: int
    """The number of changes of the destination; an approval names the one that the person saw."""

    refund_of: str | None
    """The id of the checkout whose money a refund pays back."""

    note: str | None
    account: str
    disbursement_id: str | None
    """The service's id, known once it was sent."""

    created_at: datetime
    next_attempt_at: datetime | None
    """The time of the next step: a send, a look-up or a read; None when nothing is planned."""

    problem: str | None
    """The last error; None after a success."""

    problem_since: datetime | None
    happenings: tuple[PayoutStep, ...]
    """The history, oldest first."""

    pruned_at: datetime | None = None
    """The time when `flask paycheckout prune` removed its earlier history and events; None while they are whole."""

    fee: Decimal | None = None
    """The fee that the service reported, in `currency`; None until it did."""

    client_id: str | None = None
    """The client id of the keys that it was sent with."""


def payout_story(payout: PayoutMixin) -> PayoutStory:
    """Tell a stored payout."""
    return PayoutStory(
        payout.reference,
        payout.service_reference,
        PayoutKind(payout.kind),
        PayoutStatus(payout.status),
        payout.amount,
        payout.currency,
        payout.destination,
        payout.revision,
        payout.refund_of,
        payout.note,
        payout.account,
        payout.disbursement_id,
        payout.created_at,
        payout.next_attempt_at,
        payout.problem,
        payout.problem_since,
        tuple(payout_steps(payout)),
        payout.pruned_at,
        payout.fee,
        payout.client_id,
    )


def payout_steps(payout: PayoutMixin) -> list[PayoutStep]:
    """The history of a payout, oldest first, with the names and reasons of the people who decided."""
    return [_step(entry, payout.created_at) for entry in lines(payout.history)]


def payout_lines(story: PayoutStory) -> Iterator[str]:
    """The story of a payout in lines for people; control characters are not escaped yet."""
    of = (f" of checkout {story.refund_of}" if story.refund_of else "") + account_text(story.account)
    fee = f", fee {story.fee:f}" if story.fee is not None else ""
    yield f"{story.kind.capitalize()} {story.reference}{of}, {story.amount:f} {story.currency}{fee}: {story.status}"
    yield f"  To: {story.destination or 'not said yet'}"
    if story.note:
        yield f"  Note: {story.note}"
    if story.pruned_at is not None:
        yield f"  {moment_text(story.pruned_at)}  {PRUNED_PAYOUT_TEXT}"
    for step in story.happenings:
        yield f"  {moment_text(step.at)}  {step.text}"
    if story.problem is not None:
        since = "" if story.problem_since is None else f" since {moment_text(story.problem_since)}"
        yield f"  PROBLEM{since}: {story.problem}"
    if story.next_attempt_at is not None:
        yield f"  Next step after {moment_text(story.next_attempt_at)}"
    if story.status in _TOLD:
        yield "  " + _TOLD[story.status].format(reference=story.reference, revision=story.revision)


def _step(entry: dict[str, Any], default_at: datetime) -> PayoutStep:
    """One entry for people; also one of a kind that this version does not know.

    :param default_at: the time of an entry that was stored without one.
    """
    facts = {name: value for name, value in entry.items() if name not in ("at", "what")}
    what = str(entry["what"])
    at = as_utc(datetime.fromisoformat(entry["at"])) if "at" in entry else default_at
    try:
        return PayoutStep(at, what, facts, _TEXT_OF[what](facts))
    except KeyError:
        return PayoutStep(at, what, facts, f"{what}: {json.dumps(facts)}")


def _created_text(facts: dict[str, Any]) -> str:
    by = f" by {facts['by']}: {facts.get('why')}" if "by" in facts else ""
    return f"Made for {facts['total']}{by}"


def _moved_text(facts: dict[str, Any]) -> str:
    rule = str(facts["rule"])
    if rule in _DECISIONS and "by" in facts:
        why = f": {facts['why']}" if "why" in facts else ""
        return f"{str(facts['to']).capitalize()}: {facts['by']} {_DECISIONS[rule]}{why}"
    more = f": {facts['destination']}" if "destination" in facts else _more(facts)
    return f"{str(facts['to']).capitalize()}: {rule}{more}"


def _more(facts: dict[str, Any]) -> str:
    """What the service or the network said about a move."""
    told = [f"as {facts['disbursement_id']}"] if "disbursement_id" in facts else []
    told += [str(facts["problem"])] if "problem" in facts else []
    return f"; {'; '.join(told)}" if told else ""


def _not_applied_text(facts: dict[str, Any]) -> str:
    return f"An answer that could not be stored, or came late: {facts['rule']}{_more(facts)}"


_TEXT_OF = {
    Entry.CREATED.value: _created_text,
    Entry.MOVED.value: _moved_text,
    Entry.READ.value: lambda facts: f"Looked up: {facts['result']}",
    Entry.NO_ANSWER.value: lambda facts: f"No reliable answer: {facts['problem']}",
    Entry.NOT_APPLIED.value: _not_applied_text,
}
