"""The states of a payout, and the table of evidence that moves it between them."""

from __future__ import annotations

from enum import StrEnum


class PayoutStatus(StrEnum):
    """The status of a payout, as the shop sees it; a refund is one too."""

    CLAIMABLE = "claimable"
    WAITING = "waiting"
    READY = "ready"
    SENDING = "sending"
    SENT = "sent"
    COMPLETED = "completed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    CANCELLED = "cancelled"


class PayoutState(StrEnum):
    """The state of a payout, which is finer than its status where the next step differs.

    :ivar status: the status that the shop sees; the state's own name unless another status is given below.
    """

    status: PayoutStatus

    def __new__(cls, value: str, status: PayoutStatus | None = None) -> PayoutState:
        state = str.__new__(cls, value)
        state._value_ = value
        state.status = status or PayoutStatus(value)
        return state

    CLAIMABLE = "claimable"

    WAITING = "waiting"
    """A person must approve it."""

    POSTPONED = "postponed", PayoutStatus.WAITING
    """It is approved, but would exceed the daily limit."""

    READY = "ready"

    RELEASED = "released", PayoutStatus.READY
    """It is ready, and a person let its next call exceed the daily limit."""

    SENDING = "sending"
    """A process makes the call, or died before it stored the answer."""

    LOST = "lost", PayoutStatus.SENDING
    """The answer to the call was lost; two lookups decide."""

    SPLIT = "split", PayoutStatus.SENDING
    """The service refused the batch that contained it, but may have accepted a part of the batch."""

    REFUSED = "refused", PayoutStatus.SENDING
    """The service refused it; lookups find out whether it was carried out all the same."""

    SENT = "sent"
    COMPLETED = "completed"
    FAILED = "failed"

    REPLACED = "replaced", PayoutStatus.FAILED
    """It failed, and another refund was made in its place."""

    UNKNOWN = "unknown"
    CANCELLED = "cancelled"


class Doubt(StrEnum):
    """The reason why a payout may have been carried out by an earlier call under its present service reference."""

    SPLIT = "split"
    """The service refused the batch of that call, and a lookup did not find the payout."""

    LOST = "lost"
    """The answer to that call was lost, and two lookups did not find the payout; or its reference is taken."""

    DENIED = "denied"
    """A person says that the payout was not sent, or came back."""


class PayoutKind(StrEnum):
    """The reason of a payout: the shop pays somebody, or gives a customer's money back."""

    PAYOUT = "payout"
    REFUND = "refund"


class PayoutEvidence(StrEnum):
    """Evidence that can move a payout; `flask paycheckout show` prints the values as they are."""

    CLAIMED = "the customer said where the money goes"
    EXPIRED = "nobody said in time where the money goes"
    BY_HAND = "a person gave the money back by hand"
    APPROVED = "a person approved it"
    RELEASED = "a person approved it beyond the daily limit"
    CANCELLED = "a person cancelled it"
    GIVEN_UP = "a person gave it up"
    OVER_LIMIT = "it would exceed the daily limit"
    NEXT_DAY = "the next day has begun"
    TAKEN = "a process took it to send it"
    ACCEPTED = "the service's answer names it"
    NOT_CARRIED_OUT = "it was certainly not carried out"
    ANSWER_LOST = "the answer to the call was lost"
    BATCH_REFUSED = "the service refused the batch"
    REFUSED = "the service refused it"
    FOUND = "a look-up found it at the service"
    MISSED = "look-ups did not find it at the service"
    DIFFERS = "the service has it with another amount or destination"
    IN_DOUBT = "nobody here can find out whether it was sent"
    COMPLETED = "the service reads completed"
    FAILED = "the service reads failed"
    SEEN_SENT = "a person found that it was sent"
    SEEN_UNSENT = "a person found that it was not sent"
    UNSENT_TO_APPROVE = "a person found that it was not sent; another person must approve it"
    AMENDED = "a person accepted the amount that the service reports"
    RETURNED = "a person found that it came back, or never left"
    RETRIED = "a person had it tried again"
    RETRY_TO_APPROVE = "a person had it tried again; another person must approve it"
    REPLACED = "another refund was made in its place"
    RESTORED = "the refund in its place was cancelled"


_S, _E = PayoutState, PayoutEvidence

CALLED = (_S.SENDING, _S.LOST, _S.SPLIT, _S.REFUSED)
"""In these states a call was made, or is being made, and its outcome is not known yet."""

SENDABLE = (_S.READY, _S.RELEASED)
"""In these states it is sent next."""

LOOKED_UP = (*CALLED, _S.UNKNOWN)
"""In these states lookups find out whether it was sent; for an unknown payout, once the keys that sent it are back."""

READ = (_S.SENT, _S.COMPLETED, _S.FAILED, _S.REPLACED, _S.CANCELLED)
"""In these states the payout is read at the service if the service has it; a failed payout may be paid after all."""

_OUTCOMES = {
    _E.ACCEPTED: _S.SENT,
    _E.FOUND: _S.SENT,
    _E.DIFFERS: _S.UNKNOWN,
    _E.IN_DOUBT: _S.UNKNOWN,
}

PAYOUT_TRANSITIONS: dict[tuple[PayoutState, PayoutEvidence], PayoutState] = {
    (_S.CLAIMABLE, _E.CLAIMED): _S.WAITING,
    # The customer may correct the destination until a person approves it.
    (_S.WAITING, _E.CLAIMED): _S.WAITING,
    (_S.CLAIMABLE, _E.EXPIRED): _S.CANCELLED,
    (_S.READY, _E.BY_HAND): _S.COMPLETED,
    (_S.WAITING, _E.APPROVED): _S.READY,
    (_S.WAITING, _E.RELEASED): _S.RELEASED,
    (_S.READY, _E.OVER_LIMIT): _S.POSTPONED,
    (_S.POSTPONED, _E.NEXT_DAY): _S.READY,
    (_S.POSTPONED, _E.RELEASED): _S.RELEASED,
    (_S.CLAIMABLE, _E.CANCELLED): _S.CANCELLED,
    (_S.WAITING, _E.CANCELLED): _S.CANCELLED,
    (_S.POSTPONED, _E.CANCELLED): _S.CANCELLED,
    (_S.READY, _E.CANCELLED): _S.CANCELLED,
    (_S.RELEASED, _E.CANCELLED): _S.CANCELLED,
    (_S.FAILED, _E.GIVEN_UP): _S.CANCELLED,
    (_S.REPLACED, _E.GIVEN_UP): _S.CANCELLED,
    (_S.READY, _E.TAKEN): _S.SENDING,
    (_S.RELEASED, _E.TAKEN): _S.SENDING,
    (_S.SENDING, _E.NOT_CARRIED_OUT): _S.READY,
    (_S.SENDING, _E.ANSWER_LOST): _S.LOST,
    (_S.SENDING, _E.BATCH_REFUSED): _S.SPLIT,
    (_S.SENDING, _E.REFUSED): _S.REFUSED,
    **{(state, evidence): to for state in CALLED for evidence, to in _OUTCOMES.items()},
    (_S.LOST, _E.MISSED): _S.READY,
    (_S.SPLIT, _E.MISSED): _S.READY,
    (_S.REFUSED, _E.MISSED): _S.FAILED,
    # Its keys were gone, and are back.
    (_S.UNKNOWN, _E.FOUND): _S.SENT,
    (_S.UNKNOWN, _E.SEEN_SENT): _S.SENT,
    (_S.UNKNOWN, _E.SEEN_UNSENT): _S.READY,
    (_S.UNKNOWN, _E.UNSENT_TO_APPROVE): _S.WAITING,
    (_S.SENT, _E.COMPLETED): _S.COMPLETED,
    (_S.SENT, _E.AMENDED): _S.COMPLETED,
    (_S.SENT, _E.FAILED): _S.FAILED,
    # Banks return completed transfers, and people make mistakes.
    (_S.COMPLETED, _E.FAILED): _S.FAILED,
    (_S.SENT, _E.RETURNED): _S.FAILED,
    (_S.COMPLETED, _E.RETURNED): _S.FAILED,
    # Its amount was changed, or the service pays an earlier try of it, too.
    (_S.COMPLETED, _E.DIFFERS): _S.SENT,
    # The service pays it after all. If it was replaced or given up by then, a person decides.
    (_S.FAILED, _E.FOUND): _S.SENT,
    (_S.REPLACED, _E.AMENDED): _S.COMPLETED,
    (_S.REPLACED, _E.RETURNED): _S.REPLACED,
    (_S.CANCELLED, _E.AMENDED): _S.COMPLETED,
    (_S.CANCELLED, _E.RETURNED): _S.FAILED,
    (_S.FAILED, _E.RETRIED): _S.READY,
    (_S.FAILED, _E.RETRY_TO_APPROVE): _S.WAITING,
    (_S.FAILED, _E.REPLACED): _S.REPLACED,
    (_S.REPLACED, _E.RESTORED): _S.FAILED,
}
"""All transitions; any other one is refused.

`cancelled` changes only if the service pays a given-up payout after all. A token payout cannot be read at the service,
so only a person moves it on from `sent`.
"""

PAYOUT_SIGNAL_OF: dict[PayoutState | PayoutEvidence, str | None] = {
    _E.CLAIMED: "refund_claimed",
    _S.SENT: "payout_sent",
    _S.COMPLETED: "payout_completed",
    _S.FAILED: "payout_failed",
    _S.UNKNOWN: "payout_unknown",
    _S.CANCELLED: "payout_cancelled",
    # It had failed before.
    _E.RESTORED: None,
    _E.GIVEN_UP: None,
}
"""The signal of each state. Evidence that is listed here has its own signal, or none, whatever the state."""

DEED_OF = {
    _E.APPROVED: "approved",
    _E.RELEASED: "approved",
    _E.CANCELLED: "cancelled",
    _E.GIVEN_UP: "cancelled",
    _E.RETRIED: "retried",
    _E.RETRY_TO_APPROVE: "retried",
    _E.SEEN_SENT: "resolved",
    _E.SEEN_UNSENT: "resolved",
    _E.UNSENT_TO_APPROVE: "resolved",
    _E.RETURNED: "resolved",
    _E.AMENDED: "resolved",
}
"""The deed of each decision of a person."""

RELEASING = frozenset({PayoutStatus.CANCELLED, PayoutStatus.FAILED})
"""With these statuses a refund does not count against the amount that arrived."""

ENDED = RELEASING | {PayoutStatus.COMPLETED}
"""With these statuses nothing more happens by itself."""

LIVE = frozenset(PayoutStatus) - ENDED
"""With these statuses something may still happen."""

PASSED_ON = (PayoutState.REPLACED, PayoutState.CANCELLED)
"""In these states of a refund, another refund may count its money."""

WIPING = frozenset({PayoutStatus.COMPLETED, PayoutStatus.CANCELLED})
"""On the move to one of these statuses a stored account number is replaced by its masked form."""
