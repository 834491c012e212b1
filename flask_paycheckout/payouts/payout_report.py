"""The counts of one round of payouts. Pure."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PayoutReport"]


@dataclass(frozen=True)
class PayoutReport:
    """The counts of one round of sending, looking up and reading payouts."""

    sent: int = 0
    """The number of payouts that the service has taken."""

    completed: int = 0
    """The number of bank transfers that the service has completed."""

    failed: int = 0
    """The number of payouts that the service refused, or that have failed there."""

    unknown: int = 0
    """The number of payouts that a person has to look at, since nobody knows whether they were sent."""

    left: int = 0
    """The number of payouts that are still ready to be sent, for instance because there is no access token."""

    failed_calls: int = 0
    """The number of calls without a usable answer, and of refusals."""

    @property
    def clean(self) -> bool:
        """Whether every call was answered, and no payout failed or became unknown."""
        return not (self.failed or self.unknown or self.failed_calls)

    @property
    def changed(self) -> bool:
        """Whether a payout has reached another state."""
        return bool(self.sent or self.completed or self.failed or self.unknown)

    def __add__(self, later: PayoutReport) -> PayoutReport:
        """The counts of this round and of a later one, whose `left` counts."""
        return PayoutReport(
            self.sent + later.sent,
            self.completed + later.completed,
            self.failed + later.failed,
            self.unknown + later.unknown,
            later.left,
            self.failed_calls + later.failed_calls,
        )
