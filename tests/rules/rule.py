"""What a rule of the service's interface is, and the notation that its fields are written in.

A field is one line: its place, a question mark when it may be missing, what it holds, and what stands in for it.

    inputAmount?: number                     an optional number
    bank.accountType?: Checking | Savings    one of two words, within an object
    disburseData[].amount: number            required, in every object of a list
    limit?: integer = 10                     ten when it is missing
    statusCode: 201                          always this
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

Lines = tuple[str, ...]
#: The ids of tests, without the parameters.
Tests = tuple[str, ...]


class Refused(NamedTuple):
    """One row of errors; a message of None is not given by the interface."""

    code: int
    error: str
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule, with the tests that would fail if the sandbox broke it.

    :ivar says: the rule in a sentence.
    :ivar shown_by: tests of the sandbox; each of them calls one of the operations.
    :ivar on: the operations it belongs to, as `POST /v1/checkout`; empty for a rule that belongs to none of them alone.
    :ivar takes: fields of the body.
    :ivar asks: query parameters.
    :ivar gives: fields of the successful answer.
    :ivar never_filled: places among those that the sandbox leaves null.
    :ivar refuses: errors that it tells of.
    :ivar needs: the credentials: `signature`, `access token` or `nothing`.
    :ivar is_deprecated: the document says that the operations are; no call shows that.
    :ivar kept_by_client: tests of the client, where it is the client's to keep the rule.
    """

    id: str
    says: str
    shown_by: Tests = ()
    on: tuple[str, ...] = ()
    takes: Lines = ()
    asks: Lines = ()
    gives: Lines = ()
    never_filled: Lines = ()
    refuses: tuple[Refused, ...] = ()
    needs: str = ""
    is_deprecated: bool = False
    kept_by_client: Tests = ()


@dataclass(frozen=True)
class Line:
    """A line, taken apart."""

    place: str
    is_required: bool
    holds: tuple[str, ...]


def read_line(line: str) -> Line:
    place, _, rest = line.partition(": ")
    return Line(place.removesuffix("?"), not place.endswith("?"), tuple(rest.partition(" = ")[0].split(" | ")))


def tests_of(path: str) -> Callable[..., Tests]:
    """Names tests of one file: `login = tests_of("sandbox/auth/test_login.py")`, then `login("test_this", ...)`."""
    return lambda *names: tuple(f"tests/{path}::{name}" for name in names)


def under(place: str, lines: Lines) -> Lines:
    """The same fields within something: `under("docs[].", RECIPIENT)`."""
    return tuple(f"{place}{line}" for line in lines)


def answered(*lines: str, code: str = "statusCode: 200", data: str = "object") -> Lines:
    """A success envelope whose data holds these fields."""
    return (code, "message: string", f"data: {data}", *under("data.", lines))


PAGE: Lines = (
    "docs: array",
    "totalDocs: integer",
    "offset: integer",
    "limit: integer",
    "totalPages: integer",
    "page: integer",
    "pagingCounter: integer",
    "hasPrevPage: boolean",
    "hasNextPage: boolean",
    "prevPage: integer | null",
    "nextPage: integer | null",
)
SORT = "sort?: createdAt | -createdAt | updatedAt | -updatedAt = createdAt"
