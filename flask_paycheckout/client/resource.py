"""A part of the service: its methods are written once, for blocking and for asynchronous clients."""

from __future__ import annotations

from copy import copy
from functools import wraps
from operator import attrgetter
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    TypeVar,
    cast,
    overload,
)

from flask_paycheckout.client.awaited import W

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator

    from flask_paycheckout.client.awaited import Awaited
    from flask_paycheckout.client.calls import Caller
    from flask_paycheckout.client.waiting import Blocking

T = TypeVar("T")
P = ParamSpec("P")
Blocked = TypeVar("Blocked", covariant=True)
Later = TypeVar("Later", covariant=True)


class Resource(Generic[W]):
    """A part of the service: its methods block on a `PaymentsClient`, and are awaited on an `AsyncPaymentsClient`."""

    def __init__(self, caller: Caller[W]) -> None:
        self._caller = caller


class Method(Protocol[P, Blocked, Later]):
    """A method with one kind of result on a `PaymentsClient`, and another on an `AsyncPaymentsClient`."""

    @overload
    def __get__(self, instance: Resource[Blocking], owner: object = None) -> Callable[P, Blocked]: ...
    @overload
    def __get__(self, instance: Resource[Awaited], owner: object = None) -> Callable[P, Later]: ...


def method(call: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Method[P, T, Coroutine[Any, Any, T]]:
    """A method of a resource, written as a coroutine function."""
    return cast("Method[P, T, Coroutine[Any, Any, T]]", _with_options(call, attrgetter("run")))


def each(call: Callable[Concatenate[Any, P], AsyncGenerator[T, None]]) -> Method[P, Iterator[T], AsyncIterator[T]]:
    """A method of a resource that iterates over records, written as an asynchronous generator."""
    return cast("Method[P, Iterator[T], AsyncIterator[T]]", _with_options(call, attrgetter("each")))


def _with_options(call: Callable[..., Any], waiter: Callable[[Any], Any]) -> Callable[..., Any]:
    """A method that takes the options of `waiting.CallOptions`, and passes its other arguments on.

    :param waiter: returns the function with which a client waits for the result.
    """

    @wraps(call)
    def run(
        self: Resource[Any], *args: Any, timeout: float | None = None, retries: int | None = None, **kwargs: Any
    ) -> Any:
        if timeout is not None or retries is not None:
            self = copy(self)
            self._caller = self._caller.limited(timeout, retries)
        result = call(self, *args, **kwargs)
        # A traceback that shows local variables must not show a password.
        del args, kwargs
        return waiter(self._caller.waiting)(result)

    return run
