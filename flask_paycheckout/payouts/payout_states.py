"""The states of a payout, and the table of evidence that moves it between them. Pure."""

from __future__ import annotations

from enum import StrEnum


class PayoutStatus(StrEnum):
    """The state of a payout; a refund is one too."""

    CLAIMABLE = "claimable"
    WAITING = "waiting"
    READY = "ready"
    SENDING = "sending"
    SENT = "sent"
    COMPLETED = "completed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"


class PayoutKind(StrEnum):
    """The reason of a payout: the shop pays somebody, or gives a customer's money back."""

    PAYOUT = "payout"
    REFUND = "refund"


class PayoutEvidence(StrEnum):
    """Evidence that can move a payout; `flask paycheckout show` prints the values as they are."""

    CLAIMED = "the customer said where the money goes"
    APPROVED = "a person approved it"
    CANCELLED = "a person cancelled it"
    TAKEN = "a process took it to send it"
    ACCEPTED = "the service's answer names it"
    FOUND = "a look-up found it at the service"
    NOT_CARRIED_OUT = "it was certainly not carried out"
    MISSED = "two look-ups did not find it at the service"
    REFUSED = "the service refused it"
    DIFFERS = "the service has it with another amount or destination"
    IN_DOUBT = "nobody here can find out whether it was sent"
    SEEN_SENT = "a person found that it was sent"
    SEEN_UNSENT = "a person found that it was not sent"
    COMPLETED = "the service reads completed"
    FAILED = "the service reads failed"
    RETRIED = "a person had it tried again"
    RETURNED = "a person found that it came back, or never left"
    AMENDED = "a person accepted the amount that the service reports"
    OVER_LIMIT = "it would exceed the daily limit"
    NEXT_DAY = "the next day has begun"
    EXPIRED = "nobody said in time where the money goes"
    BY_HAND = "a person gave the money back by hand"


_S, _E = PayoutStatus, PayoutEvidence

PAYOUT_TRANSITIONS: dict[tuple[PayoutStatus, PayoutEvidence], PayoutStatus] = {
    (_S.CLAIMABLE, _E.CLAIMED): _S.WAITING,
    # The customer may correct the destination until a person approves it.
    (_S.WAITING, _E.CLAIMED): _S.WAITING,
    (_S.WAITING, _E.APPROVED): _S.READY,
    (_S.READY, _E.OVER_LIMIT): _S.WAITING,
    (_S.WAITING, _E.NEXT_DAY): _S.READY,
    (_S.CLAIMABLE, _E.CANCELLED): _S.CANCELLED,
    (_S.CLAIMABLE, _E.EXPIRED): _S.CANCELLED,
    (_S.WAITING, _E.CANCELLED): _S.CANCELLED,
    (_S.READY, _E.CANCELLED): _S.CANCELLED,
    (_S.READY, _E.TAKEN): _S.SENDING,
    (_S.SENDING, _E.ACCEPTED): _S.SENT,
    (_S.SENDING, _E.FOUND): _S.SENT,
    (_S.SENDING, _E.NOT_CARRIED_OUT): _S.READY,
    (_S.SENDING, _E.MISSED): _S.READY,
    (_S.SENDING, _E.REFUSED): _S.FAILED,
    (_S.SENDING, _E.DIFFERS): _S.UNKNOWN,
    (_S.SENDING, _E.IN_DOUBT): _S.UNKNOWN,
    (_S.UNKNOWN, _E.SEEN_SENT): _S.SENT,
    (_S.UNKNOWN, _E.SEEN_UNSENT): _S.READY,
    (_S.SENT, _E.COMPLETED): _S.COMPLETED,
    (_S.SENT, _E.FAILED): _S.FAILED,
    (_S.FAILED, _E.RETRIED): _S.READY,
    # Banks return transfers after they have completed them, and people are wrong.
    (_S.SENT, _E.RETURNED): _S.FAILED,
    (_S.COMPLETED, _E.RETURNED): _S.FAILED,
    (_S.SENT, _E.AMENDED): _S.COMPLETED,
    (_S.READY, _E.BY_HAND): _S.COMPLETED,
}
"""All transitions; any other one is refused.

`cancelled` never changes. The service cannot read a token payout, so only a person moves it on from `sent`.
"""

PAYOUT_SIGNAL_OF = {
    PayoutEvidence.CLAIMED: "refund_claimed",
    PayoutStatus.SENT: "payout_sent",
    PayoutStatus.COMPLETED: "payout_completed",
    PayoutStatus.FAILED: "payout_failed",
    PayoutStatus.UNKNOWN: "payout_unknown",
}
"""The signal of each state, or of the evidence where the state has none."""

DEED_OF = {
    PayoutEvidence.APPROVED: "approved",
    PayoutEvidence.CANCELLED: "cancelled",
    PayoutEvidence.RETRIED: "retried",
    PayoutEvidence.SEEN_SENT: "resolved",
    PayoutEvidence.SEEN_UNSENT: "resolved",
    PayoutEvidence.RETURNED: "resolved",
    PayoutEvidence.AMENDED: "resolved",
}
"""The deed of each decision of a person."""

RELEASING = frozenset({PayoutStatus.CANCELLED, PayoutStatus.FAILED})
"""In these states a refund does not count against what arrived."""

ENDED = RELEASING | {PayoutStatus.COMPLETED}
"""In these states nothing more happens by itself."""

LIVE = frozenset(PayoutStatus) - ENDED
"""In these states something may still happen."""

WIPING = frozenset({PayoutStatus.COMPLETED, PayoutStatus.CANCELLED})
"""On the move to one of these states a stored account number is replaced by its masked form."""
