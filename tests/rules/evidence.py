"""What a rule wants to be seen in the calls of its tests, and what one call shows of it.

Both are sets of sentences that begin with the operation. A field that may be missing has to be seen in an accepted
request and missing in another; a required one sent, and refused by its name when it is missing; every word of a choice
accepted; a field of an answer filled; an error worded as the rule words it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from tests.rules.rule import Line, Rule, read_line

_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_NUMBER_OF_ITEM = re.compile(r"\[\d+]")
_CREDENTIALS = {
    "signature": frozenset({"X-Signature", "X-Timestamp", "X-Client-ID"}),
    "access token": frozenset({"Authorization"}),
}
CREDENTIAL_HEADERS = frozenset[str]().union(*_CREDENTIALS.values())


@dataclass(frozen=True)
class Call:
    """One request to the sandbox, and what became of it."""

    operation: str
    code: int
    """The number in the body of the answer, or the HTTP status of one that is no JSON."""
    answer: Any = None
    media_type: str = "application/json"
    body: Any = None
    query: dict[str, Any] = field(default_factory=dict)
    credentials: frozenset[str] = frozenset()

    @property
    def is_accepted(self) -> bool:
        return 200 <= self.code < 300


def wanted(rule: Rule) -> set[str]:
    """Everything that has to be seen; for what only the document says there is nothing to see."""
    if rule.is_deprecated:
        return set()
    return {f"{operation} {sentence}" for operation in rule.on for sentence in _wanted(rule)}


def _wanted(rule: Rule) -> Iterator[str]:
    yield "is called"
    for word, lines in (("takes", rule.takes), ("asks", rule.asks)):
        for line in map(read_line, lines):
            yield from _wanted_of_request(word, line)
    for line in map(read_line, rule.gives):
        yield from (f"gives {line.place} as {kind}" for kind in _kinds_wanted(rule, line))
    for refused in rule.refuses:
        yield f"refuses with {refused.code} {refused.error}: {refused.message or '...'}"
    if rule.needs:
        yield f"lets {rule.needs} in"
        yield from (f"turns {other} away" for other in ("nothing", *_CREDENTIALS) if _is_too_little(rule.needs, other))


def _wanted_of_request(word: str, line: Line) -> Iterator[str]:
    yield f"{word} {line.place}"
    yield f"refuses a missing {line.place}" if line.is_required else f"does without {line.place}"
    if len(line.holds) > 1:
        yield from (f"{word} {line.place}={choice}" for choice in line.holds)


def _kinds_wanted(rule: Rule, line: Line) -> tuple[str, ...]:
    return ("null",) if line.place in rule.never_filled else line.holds


def _is_too_little(needed: str, other: str) -> bool:
    return needed != "nothing" and other != needed


def shown(rule: Rule, call: Call) -> set[str]:
    """What a call shows of a rule, and possibly more."""
    if call.operation not in rule.on:
        return set()
    return {f"{call.operation} {sentence}" for sentence in _shown(rule, call)}


def _shown(rule: Rule, call: Call) -> Iterator[str]:
    yield "is called"
    for line in map(read_line, rule.takes):
        yield from _shown_of_request("takes", line.place, call.body, call)
    for line in map(read_line, rule.asks):
        yield from _shown_of_request("asks", line.place, call.query, call)
    if call.is_accepted:
        yield f"gives body as {call.media_type}"
        for line in map(read_line, rule.gives):
            for value in values_at(line.place, call.answer):
                yield from (f"gives {line.place} as {kind}" for kind in (*line.holds, "null") if is_a(kind, value))
    elif isinstance(call.answer, dict):
        error, message = call.answer.get("error"), call.answer.get("message")
        yield f"refuses with {call.code} {error}: {message}"
        yield f"refuses with {call.code} {error}: ..."
    yield from _shown_of_credentials(call)


def _shown_of_request(word: str, place: str, sent: Any, call: Call) -> Iterator[str]:
    for value in values_at(place, sent):
        if call.is_accepted and value is None:
            yield f"does without {place}"
        elif call.is_accepted:
            yield f"{word} {place}"
            yield f"{word} {place}={value}"
        elif value is None and _without_numbers(call) == f"{place} is required.":
            yield f"refuses a missing {place}"


def _without_numbers(call: Call) -> str:
    message = call.answer.get("message") if isinstance(call.answer, dict) else None
    return _NUMBER_OF_ITEM.sub("[]", str(message))


def _shown_of_credentials(call: Call) -> Iterator[str]:
    presented = [name for name, headers in _CREDENTIALS.items() if headers == call.credentials]
    name = presented[0] if presented else "nothing"
    if presented or not call.credentials:
        yield f"turns {name} away" if call.code == 401 else f"lets {name} in"


def values_at(place: str, held: Any) -> Iterator[Any]:
    """What stands at a place, once for each object that could have it; None where it is missing or null."""
    head, _, rest = place.partition(".")
    name = head.partition("[")[0]
    if not isinstance(held, dict):
        return
    values = [held.get(name)]
    if head.endswith("[]"):
        values = [item for value in values if isinstance(value, list) for item in value]
    for value in values:
        if rest:
            yield from values_at(rest, value)
        else:
            yield value


def is_a(kind: str, value: Any) -> bool:
    """Whether a value of an answer is what a line says that it holds."""
    match kind:
        case "null":
            return value is None
        case "timestamp":
            return isinstance(value, str) and _TIMESTAMP.fullmatch(value) is not None
        case "boolean" | "integer" | "number" | "string" | "object" | "array":
            return type(value) in _TYPES[kind]
    return str(value) == kind


_TYPES: dict[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, Decimal),
    "string": (str,),
    "object": (dict,),
    "array": (list,),
}
