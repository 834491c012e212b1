"""The receivers of a signal: in the order of their connection, with a stable name each, and whether they are atomic."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import ref

from flask_paycheckout.signals import ASKS_FOR_A_DEED, BY_NAME

__all__ = [
    "Function",
    "Receiver",
    "is_atomic",
    "is_unheard",
    "mark_atomic",
    "nobody_listens",
    "receivers_of",
    "unheard_signals",
]

_ATOMIC = "__paycheckout_atomic__"

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Receiver:
    """One receiver of a signal."""

    name: str
    """The same in every process of the shop, and so fit to be stored."""

    function: Callable[..., Any]
    atomic: bool
    """Runs in the transaction that moves the checkout, not after it."""


def receivers_of(signal_name: str, sender: object) -> list[Receiver]:
    """The receivers connected to a signal for this sender, in the order of their connection."""
    signal = BY_NAME[signal_name]
    connected = list(signal.receivers_for(sender))
    # The signal's own iteration does not keep the order of connection.
    held = (kept() if isinstance(kept, ref) else kept for kept in signal.receivers.values())
    found: list[Receiver] = []
    seen: dict[str, int] = {}
    for function in (function for function in held if function in connected):
        name = _name_of(function)
        seen[name] = seen.get(name, 0) + 1
        unique = name if seen[name] == 1 else f"{name}#{seen[name]}"
        found.append(Receiver(unique, function, is_atomic(function)))
    return found


def is_unheard(signal_name: str, sender: object, allowed: Collection[str]) -> bool:
    """Whether somebody must hear of the signal's events, and nobody in this process does.

    :param allowed: the signals that the shop says nobody need hear.
    """
    if signal_name not in ASKS_FOR_A_DEED or signal_name in allowed:
        return False
    return next(BY_NAME[signal_name].receivers_for(sender), None) is None


def unheard_signals(sender: object, allowed: Collection[str]) -> list[str]:
    """The signals of which somebody must hear, and nobody in this process does."""
    return [name for name in BY_NAME if is_unheard(name, sender, allowed)]


def nobody_listens(signal_name: str) -> str:
    """The words for an event that waits for a process with a receiver."""
    return (
        f"nobody listens to {signal_name} in the process that should deliver it. Connect a receiver where every process"
        f" of the shop imports it, or list '{signal_name}' in PAYCHECKOUT_UNHEARD"
    )


def mark_atomic(function: Function) -> Function:
    """Mark a receiver as one that runs in the transaction that moves the checkout.

    :raises TypeError: the receiver is an object that takes no attribute.
    """
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


def _name_of(function: Callable[..., Any]) -> str:
    if hasattr(function, "__qualname__"):
        return f"{function.__module__}.{function.__qualname__}"
    return f"{type(function).__module__}.{type(function).__qualname__}"
