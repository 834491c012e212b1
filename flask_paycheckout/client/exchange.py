"""One request and its answer as bytes, whatever carries them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["Carrier", "Fault", "Received", "Request", "fault_of"]


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent.

    :ivar path: below the base URL, with its query.
    :ivar target: the same with the base URL's own path in front, as it goes on the wire.
    :ivar headers: without those that say where the request goes and how long its body is.
    """

    method: str
    path: str
    target: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Received:
    """What comes back, its body not read yet.

    :ivar headers: by name in lower case; several of one name are one, separated by commas.
    :ivar chunks: the body, as it arrives.
    :ivar close: to be called when the answer is done with, read or not.
    """

    status: int
    headers: Mapping[str, str]
    chunks: Iterable[bytes]
    close: Callable[[], object]


class Fault(NamedTuple):
    """Why there is no answer, without what was sent; and whether the request may have gone out."""

    words: str
    sent: bool


class Carrier(Protocol):
    """Carries requests to the service."""

    def send(self, request: Request, left: float) -> Received:
        """The answer's head, within so many seconds; they are the body's too."""
        ...

    def fault(self, error: Exception) -> Fault | None:
        """What an error of `send`, or of reading the body, says about the exchange; None for one that is a bug."""
        ...


def fault_of(error: Exception, *, late: bool, unsent: bool) -> Fault:
    """The fault of an error, without the library's own text where that may quote what was sent."""
    kind = type(error).__name__
    if late:
        return Fault(f"no whole answer in time ({kind})", not unsent)
    if unsent or isinstance(error, OSError):
        return Fault(f"no connection ({kind}: {error})", not unsent)
    return Fault(f"the exchange broke off ({kind})", not unsent)
