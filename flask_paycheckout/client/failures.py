"""What a failed attempt tells the caller: the error with the knowledge of its operation, and without secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask_paycheckout.client.errors import (
    OutcomeUnknown,
    PaymentsError,
    RequestRefused,
    ServiceFault,
    TransportFailed,
    Unauthorized,
)
from flask_paycheckout.client.hidden import Hidden, hide
from flask_paycheckout.client.operations import Access

if TYPE_CHECKING:
    from flask_paycheckout.client.operations import Operation

__all__ = ["advised", "judge", "masked", "unknown"]


def masked(failed: TransportFailed, secrets: tuple[Hidden, ...]) -> TransportFailed:
    """The failure without what was sent: a transport of the caller's own may quote it."""
    message = hide(failed.message or "", secrets)
    return TransportFailed(failed.operation, message, failed.retry_after, failed.request_sent)


def unknown(operation: Operation, failed: TransportFailed, references: tuple[str, ...]) -> TransportFailed:
    """The failure, as `OutcomeUnknown` when money may have moved."""
    if not operation.may_move_money or not failed.request_sent:
        return failed
    return OutcomeUnknown(
        failed.operation, failed.message, failed.retry_after, references=references, lookup=operation.lookup
    )


def judge(operation: Operation, failure: PaymentsError) -> None:
    """Correct `retryable` by what only the operation knows."""
    if operation.repeatable and isinstance(failure, (TransportFailed, ServiceFault)):
        failure.retryable = True
    if operation.access is Access.OPEN and isinstance(failure, Unauthorized):
        # The call itself carried the credentials.
        failure.retryable = False


def advised(operation: Operation, refused: RequestRefused, references: tuple[str, ...]) -> RequestRefused:
    """The refusal; with the advice how to look it up when the service failed while money may have moved."""
    if not operation.may_move_money or not isinstance(refused, ServiceFault):
        return refused
    return ServiceFault(
        refused.operation,
        refused.status_code,
        refused.error,
        refused.message,
        refused.retry_after,
        references,
        operation.lookup,
    )
