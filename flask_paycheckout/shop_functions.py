"""Functions of the shop, such as receivers and callbacks: one call for all of them, which looks at what came back."""

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
    """The way in which somebody does something now."""

    name: str = "call"
    """`page`, `command` or `call`, which is code of the shop."""

    by: str = ""
    """The person at the page, or the system's user who runs the command; empty for a call."""

    viewed: Callable[[], object] = lambda: None
    """Records that this person is shown what tells of persons."""


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
    """The door through which a person does something now."""
    return _door.get()


def personal(value: Value) -> Value:
    """A value that tells of a person, unchanged; whoever is at the page or command is recorded as its viewer."""
    _door.get().viewed()
    return value


def shop_caller(ensure_sync: Callable[[Callable[..., Any]], Callable[..., Any]]) -> CallShop:
    """A function that calls the functions of one app's shop.

    A coroutine function is run to its end, inside a running event loop in a thread of its own with a copy of the
    context. It raises `TypeError` for an awaitable or generator that came back, because nothing in it has run.

    :param ensure_sync: the app's method of this name.
    """

    def call(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        run = function
        if inspect.iscoroutinefunction(_called(function)):
            run = ensure_sync(_called(function))
            if _in_event_loop():
                run = partial(_in_own_thread, run)
        # A page or a command may deliver an event, but what its receiver calls is not done by the person.
        with through(CALL):
            return _finished(function, run(*arguments, **keywords))

    return call


def refuse_generator(function: Function) -> Function:
    """Return a function that can be called; calling a generator function runs nothing of it.

    :raises TypeError: it is a generator function, or an asynchronous one, or cannot be called.
    """
    if not callable(function):
        raise TypeError(f"a function is needed here, not {type(function).__name__}")
    called = _called(function)
    if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
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
    # Imported when needed, since it is large and most shops have no coroutine functions.
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _in_own_thread(run: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    with ThreadPoolExecutor(max_workers=1) as thread:
        return thread.submit(contextvars.copy_context().run, run, *arguments, **keywords).result()
