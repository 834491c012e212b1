"""A running sandbox as a terminal sees it: its control calls, its feed, and answers as people read them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from math import inf
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from flask_paycheckout.sandbox.world.assumptions import sign, string_to_sign, timestamp_of
from flask_paycheckout.sandbox.world.exact_json import read_json, write_json

URL_VARIABLE, TOKEN_VARIABLE = "SANDBOX_URL", "SANDBOX_CONTROL_TOKEN"
DEFAULT_URL = "http://127.0.0.1:8790"
_HEADER = "X-Sandbox-Control"
_SECONDS = 60.0
_MAX_BYTES = 64 * 1024 * 1024
_KINDS = {"http": HTTPConnection, "https": HTTPSConnection}

REFUSED, WRONG_USE, NOT_REACHED, NOT_ALLOWED = 1, 2, 3, 4
"""Exit codes besides 0."""

Arguments = Mapping[str, Any]
Result = tuple[Any, str] | int
"""The answer of a command for programs and for people; or the exit code, when the command has printed by itself."""


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
            is_address = parts.scheme in _KINDS and parts.hostname and not parts.query and (parts.port or True)
        except ValueError:
            is_address = False
        if not is_address:
            raise CommandFailed(f"--url {url!r} is no http or https address of a sandbox.", WRONG_USE)
        self._token = token

    def call(self, method: str, path: str, sent: Arguments | bytes = b"") -> Any:
        """The answer of a call, as JSON with exact numbers."""
        content = self.fetch(method, path, sent)
        try:
            return read_json(content)
        except ValueError:
            raise self._no_sandbox() from None

    def fetch(self, method: str, path: str, sent: Arguments | bytes = b"") -> bytes:
        """The answer of a call as it is.

        :param sent: fields: the query of GET and DELETE, else the body; or the body as it is.
        :raises CommandFailed: the answer is a refusal, or there is none.
        """
        if not isinstance(sent, bytes):
            is_query = method in {"GET", "DELETE"}
            path = f"{path}?{urlencode(sent)}".rstrip("?") if is_query else path
            sent = b"" if is_query else write_json(sent).encode()
        status, content = self._send(method, f"_sandbox/{path.lstrip('/')}", sent, {_HEADER: self._token})
        if status not in (200, 201):
            raise self._refusal(status, content)
        return content

    def signed(self, method: str, path: str, body: bytes, account: Mapping[str, str]) -> tuple[int, bytes]:
        """The HTTP status and the answer of a call of the service, with both credentials of an account."""
        switches = {switch["name"]: switch["value"] for switch in self.call("GET", "unknowns")}
        formula, path = switches["signature_formula"], path.lstrip("/")
        timestamp = timestamp_of(time.time(), switches["timestamp_unit"])
        headers = {"X-Client-ID": account["clientId"], "X-Timestamp": timestamp}
        text = string_to_sign(method, self._target(path), timestamp, body, formula)
        headers["X-Signature"] = sign(account["clientSecret"], text, formula)
        if account.get("accessToken"):
            scheme = "" if switches["authorization_format"] == "raw" else "Bearer "
            headers["Authorization"] = scheme + account["accessToken"]
        return self._send(method, path, body, headers)

    def _target(self, path: str) -> str:
        """A path, perhaps with a query, as it is sent; quoted characters stay quoted."""
        return quote(f"{urlsplit(self.url).path}/{path}", safe="%/?&=:@!$'()*+,;")

    def _send(self, method: str, path: str, sent: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        try:
            headers = {"Content-Type": "application/json", **headers}
            return send(self.url, method, self._target(path), headers, sent)
        except (OSError, HTTPException, UnicodeError) as error:
            reason = str(getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
            remedy = "Start one with python -m flask_paycheckout.sandbox, or give its --url."
            raise CommandFailed(f"No sandbox answers at {self.url} ({reason}). {remedy}", NOT_REACHED) from None

    def _refusal(self, status: int, content: bytes) -> CommandFailed:
        try:
            error = read_json(content)["error"]
            text = f"{error['field']} {str(error['fault']).rstrip('.')}. {error['remedy']}"
        except (ValueError, KeyError, TypeError):
            return self._no_sandbox()
        if status == 401:
            text += f" Set {TOKEN_VARIABLE} to it."
        return CommandFailed(text, NOT_ALLOWED if status in (401, 403) else REFUSED)

    def _no_sandbox(self) -> CommandFailed:
        return CommandFailed(f"What answers at {self.url} is no sandbox of this version.", NOT_REACHED)


def send(address: str, method: str, target: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
    """Send one request over a connection of its own; returns the HTTP status and the body of the answer."""
    parts = urlsplit(address)
    with closing(_KINDS[parts.scheme](str(parts.hostname), parts.port, timeout=_SECONDS)) as connection:
        connection.request(method, target, body or None, headers)
        response = connection.getresponse()
        return response.status, response.read(_MAX_BYTES)


def segment(value: object) -> str:
    """An identifier as one segment of a path."""
    return quote(str(value), safe="")


MAX_EVENTS = 200
"""The most events that an answer holds."""
_PAUSE = 0.5

Event = dict[str, Any]


def follow(
    connection: Connection,
    last: int,
    account: str | None = None,
    seconds: float | None = None,
    *,
    is_wanted: Callable[[Event], bool] = lambda event: True,
    sleep: Callable[[float], None] = time.sleep,
) -> Generator[Event, None, None]:
    """Yield the newest events, then further ones as they happen, for this number of seconds."""
    until = time.monotonic() + (inf if seconds is None else seconds)
    query = {"last": MAX_EVENTS} | ({} if account is None else {"account": account})
    answer = connection.call("GET", "events", query)
    newest = list(filter(is_wanted, answer["events"]))
    yield from newest[max(0, len(newest) - last) :]
    while time.monotonic() < until:
        if not answer["more"]:
            sleep(max(0.0, min(_PAUSE, until - time.monotonic())))
        answer = connection.call("GET", "events", query | {"after": answer["cursor"]})
        yield from filter(is_wanted, answer["events"])


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    """Rows below the names of their columns; `none` without rows."""
    if not rows:
        return "none"
    cells = [list(columns), *([_cell(row.get(name)) for name in columns] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in cells
    )


def fields(values: dict[str, Any]) -> str:
    """One line for each field."""
    width = max(map(len, values), default=0)
    return "\n".join(f"{name:<{width}}  {_cell(value)}" for name, value in values.items())


def value_of(answer: Any, field: str) -> str:
    """One field of an answer, named by its path. :raises CommandFailed: the answer has no such field."""
    for name in field.split("."):
        if not isinstance(answer, dict) or name not in answer:
            raise CommandFailed(f"--field {plain(field)}: the answer has no such field; --json shows all.", WRONG_USE)
        answer = answer[name]
    return write_json(answer) if isinstance(answer, dict | list) else "" if answer is None else plain(str(answer))


def event(entry: Event) -> str:
    """An event of the feed as one line."""
    moment = str(entry["at"]).partition("T")[2].removesuffix("Z")
    parts = (
        moment,
        f"{entry['kind']:<12}",
        f"{entry['outcome']:<10}",
        entry["about"] or "",
        entry["text"],
        entry["detail"],
    )
    return "  ".join(plain(str(part)) for part in parts if part)


def plain(text: str) -> str:
    """Text with its control characters escaped."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def _cell(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    return plain(", ".join(value) if isinstance(value, list) else str(value))
