"""Reconcile: the only thing that must run. Reads every checkout that is due and delivers what was not delivered."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from flask_paycheckout.attempts import Attempts
from flask_paycheckout.client import PaymentsError
from flask_paycheckout.clock import Clock
from flask_paycheckout.outbox import Delivery, Outbox
from flask_paycheckout.settlement import Settlement

__all__ = ["ReconcileReport", "Reconciler"]

_BATCH = 100
# Late first evidence of an unpicked page wants a second read in the same round, never a third.
_MAX_READS = 2

_log = logging.getLogger("flask_paycheckout")

Progress = Callable[["ReconcileReport"], None]


@dataclass(frozen=True)
class ReconcileReport:
    """What one round did."""

    #: Checkouts whose deposit was read.
    checked: int = 0
    #: Checkouts whose state changed.
    changed: int = 0
    #: Events that reached all their receivers.
    delivered: int = 0
    #: Reads without a usable answer, and events of which a receiver failed.
    failed: int = 0

    @property
    def clean(self) -> bool:
        """Whether everything could be read and delivered."""
        return self.failed == 0

    def __add__(self, other: ReconcileReport) -> ReconcileReport:
        return ReconcileReport(
            self.checked + other.checked,
            self.changed + other.changed,
            self.delivered + other.delivered,
            self.failed + other.failed,
        )


class Reconciler:
    """Runs reconcile rounds for one app."""

    def __init__(self, attempts: Attempts, settlement: Settlement, outbox: Outbox, clock: Clock) -> None:
        self._attempts = attempts
        self._settlement = settlement
        self._outbox = outbox
        self._clock = clock

    def run(self, limit: int | None = None, progress: Progress | None = None) -> ReconcileReport:
        """One round.

        :param limit: at most this many checkouts are read; None for all that are due now.
        :param progress: called with the report so far, after each checkout.
        """
        started = self._clock()
        report = _delivered(self._outbox.deliver_due())
        reads: dict[str, int] = {}
        while limit is None or len(reads) < limit:
            batch = self._next_batch(reads, limit)
            if not batch:
                break
            for checkout_id in batch:
                # Taken over by another process, or moved by a webhook meanwhile: no longer ours to read.
                if self._attempts.claim_read(checkout_id, max(started, self._clock())):
                    report += self._settle(checkout_id)
                reads[checkout_id] = reads.get(checkout_id, 0) + 1
                if progress is not None:
                    progress(report)
        return report

    def _next_batch(self, reads: dict[str, int], limit: int | None) -> list[str]:
        room = _BATCH if limit is None else min(_BATCH, limit - len(reads))
        due = self._attempts.due(self._clock(), room + _BATCH)
        return [checkout_id for checkout_id in due if reads.get(checkout_id, 0) < _MAX_READS][:room]

    def _settle(self, checkout_id: str) -> ReconcileReport:
        before = self._attempts.find(checkout_id)
        try:
            settled = self._settlement.apply(checkout_id, via="reconcile")
        except PaymentsError as error:
            _log.warning("checkout %s could not be read: %s", checkout_id, error)
            return ReconcileReport(checked=1, failed=1)
        except Exception:
            _log.exception("checkout %s could not be settled", checkout_id)
            return ReconcileReport(checked=1, failed=1)
        changed = before is not None and settled.checkout.revision != before.revision
        return ReconcileReport(checked=1, changed=int(changed)) + _delivered(self._outbox.deliver(settled.event_ids))


def _delivered(delivery: Delivery) -> ReconcileReport:
    return ReconcileReport(delivered=delivery.delivered, failed=delivery.failed)
