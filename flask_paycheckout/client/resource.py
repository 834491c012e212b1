"""A part of the service: its methods are written once, for a client that blocks and for one that is awaited."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, cast, overload

from flask_paycheckout.client.waiting import R, W

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator

    from flask_paycheckout.client.awaited import Awaited
    from flask_paycheckout.client.calls import Caller
    from flask_paycheckout.client.waiting import Blocking

P = ParamSpec("P")
Blocked = TypeVar("Blocked", covariant=True)
Later = TypeVar("Later", covariant=True)


class Resource(Generic[W]):
    """A part of the service: methods that block on a `PaymentsClient`, and are awaited on an `AsyncPaymentsClient`."""

    def __init__(self, caller: Caller[W]) -> None:
        self._caller = caller


class Method(Protocol[P, Blocked, Later]):
    """A method with one kind of result on a `PaymentsClient`, and another on an `AsyncPaymentsClient`."""

    @overload
    def __get__(self, instance: Resource[Blocking], owner: object = None) -> Callable[P, Blocked]: ...
    @overload
    def __get__(self, instance: Resource[Awaited], owner: object = None) -> Callable[P, Later]: ...


def method(call: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]) -> Method[P, R, Coroutine[Any, Any, R]]:
    """A method of a resource, written as a coroutine function."""

    @wraps(call)
    def run(self: Resource[Any], *args: Any, **kwargs: Any) -> Any:
        coroutine = call(self, *args, **kwargs)
        # A traceback that shows local variables must not show a password.
        del args, kwargs
        return self._caller.waiting.run(coroutine)

    return cast("Method[P, R, Coroutine[Any, Any, R]]", run)


def each(call: Callable[Concatenate[Any, P], AsyncGenerator[R, None]]) -> Method[P, Iterator[R], AsyncIterator[R]]:
    """A method of a resource that returns an asynchronous generator, and gives one record after the other."""

    @wraps(call)
    def walk(self: Resource[Any], *args: Any, **kwargs: Any) -> Any:
        return self._caller.waiting.each(call(self, *args, **kwargs))

    return cast("Method[P, Iterator[R], AsyncIterator[R]]", walk)
