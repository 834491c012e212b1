"""Limits on calls to the payments service; each process keeps its own, in bounded memory.

`WebLimits` stops calls while the service fails, and limits the web requests that wait for it. `Cooldown` and
`SingleFlight` limit calls about one deposit or order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Condition, Event, Lock, get_ident

from flask_paycheckout.per_process import PerProcess

# The maximum number of accounts, orders or deposits that a limit remembers.
_MOST_KEPT = 10_000


# The failures in a row that stop calls: one call may fail by chance, and a short failure may hit two concurrent calls.
_FAILURES = 3
# Seconds between two probes: a service that has recovered must be called again within ten seconds.
_WAIT = 5.0
# The web requests that may wait for one operation, over all accounts whose calls of it are slow.
_WHILE_SLOW = 2
# In seconds. While calls take longer, a request does not wait for a slot.
_QUICK = 1.0


@dataclass(eq=False)
class Call:
    """A call to the service, with its state within the limits."""

    account: str
    operation: str
    following: bool = False
    """Whether this request only waits for another request's call. One slot always remains for a request that calls, or
    all requests could wait for each other."""

    probe: bool = False
    """Whether it probes a service that failed before; a probe counts as slow from its beginning."""

    since: float | None = None
    """The time when it took its slot; None without a slot."""

    @property
    def circuit(self) -> tuple[str, str]:
        """The key of the calls that fail and recover together."""
        return self.account, self.operation


@dataclass
class _Circuit:
    """The consecutive failures of one account's calls of one operation."""

    failures: int = 0
    probe: Call | None = None
    """The last probe without an outcome."""

    opens_at: float = 0.0
    """While calls are stopped, the time from which a probe is allowed."""


@dataclass(eq=False)
class WebLimits:
    """Limits of one process on the calls of web requests, which occupy threads that the shop's other pages need.

    After several consecutive failures, calls are stopped; then one probe at a time is allowed, until one is answered.
    Each operation of each account has its own circuit, so that no circuit stops another.

    While calls are answered in time, as many as `most` may wait. All accounts with slow calls together have two slots
    for each operation and half of all slots, so that even many such accounts leave threads to the others. Neither an
    account nor the operations that are seldom needed take more than their share of the slots.

    :param most: the slots of a process.
    :param slow_after: seconds after which a call under way is slow.
    :param probe_lasts: seconds after which a probe without an outcome counts as lost, and another may be sent; longer
        than any call can take.
    :param several_accounts: whether the shop has several accounts.
    :param seldom: operations that have a third of the slots together.
    :param now: a monotonic clock, in seconds.
    """

    most: int
    slow_after: float
    probe_lasts: float
    several_accounts: Callable[[], bool]
    seldom: Collection[str]
    now: Callable[[], float]
    _changed: Condition = field(default_factory=Condition, init=False)
    _taken: list[Call] = field(default_factory=list, init=False)
    _circuits: dict[tuple[str, str], _Circuit] = field(default_factory=dict, init=False)

    def admit(self, call: Call) -> float:
        """Permit a call, after which `answered`, `failed` or `end` must be called.

        :returns: 0; while calls are stopped, the seconds until a call may be permitted again.
        """
        with self._changed:
            circuit = self._circuits.get(call.circuit)
            if circuit is not None and circuit.failures >= _FAILURES:
                now = self.now()
                if now < circuit.opens_at:
                    return circuit.opens_at - now
                call.probe = True
                circuit.probe, circuit.opens_at = call, now + self.probe_lasts
            return 0.0

    def take(self, call: Call, patience: float, now: float) -> bool:
        """Take a slot for a call, until its `end`; False if no slot is free.

        :param patience: seconds to wait for a slot while calls are quick; 0 for a call that reconcile can make later,
            which is limited as soon as calls are no longer quick.
        """
        slow_after = self.slow_after if patience else _QUICK
        with self._changed:
            if not self._has_room(call, slow_after, now):
                seconds = 0.0 if self._slow_with(call, _QUICK, now) else patience
                if not self._changed.wait_for(lambda: self._has_room(call, slow_after, self.now()), seconds):
                    return False
                now = self.now()
            call.since = now
            self._taken.append(call)
            return True

    def answered(self, call: Call) -> bool:
        """Record an answer in time, which allows calls again; True if they were stopped until now."""
        with self._changed:
            circuit = self._circuits.pop(call.circuit, None)
            return circuit is not None and circuit.failures >= _FAILURES

    def failed(self, call: Call) -> bool:
        """Record a call without an answer in time; True if this failure stops further calls."""
        with self._changed:
            circuit = self._circuits.setdefault(call.circuit, _Circuit())
            if len(self._circuits) > _MOST_KEPT:
                del self._circuits[next(iter(self._circuits))]
            circuit.failures += 1
            stops = circuit.failures == _FAILURES
            # A call that began before calls were stopped must not delay the next probe.
            if stops or call is circuit.probe:
                circuit.probe, circuit.opens_at = None, self.now() + _WAIT
            return stops

    def end(self, call: Call) -> None:
        """End a call, perhaps without an outcome, so that another call may take its slot, or be the probe."""
        with self._changed:
            if call.since is not None:
                call.since = None
                self._taken.remove(call)
                self._changed.notify_all()
            call.probe, circuit = False, self._circuits.get(call.circuit)
            if circuit is not None and call is circuit.probe:
                circuit.probe, circuit.opens_at = None, self.now()

    def is_slow(self, call: Call) -> bool:
        """Whether a call of its circuit has been under way for too long."""
        with self._changed:
            return bool(self._slow_with(call, self.slow_after, self.now()))

    def _slow_with(self, call: Call, after: float, now: float) -> list[Call]:
        """The calls of all slow circuits; empty if this call's circuit is not slow."""
        slow = {other.circuit for other in self._taken if other.probe or now - (other.since or now) > after}
        return [other for other in self._taken if other.circuit in slow] if call.probe or call.circuit in slow else []

    def _has_room(self, call: Call, slow_after: float, now: float) -> bool:
        running = self._taken
        if not (running or call.following):
            return True
        slow = self._slow_with(call, slow_after, now)
        shares = [(running, self.most), (slow, self.most // 2)]
        shares.append(([other for other in slow if other.operation == call.operation], _WHILE_SLOW))
        if self.several_accounts():
            # Half of the slots less one, so that other accounts always have more slots than one account can take.
            shares.append(([other for other in running if other.account == call.account], self.most // 2 - 1))
        if call.operation in self.seldom:
            shares.append(([other for other in running if other.operation in self.seldom], self.most // 3))
        return all(_fits(call, group, max(1, share)) for group, share in shares)


def _fits(call: Call, running: list[Call], share: int) -> bool:
    return len(running) < share and not (call.following and sum([other.following for other in running]) >= share - 1)


# Calls about one deposit, or one order


@dataclass
class Cooldown:
    """The minimum time between two calls of this process of one kind about the same deposit or refund."""

    length: timedelta
    # The earliest first.
    _here: PerProcess[tuple[Lock, dict[str, datetime]]] = field(
        default_factory=lambda: PerProcess(lambda: (Lock(), {})), init=False
    )

    def begin(self, what: str, now: datetime) -> bool:
        """Begin a cool-down; False, without a change, while an earlier one lasts, or too many are remembered."""
        lock, begun = self._here()
        with lock:
            while begun and not self._left(begun[earliest := next(iter(begun))], now):
                del begun[earliest]
            if len(begun) >= _MOST_KEPT or self._left(begun.get(what), now):
                return False
            # Removed first, so that it is last in the order of insertion.
            begun.pop(what, None)
            begun[what] = now
            return True

    def begun_at(self, what: str) -> datetime | None:
        """The time when the last call about it began; None if it is not remembered."""
        lock, begun = self._here()
        with lock:
            return begun.get(what)

    def left(self, what: str, now: datetime) -> float:
        """Seconds until a cool-down ends; 0 when there is none."""
        return self._left(self.begun_at(what), now)

    def _left(self, begun: datetime | None, now: datetime) -> float:
        # A time in the future means that the clock was set back since.
        if begun is None or now < begun:
            return 0.0
        return max(0.0, (begun + self.length - now).total_seconds())


@dataclass(eq=False)
class OngoingCall:
    """A call under way, for which other threads can wait."""

    over: Event = field(default_factory=Event)
    thread: int = field(default_factory=get_ident)
    """The thread that makes the call; it must not wait for itself."""

    error: Exception | None = None
    """The error that ended the call, if any."""


class SingleFlight:
    """At most one call at a time in this process about each deposit, or about each order.

    A request that arrives while its deposit is being read does not wait: with a slow service, waiting requests would
    pile up and occupy the shop's threads in spite of the cool-down. A request that arrives while its order's checkout
    is being created needs exactly that checkout, and may wait for it.
    """

    def __init__(self) -> None:
        # Keyed by process id, because a forked process makes none of its parent's calls.
        self._under_way: dict[int, dict[str, OngoingCall]] = {}
        self.last_ended: OngoingCall | None = None
        """The call that ended last; while it is the same object, no other call of this process has ended."""

    @contextmanager
    def join(self, what: str) -> Iterator[tuple[OngoingCall, bool]]:
        """Yield the call under way about `what`, and whether the caller must make it, exclusively.

        The caller's own call ends with the `with` block; an error that leaves the block is kept for waiting threads.
        """
        under_way, own = self._under_way.setdefault(os.getpid(), {}), OngoingCall()
        ongoing = under_way.setdefault(what, own)
        if ongoing is not own:
            yield ongoing, False
            return
        try:
            yield own, True
        except Exception as error:
            own.error = error
            raise
        finally:
            # Set before the key is free, so that the next caller sees this call.
            self.last_ended = own
            del under_way[what]
            own.over.set()
