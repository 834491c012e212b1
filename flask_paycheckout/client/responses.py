"""The HTTP response behind a record or an error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

__all__ = ["ResponseHeaders", "ResponseInfo"]


class ResponseHeaders(Mapping[str, str]):
    """Headers of a response by name, in any case; its `repr` shows the names only, since a value may be a secret."""

    __slots__ = ("_headers",)

    def __init__(self, headers: httpx.Headers) -> None:
        self._headers = headers

    def __getitem__(self, name: str) -> str:
        return self._headers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._headers)

    def __len__(self) -> int:
        return len(self._headers)

    def __repr__(self) -> str:
        return f"<headers {', '.join(self._headers)}>"


@dataclass(frozen=True, slots=True)
class ResponseInfo:
    """The HTTP response that a record came in.

    :ivar http_status: of the response; the body's `statusCode` decides about success.
    :ivar headers: its headers.
    :ivar requested_id: the id or reference that the call asked for; None where it names none.
    """

    http_status: int
    headers: ResponseHeaders = field(repr=False)
    requested_id: str | None
