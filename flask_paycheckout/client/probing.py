"""One signed read of a deposit that cannot exist: are the credentials taken, and what time is it there?"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flask_paycheckout.client.operations import Operation

if TYPE_CHECKING:
    from flask_paycheckout.client.calls import Caller
    from flask_paycheckout.client.errors import RequestRefused

__all__ = ["Probe", "probe"]

# Sent once: a second answer would say nothing about the time of the first request.
_READ = Operation("GET", "/v1/deposit/{id}")


@dataclass(frozen=True, slots=True)
class Probe:
    """The service's response to a signed read of a deposit that cannot exist.

    :ivar refusal: its answer: `NotFound` when the signature was taken, `Unauthorized` when it was not.
    :ivar clock_ahead: seconds by which this machine's clock is at least ahead of the service's; negative when it is
        behind, 0 when the two may agree, None when the answer has no time. The service tells whole seconds.
    """

    refusal: RequestRefused | None
    clock_ahead: float | None


def probe(caller: Caller) -> Probe:
    """Ask, once.

    :raises PaymentsError: there was no usable answer.
    """
    wall = caller.retries.pace.wall
    sent = wall()
    refusal, date = caller.outcome(_READ, ids={"id": f"no-such-deposit-{uuid.uuid4().hex}"})
    return Probe(refusal, None if date is None else _ahead(date, sent, wall()))


def _ahead(date: float, sent: float, received: float) -> float:
    """Seconds by which the interval [sent, received] misses the second that begins at `date`."""
    return max(0.0, sent - (date + 1)) or min(0.0, received - date)
