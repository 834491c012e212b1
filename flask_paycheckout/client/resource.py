"""What a part of the service is made of: its operations, and methods for clients that block and that are awaited."""

from __future__ import annotations

from copy import copy
from enum import Enum
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
from urllib.parse import quote

import msgspec

from flask_paycheckout.client.bodies import text
from flask_paycheckout.client.records import R
from flask_paycheckout.client.waiting import W

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator

    from flask_paycheckout.client.awaited import Awaited
    from flask_paycheckout.client.calls import Caller
    from flask_paycheckout.client.waiting import Blocking

T = TypeVar("T")
P = ParamSpec("P")
Blocked = TypeVar("Blocked", covariant=True)
Later = TypeVar("Later", covariant=True)

MEBIBYTE = 1024 * 1024

_MAX_ID = 500


class Access(Enum):
    """Which credentials a call carries.

    The interface lists three kinds. What it does not show is the form of two of them: how a signature is computed and
    what stands in the `Authorization` header. Both assumptions live in `signing` (`HmacSigner`, and `BearerToken` for
    `Authorization: Bearer <token>`) and nowhere else, so that the right forms, once known, replace them there.
    """

    SIGNED = "client_id and client_secret, or a signer"
    BEARER = "an access_token"
    OPEN = "none"


class Operation(msgspec.Struct, Generic[R], frozen=True):
    """One call of the service.

    :ivar method: the HTTP verb.
    :ivar path: the path below the base URL; an id's place is written as `{id}`.
    :ivar answer: the record, or kind of records, in a success's `data`.
    :ivar again: whether sending it twice does no more harm than once; by default a GET does none.
    :ivar may_move_money: when its answer is lost, the caller gets `OutcomeUnknown`.
    :ivar access: the credentials it carries.
    :ivar max_bytes: the largest answer that is read.
    :ivar status_key: where a successful body carries its status code; login and verify-login say `status`.
    :ivar accept: the media types that its answer may have.
    :ivar sample: the path in the interface's sample request, where it differs; tried where `path` is not there.
    :ivar lookup: for a call that may move money, what to do when its answer was lost; follows "before sending it
        again," in the error's text.
    """

    method: str
    path: str
    answer: type[R]
    again: bool | None = None
    may_move_money: bool = False
    access: Access = Access.SIGNED
    max_bytes: int = MEBIBYTE
    status_key: str = "statusCode"
    accept: str = "application/json"
    sample: str | None = None
    lookup: str = "look it up"

    @property
    def repeatable(self) -> bool:
        """Whether failed attempts are repeated."""
        return self.method == "GET" if self.again is None else self.again

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def segment(value: str) -> str:
    """An id as exactly one path segment, whatever it holds.

    :raises TypeError: it is not a string.
    :raises ValueError: it cannot be one segment, is longer than 500 characters, or not encodable.
    """
    text("an id", value)
    # Clients and servers drop these even when they are quoted, and would address another resource.
    if value in ("", ".", ".."):
        raise ValueError(f"{value!r} cannot be an id: it has no path of its own")
    if len(value) > _MAX_ID:
        raise ValueError(f"an id of {len(value)} characters is longer than any of the service's")
    return quote(value, safe="")


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


def method(call: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Method[P, T, Coroutine[Any, Any, T]]:
    """A method of a resource, written as a coroutine function."""
    return cast("Method[P, T, Coroutine[Any, Any, T]]", _with_options(call, attrgetter("run")))


def each(call: Callable[Concatenate[Any, P], AsyncGenerator[T, None]]) -> Method[P, Iterator[T], AsyncIterator[T]]:
    """A method of a resource that returns an asynchronous generator, and gives one record after the other."""
    return cast("Method[P, Iterator[T], AsyncIterator[T]]", _with_options(call, attrgetter("each")))


def _with_options(call: Callable[..., Any], waiter: Callable[[Any], Any]) -> Callable[..., Any]:
    """A method that takes the options of `waiting.CallOptions`, and hands the others of its arguments on.

    :param waiter: gives the function with which a client waits for the result.
    """

    @wraps(call)
    def run(
        self: Resource[Any], *args: Any, timeout: float | None = None, retries: int | None = None, **named: Any
    ) -> Any:
        if timeout is not None or retries is not None:
            self = copy(self)
            self._caller = self._caller.limited(timeout, retries)
        result = call(self, *args, **named)
        # A traceback that shows local variables must not show a password.
        del args, named
        return waiter(self._caller.waiting)(result)

    return run
