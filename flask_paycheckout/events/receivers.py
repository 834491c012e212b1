"""The receivers of a signal in the order of their connection, each with a stable name and its `atomic` mark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import ref

import msgspec

from flask_paycheckout.parts import Parts
from flask_paycheckout.shop_functions import Function, name_of, refuse_generator
from flask_paycheckout.signals import BY_NAME, NEEDS_RECEIVER

NOBODY_LISTENS = "nobody listens"
"""The beginning of the error of an event whose signal has no receiver."""

_ATOMIC = "__paycheckout_atomic__"


class Receiver(msgspec.Struct, frozen=True):
    """One receiver of a signal."""

    name: str
    """The receiver's dotted name, equal in every process of the shop, so that it can be stored."""

    function: Callable[..., Any]
    atomic: bool
    """Whether it runs in the transaction that moves the checkout, instead of after it."""


@dataclass(frozen=True)
class Receivers:
    """The receivers that are connected in this process for one app."""

    parts: Parts

    def of(self, signal_name: str) -> list[Receiver]:
        """The receivers of a signal, in the order of their connection."""
        signal = BY_NAME[signal_name]
        connected = list(signal.receivers_for(self.parts.app))
        # A transaction covers one database: with two, atomic receivers run after the commit like all others.
        one_database = not self.parts.settings.separate_database
        # `receivers_for` does not keep the order of connection; `receivers` does.
        in_order = (kept() if isinstance(kept, ref) else kept for kept in signal.receivers.values())
        found: list[Receiver] = []
        named: Counter[str] = Counter()
        for function in (function for function in in_order if function in connected):
            name = name_of(function)
            named[name] += 1
            unique = name if named[name] == 1 else f"{name}#{named[name]}"
            found.append(Receiver(unique, function, one_database and is_atomic(function)))
        return found

    def is_unheard(self, signal_name: str) -> bool:
        """Whether the signal needs a receiver, which PAYCHECKOUT_UNHEARD may waive, and has none in this process."""
        if signal_name not in NEEDS_RECEIVER or signal_name in self.parts.settings.unheard:
            return False
        return next(BY_NAME[signal_name].receivers_for(self.parts.app), None) is None

    def unheard(self) -> list[str]:
        """The signals that need a receiver and have none in this process."""
        return [name for name in BY_NAME if self.is_unheard(name)]


def nobody_listens(signal_name: str) -> str:
    """The message for an event that waits for a process with a receiver."""
    return (
        f"{NOBODY_LISTENS} to {signal_name} in the process that should deliver it. Connect a receiver where every"
        f" process of the shop imports it, or list '{signal_name}' in PAYCHECKOUT_UNHEARD"
    )


def mark_atomic(function: Function) -> Function:
    """Mark a receiver to be run in the transaction that moves the checkout.

    :raises TypeError: the receiver is an object without settable attributes, or a generator function.
    """
    refuse_generator(function)
    marked: Any = getattr(function, "__func__", function)
    try:
        setattr(marked, _ATOMIC, True)
    except AttributeError:
        raise TypeError(
            f"{type(function).__name__} cannot be marked as atomic, since it takes no attributes."
            " Decorate a function with @paycheckout.atomic, and let it call this object."
        ) from None
    return function


def is_atomic(function: Callable[..., Any]) -> bool:
    """Whether a receiver was marked with `mark_atomic`."""
    return getattr(function, _ATOMIC, False) is True
