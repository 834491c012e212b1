"""Circuit breaker: after failures in a row the service is not asked for a while, then by one probe at a time. Pure.

States are kept per process and per key, so that several merchant accounts fail by themselves. A process made by a fork
begins with closed circuits: it takes no lock over that another thread of its parent may hold.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

__all__ = ["Admission", "Breaker"]

# One call may fail by chance, and two calls may be under way when the service fails for a moment.
_FAILURES = 3
# Seconds until the first probe, how much longer each further wait is, and the longest: a service that is back must be
# asked again within ten seconds.
_FIRST_WAIT, _GROWTH, _LONGEST_WAIT = 5.0, 1.3, 8.0


@dataclass(frozen=True)
class Admission:
    """Permission for one call; goes back to the breaker with what became of the call."""

    probe: bool = False


@dataclass
class _Circuit:
    lock: Lock = field(default_factory=Lock)
    failures: int = 0
    """Failures in a row without an answer between."""

    wait: float = _FIRST_WAIT
    """How long the circuit stays open before a probe."""

    probe_from: float = 0.0
    """When a probe may go; meaningful while open."""

    probe: Admission | None = None
    """The probe under way, and until when it keeps others from trying."""

    probe_until: float = 0.0

    @property
    def open(self) -> bool:
        return self.failures >= _FAILURES


class Breaker:
    """Decides whether a call may be made now.

    :param probe_lasts: seconds after which a probe that was never heard of again no longer keeps another from going;
        longer than a call can take.
    :param now: seconds that only move forward.
    """

    def __init__(self, probe_lasts: float, now: Callable[[], float] = time.monotonic) -> None:
        self._probe_lasts = probe_lasts
        self._now = now
        self._circuits: dict[tuple[int, str], _Circuit] = {}

    def admit(self, key: str = "") -> Admission | None:
        """Permission for one call, to be given back by `answered`, `failed` or `withdrawn`; None: not now."""
        circuit = self._circuit(key)
        with circuit.lock:
            if not circuit.open:
                return Admission()
            now = self._now()
            if now < circuit.probe_from or (circuit.probe is not None and now < circuit.probe_until):
                return None
            circuit.probe, circuit.probe_until = Admission(probe=True), now + self._probe_lasts
            return circuit.probe

    def answered(self, key: str = "") -> bool:
        """The service answered: calls may be made. Gives whether they were stopped until now."""
        circuit = self._circuit(key)
        with circuit.lock:
            was_open = circuit.open
            circuit.failures, circuit.wait, circuit.probe = 0, _FIRST_WAIT, None
            return was_open

    def failed(self, admission: Admission, key: str = "") -> bool:
        """There was no answer to this call. Gives whether this stopped further calls."""
        circuit = self._circuit(key)
        with circuit.lock:
            was_open = circuit.open
            circuit.failures += 1
            if admission is circuit.probe:
                circuit.wait, circuit.probe = min(circuit.wait * _GROWTH, _LONGEST_WAIT), None
            elif was_open or not circuit.open:
                # Either too few, or a call that began before the circuit opened: the next probe need not wait for it.
                return False
            circuit.probe_from = self._now() + circuit.wait
            return not was_open

    def withdrawn(self, admission: Admission, key: str = "") -> None:
        """The call was not made after all: another one may be the probe."""
        circuit = self._circuit(key)
        with circuit.lock:
            if admission is circuit.probe:
                circuit.probe = None

    def wait(self, key: str = "") -> float:
        """Seconds until it is worthwhile to ask for permission again; 0 while calls may be made."""
        circuit = self._circuit(key)
        with circuit.lock:
            if not circuit.open:
                return 0.0
            until = circuit.probe_from if circuit.probe is None else circuit.probe_until
            return max(0.0, until - self._now())

    def _circuit(self, key: str) -> _Circuit:
        found = self._circuits.get((os.getpid(), key))
        # setdefault and not a lock: a lock may be held by another thread at the moment of a fork.
        return found or self._circuits.setdefault((os.getpid(), key), _Circuit())
