"""What a shop hooks into. Sender of each: the Flask app. Keywords of each: `order_id`, `checkout`, `event_id`.

Receivers run after the commit that recorded the change, in an application context of their own. What they write
through `db.session`, without committing it, is committed together with the mark that they ran: database effects
happen exactly once. Other effects happen at least once with the same `event_id`, so hand that on as the
idempotency key. A receiver that raises is run again by reconcile, and only it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import CodeType
from typing import Any, TypeVar

from blinker import ANY, NamedSignal

__all__ = [
    "BY_NAME",
    "NEEDS_RECEIVER",
    "checkout_created",
    "note_new_app",
    "order_abandoned",
    "order_paid",
    "order_pending",
    "payment_held",
    "payment_resolved",
]

Function = TypeVar("Function", bound=Callable[..., Any])
# The functions that a receiver consists of, whatever they are closed over.
_Kind = tuple[tuple[str, CodeType], ...]

_HELD_BY_SENDER = "paycheckout_receivers"


class Signal(NamedSignal):
    """A signal that holds its receivers strongly, so that one connected inside a factory is not lost.

    A factory that runs again, as in the tests of a shop, connects its receivers again: each then takes the place of
    the one that an earlier run connected. With several apps at once in one process, connect to one of them:
    `@order_paid.connect_via(app)`.
    """

    def __init__(self, name: str, doc: str | None = None) -> None:
        super().__init__(name, doc)
        #: For each kind of receiver those connected to all apps, each with the number of apps made before it.
        self._connected: dict[_Kind, list[tuple[Callable[..., Any], int]]] = {}

    def connect(self, receiver: Function, sender: Any = ANY, weak: bool = False) -> Function:
        """Call the receiver whenever the signal is sent.

        :param sender: the app whose events the receiver wants; without it, those of every app in the process.
        :param weak: forget the receiver as soon as nobody else holds it.
        """
        if weak:
            return super().connect(receiver, sender, weak=True)
        if sender is not ANY:
            return self._connect_to(sender, receiver)
        super().connect(receiver, sender, weak=False)
        kind = _kind(receiver)
        if kind:
            self._forget(receiver)
            self._connected.setdefault(kind, []).append((receiver, _Apps.made))
            self._drop_earlier(kind)
        return receiver

    @contextmanager
    def connected_to(self, receiver: Callable[..., Any], sender: Any = ANY) -> Iterator[None]:
        """Connect the receiver while the `with` block runs. It takes nobody's place, and nobody takes its."""
        super().connect(receiver, sender, weak=False)
        try:
            yield
        finally:
            self.disconnect(receiver)

    def disconnect(self, receiver: Callable[..., Any], sender: Any = ANY) -> None:
        """Call the receiver no more; with a sender, no more for that one."""
        super().disconnect(receiver, sender)
        if sender is ANY:
            self._forget(receiver)

    def drop_receivers_of_earlier_apps(self) -> None:
        """Keep of each kind of receiver those that were connected last."""
        for kind in self._connected:
            self._drop_earlier(kind)

    def _connect_to(self, sender: Any, receiver: Function) -> Function:
        # Held by the app: with the app its receivers go, and what they are closed over, the app itself often among it.
        held = getattr(sender, "extensions", None)
        try:
            super().connect(receiver, sender, weak=isinstance(held, dict))
        except TypeError:
            return super().connect(receiver, sender, weak=False)
        if isinstance(held, dict):
            held.setdefault(_HELD_BY_SENDER, []).append(receiver)
        return receiver

    def _drop_earlier(self, kind: _Kind) -> None:
        # With a single app there was no factory that ran twice, and none of its receivers may be lost.
        if _Apps.made < 2:
            return
        connected = self._connected[kind]
        newest = max((made for _, made in connected), default=0)
        for receiver in [receiver for receiver, made in connected if made < newest]:
            self.disconnect(receiver)

    def _forget(self, receiver: Callable[..., Any]) -> None:
        kind = _kind(receiver)
        if kind in self._connected:
            self._connected[kind] = [entry for entry in self._connected[kind] if entry[0] != receiver]


class _Apps:
    """How many apps the extension was set up on in this process."""

    made = 0


def note_new_app() -> None:
    """Another app was made: receivers connected from now on take the place of those of earlier ones."""
    _Apps.made += 1
    for signal in BY_NAME.values():
        signal.drop_receivers_of_earlier_apps()


def _kind(receiver: Any) -> _Kind:
    """The code of a receiver, and of the functions that it wraps: decorated receivers differ by what they decorate."""
    if isinstance(receiver, partial):
        return tuple(code for part in (receiver.func, *receiver.args) for code in _kind(part))
    function = getattr(receiver, "__func__", receiver)
    if not hasattr(function, "__code__"):
        function = type(receiver).__call__
    if not hasattr(function, "__code__"):
        return ()
    enclosed = [cell.cell_contents for cell in function.__closure__ or () if _is_full(cell)]
    codes = [part.__code__ for part in (function, *enclosed) if isinstance(getattr(part, "__code__", None), CodeType)]
    # Equal code in two files is two receivers.
    return tuple((code.co_filename, code) for code in codes)


def _is_full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - an empty cell raises
    except ValueError:
        return False
    return True


# The second argument becomes the signal's own docstring, which `pydoc` and `help()` show.

checkout_created = Signal(
    "checkout_created",
    "Sent when an attempt at paying was stored, before the customer sees its URL.",
)

order_pending = Signal(
    "order_pending",
    "Sent when the customer picked a payment method: the deposit exists, the money is not here yet.",
)

order_paid = Signal(
    "order_paid",
    "Sent once per order, ever: the payment was read from the service and agrees with what the order costs.",
)

order_abandoned = Signal(
    "order_abandoned",
    "Sent when no attempt of the order is live, pending, held or paid any more. A late payment can still follow.",
)

payment_held = Signal(
    "payment_held",
    "Sent when money arrived that needs a person. Also passes `reason`: amount_mismatch, order_changed,"
    " order_not_payable or duplicate. `paycheckout.resolve(...)` decides.",
)

payment_resolved = Signal(
    "payment_resolved",
    "Sent when a person decided a held payment, before the `order_paid` or `order_abandoned` that the decision causes."
    " Also passes `accepted`, `by` and `why`. Money that paid no order stays listed until"
    " `paycheckout.mark_paid_back(...)` says what became of it.",
)

BY_NAME: dict[str, Signal] = {
    signal.name: signal
    for signal in (checkout_created, order_pending, order_paid, order_abandoned, payment_held, payment_resolved)
}

NEEDS_RECEIVER = frozenset({"order_paid", "payment_held", "payment_resolved"})
"""The signals of which somebody must hear: their events wait until a process with a receiver delivers them."""
