"""A running sandbox as a terminal sees it: its control calls, its feed, and answers as people read them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from math import inf
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from flask_paycheckout.sandbox.world.assumptions import sign, string_to_sign, timestamp_of
from flask_paycheckout.sandbox.world.exact_json import read_json, write_json

DEFAULT_URL = "http://127.0.0.1:8790"
_HEADER = "X-Sandbox-Control"
_SECONDS = 60.0
_MAX_BYTES = 64 * 1024 * 1024
_KINDS = {"http": HTTPConnection, "https": HTTPSConnection}
# Decimals as numbers with all of their digits.
_encoder = msgspec.json.Encoder(decimal_format="number")

REFUSED, WRONG_USE, NOT_REACHED, NOT_ALLOWED = 1, 2, 3, 4
"""Exit codes besides 0."""


Given = Mapping[str, Any]
Told = tuple[Any, str]
"""The parameters of a command, and its answer for programs and for people."""


class CommandFailed(Exception):
    """A command that could not be carried out: one sentence for people, and the exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class Connection:
    """Calls one sandbox. It has no repr of its own, since it holds the control token.

    No redirect is followed and no proxy of the environment is used, so that the token goes nowhere else.
    """

    def __init__(self, url: str, token: str) -> None:
        self.url = url.rstrip("/")
        try:
            parts = urlsplit(self.url)
            _ = parts.port
        except ValueError:
            raise CommandFailed(f"--url {url!r} is no address.", WRONG_USE) from None
        if parts.scheme not in _KINDS or not parts.hostname or parts.username or parts.query or parts.fragment:
            raise CommandFailed(f"--url {url!r} is no http or https address of a sandbox.", WRONG_USE)
        if not token.isascii() or not token.isprintable():
            raise CommandFailed("The control token must be printable ASCII.", WRONG_USE)
        self._path, self._token = parts.path, token

    def call(self, method: str, path: str, sent: Given | bytes = b"") -> Any:
        """The answer of a call, as JSON with exact numbers."""
        content = self.fetch(method, path, sent)
        try:
            return read_json(content)
        except ValueError:
            raise self._no_sandbox() from None

    def fetch(self, method: str, path: str, sent: Given | bytes = b"") -> bytes:
        """The answer of a call as it is.

        :param sent: fields, of which those that are None are left out: the query of GET and DELETE, else the body;
            or the body as it is.
        :raises CommandFailed: the answer is a refusal, or there is none.
        """
        target = self._target(f"_sandbox/{path}")
        if not isinstance(sent, bytes):
            given = {name: value for name, value in sent.items() if value is not None}
            if method in {"GET", "DELETE"}:
                sent, target = b"", f"{target}?{urlencode(given)}".rstrip("?")
            else:
                sent = _encoder.encode(given)
        status, content = self._send(method, target, sent, {_HEADER: self._token})
        if status not in (200, 201):
            raise self._refusal(status, content)
        return content

    def signed(self, method: str, path: str, body: bytes, account: Mapping[str, str]) -> tuple[int, bytes]:
        """The HTTP status and the answer of a call of the service, with both credentials of an account."""
        switches = {one["name"]: one["value"] for one in self.call("GET", "unknowns")}
        formula = switches["signature_formula"]
        target, timestamp = self._target(path.lstrip("/")), timestamp_of(time.time(), switches["timestamp_unit"])
        text = string_to_sign(method, target, timestamp, body, formula)
        headers = {
            "X-Client-ID": account["clientId"],
            "X-Timestamp": timestamp,
            "X-Signature": sign(account["clientSecret"], text, formula),
        }
        if account.get("accessToken"):
            scheme = "" if switches["authorization_format"] == "raw" else "Bearer "
            headers["Authorization"] = scheme + account["accessToken"]
        return self._send(method, target, body, headers)

    def _target(self, path: str) -> str:
        """A path, perhaps with a query, as it is sent; what is quoted in it stays so."""
        return quote(f"{self._path}/{path}", safe="%/?&=:@!$'()*+,;")

    def _send(self, method: str, target: str, sent: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        try:
            return send(self.url, method, target, {"Content-Type": "application/json", **headers}, sent)
        except (OSError, HTTPException) as wrong:
            raise CommandFailed(
                f"No sandbox answers at {self.url} ({_reason(wrong)})."
                " Start one with python -m flask_paycheckout.sandbox, or give its --url.",
                NOT_REACHED,
            ) from None

    def _refusal(self, status: int, content: bytes) -> CommandFailed:
        try:
            told = read_json(content)["error"]
            fault = f"{told['field']} {told['fault']}".rstrip(".")
            text = f"{fault}. {told['remedy']}"
        except (ValueError, KeyError, TypeError):
            return self._no_sandbox()
        if status == 401:
            return CommandFailed(
                f"The sandbox at {self.url} refuses the control token. It prints its token at its start:"
                " set SANDBOX_CONTROL_TOKEN to it.",
                NOT_ALLOWED,
            )
        return CommandFailed(text, NOT_ALLOWED if status == 403 else REFUSED)

    def _no_sandbox(self) -> CommandFailed:
        return CommandFailed(f"What answers at {self.url} is no sandbox of this version.", NOT_REACHED)


def send(address: str, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
    """Send one request over a connection of its own; the HTTP status and the body of the answer."""
    parts = urlsplit(address)
    with closing(_KINDS[parts.scheme](str(parts.hostname), parts.port, timeout=_SECONDS)) as connection:
        connection.request(method, target, body or None, headers)
        response = connection.getresponse()
        return response.status, response.read(_MAX_BYTES)


def segment(value: object) -> str:
    """An identifier as one segment of a path."""
    return quote(str(value), safe="")


def _reason(wrong: Exception) -> str:
    return str(getattr(wrong, "strerror", None) or str(wrong) or type(wrong).__name__).lower()


MAX_EVENTS = 200
"""The most events that an answer holds of one kind."""
_PAUSE = 0.5

Event = dict[str, Any]


def follow(
    connection: Connection,
    last: int,
    account: str | None = None,
    seconds: float | None = None,
    *,
    is_wanted: Callable[[Event], bool] = lambda one: True,
    sleep: Callable[[float], None] = time.sleep,
    is_over: Callable[[], bool] = lambda: False,
) -> Generator[Event, None, None]:
    """The newest events, then further ones as they happen, until so many seconds have passed.

    Each question begins where the last but one ended: on PostgreSQL, what several processes write at the same time is
    not always committed in the order of its numbers.
    """
    until = time.monotonic() + (inf if seconds is None else seconds)
    answer = _ask(connection, None, account)
    newest = [one for one in answer["events"] if is_wanted(one)]
    yield from newest[max(0, len(newest) - last) :]
    before = cursor = answer["cursor"]
    seen = {_name(one) for one in answer["events"]}
    while time.monotonic() < until and not is_over():
        if not answer["more"]:
            sleep(max(0.0, min(_PAUSE, until - time.monotonic())))
        answer = _ask(connection, before, account)
        yield from (one for one in answer["events"] if _name(one) not in seen and is_wanted(one))
        # No more than two answers hold: a sandbox gives a bounded number of events at once.
        seen = {_name(one) for one in answer["events"]}
        before, cursor = answer["cursor"] if answer["more"] else cursor, answer["cursor"]


def _ask(connection: Connection, after: str | None, account: str | None) -> Any:
    return connection.call("GET", "events", {"after": after, "last": MAX_EVENTS, "account": account})


def _name(event: Event) -> tuple[Any, ...]:
    # With the time, since numbers begin anew after a reset.
    return event["kind"], event["number"], event["at"]


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    """Rows below the names of their columns; a sentence when there are none."""
    if not rows:
        return "none"
    cells = [list(columns), *([_cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(len(line[place]) for line in cells) for place in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells
    )


def fields(shown: dict[str, Any]) -> str:
    """One line for each field."""
    width = max((len(name) for name in shown), default=0)
    return "\n".join(f"{name:<{width}}  {_cell(value)}" for name, value in shown.items())


def value_of(answer: Any, field: str) -> str:
    """One field of an answer, named by its path. :raises CommandFailed: the answer has no such field."""
    for name in field.split("."):
        if not isinstance(answer, dict) or name not in answer:
            raise CommandFailed(f"--field {plain(field)}: the answer has no such field; --json shows all.", WRONG_USE)
        answer = answer[name]
    return write_json(answer) if isinstance(answer, dict | list) else "" if answer is None else plain(str(answer))


def event(one: dict[str, Any]) -> str:
    """An event of the feed as one line."""
    moment = str(one["at"]).partition("T")[2].removesuffix("Z")
    told = (moment, f"{one['kind']:<12}", f"{one['outcome']:<10}", one["about"] or "", one["text"], one["detail"])
    return "  ".join(plain(str(part)) for part in told if part)


def plain(text: str) -> str:
    """Text without control characters, which are written as escapes."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return plain(str(value))
