"""Functions of the shop, such as receivers and callbacks: all are called in one way, which checks their result."""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, NamedTuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])
Value = TypeVar("Value")

CallShop = Callable[..., Any]
"""Calls a function of the shop with the arguments after it, and returns what it returned."""


class Door(NamedTuple):
    """The way in which a person acts now."""

    name: str = "call"
    """`page`, `command` or `call`, which is code of the shop."""

    by: str = ""
    """The person at the page, or the system's user who runs the command; empty for a call."""

    viewed: Callable[[], object] = lambda: None
    """Records that this person views personal data."""


CALL = Door()

_door: ContextVar[Door] = ContextVar("flask_paycheckout_door", default=CALL)


@contextmanager
def through(door: Door) -> Iterator[None]:
    """Record deeds inside the `with` block as done through this door."""
    token = _door.set(door)
    try:
        yield
    finally:
        _door.reset(token)


def present_door() -> Door:
    """The door through which a person acts now."""
    return _door.get()


def personal(value: Value) -> Value:
    """Personal data, unchanged; the person at the page or command is recorded as its viewer."""
    _door.get().viewed()
    return value


def shop_caller(ensure_sync: Callable[[Callable[..., Any]], Callable[..., Any]]) -> CallShop:
    """A function that calls the functions of one app's shop.

    A coroutine function is run to its end; inside a running event loop, in a separate thread with a copy of the
    context. A returned awaitable or generator raises `TypeError`, because nothing in it has run.

    :param ensure_sync: the app's method of this name.
    """

    def call(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        run = function
        if inspect.iscoroutinefunction(_called(function)):
            run = ensure_sync(_called(function))
            if _in_event_loop():
                run = partial(_in_own_thread, run)
        # A page or a command may deliver an event, but the person does not do the deeds of its receivers.
        with through(CALL):
            return _finished(function, run(*arguments, **keywords))

    return call


def refuse_generator(function: Function) -> Function:
    """Return the function unless it is a generator function, whose call would run nothing.

    :raises TypeError: it is a generator function, also an asynchronous one, or not callable.
    """
    if not callable(function):
        raise TypeError(f"a function is needed here, not {type(function).__name__}")
    code = _called(function)
    if inspect.isgeneratorfunction(code) or inspect.isasyncgenfunction(code):
        raise TypeError(f"{name_of(function)} is a generator function, of which a call runs nothing. Remove `yield`.")
    return function


def name_of(function: Callable[..., Any]) -> str:
    """The dotted name of a function, or of the class of a callable object."""
    if hasattr(function, "__qualname__"):
        return f"{function.__module__}.{function.__qualname__}"
    return f"{type(function).__module__}.{type(function).__qualname__}"


def _called(function: Any) -> Callable[..., Any]:
    """The function itself, or the method that a call of the object runs."""
    called: Callable[..., Any] = (
        function if inspect.isroutine(function) or isinstance(function, partial) else function.__call__
    )
    return called


def _finished(function: Callable[..., Any], result: Any) -> Any:
    if result is None or not (inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result)):
        return result
    if inspect.iscoroutine(result):
        # Python would warn that it was never awaited.
        result.close()
    raise TypeError(f"{name_of(function)} returned a {type(result).__name__}, of which nothing has run")


def _in_event_loop() -> bool:
    # Imported when needed, because it is large and most shops have no coroutine functions.
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_own_thread(run: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(contextvars.copy_context().run, run, *arguments, **keywords).result()
