"""Circuit breaker: after several failures in a row calls stop for a while, then one probe at a time is allowed. Pure.

Circuits are kept per process and per key, so that one merchant account does not stop another. A forked process begins
with closed circuits, since it could inherit a lock that a thread of its parent holds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from threading import Lock

import msgspec

__all__ = ["Admission", "Breaker"]

# A single call may fail by chance, and a short failure may hit two calls that are under way.
_FAILURES = 3
# Seconds until the first probe, the growth of each further wait, and the longest one: a service that has recovered must
# be called again within ten seconds.
_FIRST_WAIT, _GROWTH, _LONGEST_WAIT = 5.0, 1.3, 8.0


class Admission(msgspec.Struct, frozen=True):
    """Permission for one call, to be returned to the breaker together with the call's outcome."""

    probe: bool = False


class _Circuit(msgspec.Struct):
    lock: Lock = msgspec.field(default_factory=Lock)
    failures: int = 0
    """The number of failures in a row."""

    wait: float = _FIRST_WAIT
    """Seconds that the circuit stays open before the next probe."""

    probe_from: float = 0.0
    """The earliest time of the next probe, while the circuit is open."""

    probe: Admission | None = None
    """The probe under way."""

    probe_until: float = 0.0
    """The time until which the probe under way blocks another one."""

    @property
    def open(self) -> bool:
        return self.failures >= _FAILURES


class Breaker:
    """Decides whether a call may be made now.

    :param probe_lasts: seconds after which a probe without an outcome counts as lost, and another may be sent; longer
        than any call can take.
    :param now: a monotonic clock, in seconds.
    """

    def __init__(self, probe_lasts: float, now: Callable[[], float] = time.monotonic) -> None:
        self._probe_lasts = probe_lasts
        self._now = now
        self._circuits: dict[tuple[int, str], _Circuit] = {}

    def admit(self, key: str = "") -> Admission | None:
        """Permission for one call, returned by `answered`, `failed` or `withdrawn`; None while calls are stopped."""
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
        """Record that the service answered, which allows calls again; True when they were stopped until now."""
        circuit = self._circuit(key)
        with circuit.lock:
            was_open = circuit.open
            circuit.failures, circuit.wait, circuit.probe = 0, _FIRST_WAIT, None
            return was_open

    def failed(self, admission: Admission, key: str = "") -> bool:
        """Record that a call got no answer; True when this one stopped further calls."""
        circuit = self._circuit(key)
        with circuit.lock:
            was_open = circuit.open
            circuit.failures += 1
            if admission is circuit.probe:
                circuit.wait, circuit.probe = min(circuit.wait * _GROWTH, _LONGEST_WAIT), None
            elif was_open or not circuit.open:
                # Too few failures yet, or a call from before the circuit opened, which must not delay the next probe.
                return False
            circuit.probe_from = self._now() + circuit.wait
            return not was_open

    def withdrawn(self, admission: Admission, key: str = "") -> None:
        """Return a permission unused, so that another call may be the probe."""
        circuit = self._circuit(key)
        with circuit.lock:
            if admission is circuit.probe:
                circuit.probe = None

    def wait(self, key: str = "") -> float:
        """Seconds until permission may be given again; 0 while calls are allowed."""
        circuit = self._circuit(key)
        with circuit.lock:
            if not circuit.open:
                return 0.0
            until = circuit.probe_from if circuit.probe is None else circuit.probe_until
            return max(0.0, until - self._now())

    def _circuit(self, key: str) -> _Circuit:
        found = self._circuits.get((os.getpid(), key))
        # Atomic `setdefault` instead of a lock: another thread could hold the lock at the moment of a fork.
        return found or self._circuits.setdefault((os.getpid(), key), _Circuit())
