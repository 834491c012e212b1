"""The signals. Each has the Flask app as its sender and the keywords `order_id`, `checkout` and `event_id`.

Signals of payouts have `payout` instead of `checkout`, and an `order_id` of None if the payout belongs to no order;
signals of payment requests have `request` instead of `order_id`.

Receivers run after the commit that recorded the change, in a separate application context. Changes that they make
through `db.session`, without committing, are committed together with the mark "delivered": such effects happen exactly
once. Other effects happen at least once with the same `event_id`; pass it on as an idempotency key. If a receiver
raises an error, reconcile runs that receiver again, and no other receiver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import CodeType
from typing import Any

from blinker import ANY, NamedSignal

from flask_paycheckout.shop_functions import Function, refuse_generator

# The code of the functions that a receiver consists of, without the values in their closures.
_Kind = tuple[tuple[str, CodeType], ...]

_HELD_BY_SENDER = "paycheckout_receivers"


class Signal(NamedSignal):
    """A signal that keeps strong references, so that a receiver connected inside an app factory is not lost.

    A factory that runs again, as in a shop's tests, connects its receivers again; each replaces the receiver of the
    earlier run. With several apps in one process, connect to one app: `@order_paid.connect_via(app)`.
    """

    def __init__(self, name: str, doc: str | None = None) -> None:
        super().__init__(name, doc)
        # By kind, the receivers connected to all apps, each with the number of apps made before it.
        self._connected: dict[_Kind, list[tuple[Callable[..., Any], int]]] = {}

    def connect(self, receiver: Function, sender: Any = ANY, weak: bool = False) -> Function:
        """Call the receiver whenever the signal is sent.

        :param sender: the app whose events to receive; by default every app in the process.
        :param weak: keep only a weak reference.
        :raises TypeError: the receiver is a generator function, whose call would run nothing.
        """
        refuse_generator(receiver)
        if weak:
            return super().connect(receiver, sender, weak=True)
        if sender is not ANY:
            return self._connect_to(sender, receiver)
        super().connect(receiver, sender, weak=False)
        kind = _kind(receiver)
        if kind:
            self._forget(receiver)
            self._connected.setdefault(kind, []).append((receiver, _Apps.made))
            self.drop_receivers_of_earlier_apps()
        return receiver

    @contextmanager
    def connected_to(self, receiver: Callable[..., Any], sender: Any = ANY) -> Iterator[None]:
        """Connect the receiver while the `with` block runs; it replaces no receiver, and is not replaced."""
        super().connect(refuse_generator(receiver), sender, weak=False)
        try:
            yield
        finally:
            self.disconnect(receiver)

    def disconnect(self, receiver: Callable[..., Any], sender: Any = ANY) -> None:
        """Stop calling the receiver; with a sender, only for that sender."""
        super().disconnect(receiver, sender)
        if sender is ANY:
            self._forget(receiver)

    def drop_receivers_of_earlier_apps(self) -> None:
        """Disconnect receivers that a later run of the app factory connected again."""
        # With a single app no factory ran twice, so no receiver has been replaced.
        if _Apps.made < 2:
            return
        for connected in list(self._connected.values()):
            newest = max((made for _, made in connected), default=0)
            for receiver in [receiver for receiver, made in connected if made < newest]:
                self.disconnect(receiver)

    def _connect_to(self, sender: Any, receiver: Function) -> Function:
        # The app holds the reference, so that its receivers, whose closures often refer to the app, are freed with it.
        extensions = getattr(sender, "extensions", None)
        try:
            super().connect(receiver, sender, weak=isinstance(extensions, dict))
        except TypeError:
            return super().connect(receiver, sender, weak=False)
        if isinstance(extensions, dict):
            extensions.setdefault(_HELD_BY_SENDER, []).append(receiver)
        return receiver

    def _forget(self, receiver: Callable[..., Any]) -> None:
        kind = _kind(receiver)
        if kind in self._connected:
            self._connected[kind] = [entry for entry in self._connected[kind] if entry[0] != receiver]


class _Apps:
    """The number of apps in this process that the extension was set up on."""

    made = 0


def note_new_app() -> None:
    """Count another app; receivers connected from now on replace earlier apps' receivers."""
    _Apps.made += 1
    for signal in BY_NAME.values():
        signal.drop_receivers_of_earlier_apps()


def _kind(receiver: Any) -> _Kind:
    """The code of a receiver and of the functions that it wraps, which distinguish receivers with one decorator."""
    if isinstance(receiver, partial):
        return tuple(code for part in (receiver.func, *receiver.args) for code in _kind(part))
    function = getattr(receiver, "__func__", receiver)
    if not hasattr(function, "__code__"):
        function = type(receiver).__call__
    if not hasattr(function, "__code__"):
        return ()
    enclosed = [cell.cell_contents for cell in function.__closure__ or () if _is_full(cell)]
    codes = [part.__code__ for part in (function, *enclosed) if isinstance(getattr(part, "__code__", None), CodeType)]
    # With the file, since equal code in two files belongs to two receivers.
    return tuple((code.co_filename, code) for code in codes)


def _is_full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - an empty cell raises
    except ValueError:
        return False
    return True


# The second argument becomes the signal's docstring, which `pydoc` and `help()` show.

checkout_created = Signal(
    "checkout_created",
    "Sent when a checkout was stored, before the customer sees its URL.",
)

order_pending = Signal(
    "order_pending",
    "Sent when the customer picked a payment method: the deposit exists, and the money has not arrived yet.",
)

order_paid = Signal(
    "order_paid",
    "Sent exactly once per order: the payment was read from the service and agrees with the order's total, or reaches"
    " it together with the parts before.",
)

order_part_paid = Signal(
    "order_part_paid",
    "Sent when a part of an order's total has arrived. Also passes `paid` and `left`, as Decimals: the sum of the"
    " parts less their refunds, and the rest to pay.",
)

order_abandoned = Signal(
    "order_abandoned",
    "Sent when no checkout of the order is created, pending, part, held or paid any more. A late payment can still"
    " follow.",
)

payment_held = Signal(
    "payment_held",
    "Sent when money arrived that needs a person's decision, by `paycheckout.resolve(...)`. Also passes `reason`:"
    " amount_mismatch, duplicate, order_changed, order_not_payable or order_total_failed. Also with the reason excess,"
    " after `order_paid`, when parts exceed the order's current total.",
)

payment_resolved = Signal(
    "payment_resolved",
    "Sent when a person decided about a held payment, before the `order_paid` or `order_abandoned` that the decision"
    " causes."
    " Also passes `accepted`, `by` and `why`. Money that paid no order stays listed until it is refunded, or"
    " `paycheckout.keep(...)` records that it is kept.",
)

payment_reversed = Signal(
    "payment_reversed",
    "Sent when the service no longer reports a received payment as completed. The checkout's state stays, the books"
    " reverse the payment, and `checkout.taken_back` has the amount.",
)

payment_reminder = Signal(
    "payment_reminder",
    "Sent at each time of PAYCHECKOUT_REMIND_AFTER at which an order still waits for its payment. Also passes `number`,"
    " from 1.",
)

request_paid = Signal(
    "request_paid",
    "Sent once when a payment request is paid. Passes `request`, `checkout` and `event_id`.",
)

request_reminder = Signal(
    "request_reminder",
    "Sent at each time of PAYCHECKOUT_REMIND_AFTER at which a payment request still waits for its payment. Passes"
    " `request`, `number`, from 1, and `event_id`.",
)

claim_wanted = Signal(
    "claim_wanted",
    "Sent when a refund or payout waits for its receiver to enter a destination. Also passes `url`, the link for the"
    " receiver.",
)

refund_claimed = Signal(
    "refund_claimed",
    "Sent each time a receiver enters the destination of a refund or payout, which then waits for a person's approval.",
)

payout_sent = Signal(
    "payout_sent",
    "Sent when the service has accepted a payout or refund, whether a response, a lookup or a person reports it. A"
    " token transfer ends here.",
)

payout_completed = Signal(
    "payout_completed",
    "Sent when the service reports a bank transfer as completed.",
)

payout_failed = Signal(
    "payout_failed",
    "Sent when the service refused a payout, or reports it as failed: nothing was paid."
    " `paycheckout.retry_payout(...)` sends it again.",
)

payout_cancelled = Signal(
    "payout_cancelled",
    "Sent when a person cancelled a payout or refund before it was sent, or when its receiver did not enter a"
    " destination in time.",
)

payout_unknown = Signal(
    "payout_unknown",
    "Sent when it is unknown whether a payout was sent. A person checks with the service, and records the outcome with"
    " `paycheckout.resolve_payout(...)`.",
)

BY_NAME: dict[str, Signal] = {
    signal.name: signal
    for signal in (
        checkout_created,
        order_pending,
        order_part_paid,
        order_paid,
        order_abandoned,
        payment_held,
        payment_resolved,
        payment_reversed,
        payment_reminder,
        request_paid,
        request_reminder,
        claim_wanted,
        refund_claimed,
        payout_sent,
        payout_completed,
        payout_failed,
        payout_cancelled,
        payout_unknown,
    )
}

NEEDS_RECEIVER = "order_paid"
"""The signal that needs a receiver, because a shop learns of payments by it; other signals need none."""
