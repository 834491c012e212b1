"""Limits towards the payments service: each is kept by one process, in bounded memory.

`Breaker` stops calls while the service fails, `ConcurrencyLimit` bounds the web requests that wait for it, `Cooldown`
and `SingleFlight` keep calls about one deposit or order apart, `AccountLimits` adapts the reads of a reconcile round.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Condition, Event, get_ident

from flask_paycheckout.client.per_process import Guarded, PerProcess

# The most accounts, orders or deposits that a limit remembers.
_MOST_KEPT = 10_000


@dataclass(eq=False)
class Call:
    """A call of the service, with what the limits know of it."""

    account: str
    operation: str
    following: bool = False
    """Whether it is another request's, for which this request only waits. One slot is always left for a request that
    calls, or all could wait for each other."""

    probe: bool = False
    """Whether it tries a service that failed before, and is slow from its beginning."""

    since: float = 0.0
    """When it took its slot."""

    @property
    def circuit(self) -> tuple[str, str]:
        """The calls that fail and recover together."""
        return self.account, self.operation


# The circuit breaker

# A single call may fail by chance, and a short failure may hit two calls that are under way.
_FAILURES = 3
# Seconds between two probes: a service that has recovered must be called again within ten seconds.
_WAIT = 5.0


@dataclass
class _Circuit:
    """The failures in a row of one account's calls of one operation."""

    failures: int = 0
    probe: Call | None = None
    """The last probe without an outcome."""

    opens_at: float = 0.0
    """While calls are stopped, the time from which a probe is allowed."""

    @property
    def stopped(self) -> bool:
        return self.failures >= _FAILURES


@dataclass
class Breaker:
    """Stops calls after several failures in a row; then one probe at a time is allowed, until one is answered.

    Each operation of each account has its own circuit, so that none stops another.

    :param probe_lasts: seconds after which a probe without an outcome counts as lost, and another may be sent; longer
        than any call can take.
    :param now: a monotonic clock, in seconds.
    """

    probe_lasts: float
    now: Callable[[], float]
    _state: Guarded[dict[tuple[str, str], _Circuit]] = field(default_factory=lambda: Guarded(dict), init=False)

    def admit(self, call: Call) -> float:
        """Permit a call, of which `answered`, `failed` or `withdrawn` must follow.

        :returns: 0; while calls are stopped, the seconds until one may be permitted again.
        """
        with self._state.held() as circuits:
            circuit = circuits.get(call.circuit)
            if circuit is not None and circuit.stopped:
                now = self.now()
                if now < circuit.opens_at:
                    return circuit.opens_at - now
                call.probe = True
                circuit.probe, circuit.opens_at = call, now + self.probe_lasts
            return 0.0

    def answered(self, call: Call) -> bool:
        """Record an answer in time, which allows calls again; True when they were stopped until now."""
        with self._state.held() as circuits:
            return circuits.pop(call.circuit, _Circuit()).stopped

    def failed(self, call: Call) -> bool:
        """Record a call without an answer in time; True when this one stopped further calls."""
        with self._state.held() as circuits:
            circuit = circuits.setdefault(call.circuit, _Circuit())
            if len(circuits) > _MOST_KEPT:
                del circuits[next(iter(circuits))]
            circuit.failures += 1
            stops = circuit.failures == _FAILURES
            # A call from before the calls were stopped must not delay the next probe.
            if stops or call is circuit.probe:
                circuit.probe, circuit.opens_at = None, self.now() + _WAIT
            return stops

    def withdrawn(self, call: Call) -> None:
        """Note that a call ends, perhaps without an outcome, so that another one may be the probe."""
        with self._state.held() as circuits:
            circuit = circuits.get(call.circuit)
            if circuit is not None and call is circuit.probe:
                circuit.probe, circuit.opens_at = None, self.now()


# Web requests that wait

# The web requests that may wait for one operation of accounts whose calls of it are slow, however many these are.
_WHILE_SLOW = 2
# Seconds after which calls are not quick: a request with time to lose does not wait for a slot then.
_QUICK = 1.0


@dataclass
class ConcurrencyLimit:
    """The slots of one process for web requests that wait for the service, whose threads the shop's other pages miss.

    While calls are answered in time, there may be as many as `most`. Accounts whose calls are slow have two slots for
    each operation and half of all slots, together, so that even many of them leave threads to the others. No account
    takes more than its share of the slots, and no operation that is seldom needed.

    :param most: the slots of a process.
    :param slow_after: seconds after which a call under way is slow.
    :param several_accounts: whether the shop has several accounts.
    :param seldom: operations that have a third of the slots together.
    :param now: a monotonic clock, in seconds.
    """

    most: int
    slow_after: float
    several_accounts: Callable[[], bool]
    seldom: Collection[str]
    now: Callable[[], float]
    _here: PerProcess[tuple[Condition, list[Call]]] = field(
        default_factory=lambda: PerProcess(lambda: (Condition(), [])), init=False
    )

    def take(self, call: Call, patience: float) -> bool:
        """Take a slot for a call, to be given back; False when there is none.

        :param patience: seconds to wait for a slot while calls are quick; 0 for a call that can be left to reconcile,
            which is limited as soon as calls are not quick any more.
        """
        slow_after = self.slow_after if patience else _QUICK
        changed, taken = self._here()
        with changed:
            seconds = 0.0 if self._slow_with(taken, call, _QUICK) else patience
            if not changed.wait_for(lambda: self._has_room(taken, call, slow_after), seconds):
                return False
            call.since = self.now()
            taken.append(call)
            return True

    def give_back(self, call: Call) -> None:
        changed, taken = self._here()
        with changed:
            taken.remove(call)
            changed.notify_all()

    def is_slow(self, account: str, operation: str) -> bool:
        """Whether a call of this operation has been under way for too long."""
        changed, taken = self._here()
        with changed:
            return bool(self._slow_with(taken, Call(account, operation), self.slow_after))

    def _slow_with(self, taken: list[Call], call: Call, after: float) -> list[Call]:
        """The calls of all circuits that are slow; empty where that of this call is not."""
        now = self.now()
        slow = {one.circuit for one in taken if one.probe or now - one.since > after}
        return [one for one in taken if one.circuit in slow] if call.probe or call.circuit in slow else []

    def _has_room(self, taken: list[Call], call: Call, slow_after: float) -> bool:
        shares = [(taken, self.most)]
        if self.several_accounts():
            # Half less one: another account always has more than what one can take.
            shares.append(([one for one in taken if one.account == call.account], self.most // 2 - 1))
        if call.operation in self.seldom:
            shares.append(([one for one in taken if one.operation in self.seldom], self.most // 3))
        slow = self._slow_with(taken, call, slow_after)
        shares.append((slow, self.most // 2))
        shares.append(([one for one in slow if one.operation == call.operation], _WHILE_SLOW))
        return all(_fits(call, group, max(1, share)) for group, share in shares)


def _fits(call: Call, taken: list[Call], share: int) -> bool:
    return len(taken) < share and not (call.following and sum(one.following for one in taken) >= share - 1)


# Calls about one deposit, or one order


@dataclass
class Cooldown:
    """The least time between two calls of one kind about the same deposit or refund that this process makes."""

    length: timedelta
    # The earliest first.
    _state: Guarded[dict[str, datetime]] = field(default_factory=lambda: Guarded(dict), init=False)

    def begin(self, what: str, now: datetime) -> bool:
        """Begin a cool-down; False, with nothing changed, while an earlier one lasts, or too many are remembered."""
        with self._state.held() as begun:
            while begun and not self._left(begun[earliest := next(iter(begun))], now):
                del begun[earliest]
            if len(begun) >= _MOST_KEPT or self._left(begun.get(what), now):
                return False
            # Taken out first, so that it comes last.
            begun.pop(what, None)
            begun[what] = now
            return True

    def begun_at(self, what: str) -> datetime | None:
        """When the last call about it began, if that is still remembered."""
        with self._state.held() as begun:
            return begun.get(what)

    def left(self, what: str, now: datetime) -> float:
        """Seconds until a cool-down ends; 0 when there is none."""
        return self._left(self.begun_at(what), now)

    def _left(self, begun: datetime | None, now: datetime) -> float:
        # A time in the future is from before the clock was set back.
        if begun is None or now < begun:
            return 0.0
        return max(0.0, (begun + self.length - now).total_seconds())


@dataclass(eq=False)
class OngoingCall:
    """A call under way, on which other threads can wait."""

    over: Event = field(default_factory=Event)
    thread: int = field(default_factory=get_ident)
    """The thread that makes the call, and would wait for itself."""

    error: Exception | None = None
    """The error that ended the call, if one did."""


class SingleFlight:
    """At most one call at a time in this process about each deposit, or about each order.

    A request that comes while its deposit is being read does not wait: with a slow service, waiting requests would pile
    up and occupy the shop's threads in spite of the cool-down. A request that comes while its order's checkout is being
    made needs exactly that checkout, and may wait for it.
    """

    def __init__(self) -> None:
        self._here: PerProcess[dict[str, OngoingCall]] = PerProcess(dict)
        self.last_ended: OngoingCall | None = None
        """The call that ended last; while it is the same one, none of this process has ended."""

    @contextmanager
    def join(self, what: str) -> Iterator[tuple[OngoingCall, bool]]:
        """Yield the call under way about `what`, and whether it is the caller's to make, and nobody else's meanwhile.

        The caller's own call ends with the `with` block; an error that leaves the block is kept for those who wait.
        """
        under_way, own = self._here(), OngoingCall()
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
            # Before its place is free, so that whoever takes that knows.
            self.last_ended = own
            del under_way[what]
            own.over.set()


# Reads of reconcile

# One failure may concern a single checkout; failures of three different ones in a row are an outage.
_PROBES = 3
# Each of several accounts may have a quarter of the reads under way, however many accounts there are.
_SHARE = 4


@dataclass
class _Answers:
    """How the reads of one account are answered."""

    failures: int = 0
    """The reads in a row without a reliable answer."""

    answered: bool = False
    """Whether one was answered in this round."""

    window: int = 1
    """The reads that may be under way: one more after each answer, and half after each failure, like TCP's window."""


class AccountLimits:
    """The reads that one process may have under way, of each merchant account, and of all together.

    With several accounts, a read whose answer is late takes no place from the others: it counts for its own account
    only. So a process has twice as many reads under way at most.

    :param most: the upper limit for all accounts together.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._answers: dict[str, _Answers] = {}
        self._under_way: Counter[str] = Counter()
        self._late: Counter[str] = Counter()
        """The reads under way whose answers are late; `_under_way` counts the others."""

        self._working: set[str] = set()
        """The accounts of this round that may have more to read."""

    def begin_round(self, accounts: Collection[str]) -> None:
        """Begin a round that reads deposits of these accounts."""
        if len(self._answers) > _MOST_KEPT:
            self._answers.clear()
        self._under_way.clear()
        self._late.clear()
        self._working.clear()
        self.add(accounts)

    def add(self, accounts: Collection[str]) -> None:
        """Let these accounts take part in the round too; one that failed begins with a single probe."""
        for account in accounts:
            answers = self._answers.setdefault(account, _Answers())
            if account not in self._working and not self._late[account]:
                answers.answered = False
                if answers.failures >= _PROBES:
                    answers.failures, answers.window = _PROBES - 1, 1
        self._working.update(accounts)

    @property
    def has_room(self) -> bool:
        """Whether so many more reads of all accounts may begin now that it is worth a look at each."""
        return self._free >= max(1, self.most // _SHARE // 2)

    def room(self, account: str) -> int:
        """How many more reads of an account may be claimed now, at most half of its limit.

        0 while so few may begin that it is not worth a statement. If one claim took more than half, the places that are
        free soon after would be too few for another one, and stay free.
        """
        if self.closed(account):
            return 0
        size = min(self._answers[account].window, self._share_of(account))
        room = min(size - self._under_way[account] - self._late[account], self._free)
        return min(room, (size + 1) // 2) if room >= max(1, size // 2) else 0

    def troubled(self, account: str) -> bool:
        """Whether the account's last read failed."""
        return self._answers[account].failures > 0

    def closed(self, account: str) -> bool:
        """Whether no further read of an account is worth a try in this round, since it would fail as well.

        After an answer in this round, as many failures are allowed as reads may be under way, so that a few checkouts
        that always fail do not delay the others.
        """
        answers = self._answers.get(account, _Answers())
        return answers.failures >= max(_PROBES, self._share_of(account) if answers.answered else 0)

    def begun(self, account: str) -> None:
        """Count a read as under way until its result is stored."""
        self._under_way[account] += 1

    def late(self, account: str) -> None:
        """Count a read that is under way as one whose answer is late."""
        self._under_way[account] -= 1
        self._late[account] += 1

    def over(self, account: str, *, late: bool) -> None:
        """Count a read as over.

        :param late: whether it was counted as late.
        """
        (self._late if late else self._under_way)[account] -= 1

    def tell(self, account: str, *, answered: bool, late: bool) -> None:
        """Record whether a read got a reliable answer; that there is no such deposit is one too.

        :param late: whether it was counted as late: a few more failures like it would hold up the round.
        """
        answers = self._answers[account]
        if answered:
            answers.failures, answers.answered, answers.window = 0, True, min(answers.window + 1, self.most)
        else:
            answers.failures += _PROBES if late else 1
            answers.window = max(1, answers.window // 2)
        if self.closed(account):
            self.finished(account)

    def finished(self, account: str) -> None:
        """Leave an account's share of the reads to the others, since nothing more of it can be read now."""
        self._working.discard(account)

    @property
    def _free(self) -> int:
        room = self.most - self._under_way.total()
        return min(room, self.most + room - self._late.total())

    def _share_of(self, account: str) -> int:
        """An equal share of the reads, at least a quarter, among this account and those whose answers are not late."""
        late = sum(1 for other, reads in self._late.items() if reads and other != account)
        return max(1, self.most // _SHARE, self.most // max(1, len(self._working) - late))
