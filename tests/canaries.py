"""Pytest plugin: a test fails when a secret of the tests appears where it does not belong.

Watched in every test: log records of every logger at DEBUG, whatever level the test has set; warnings; what tests,
commands and processes print; pages and JSON of shops and sandboxes; errors that tests or requests end with; reprs of
our own objects. The secrets are the fixed values of the tests' settings, anything called "canary", and two patterns
for generated values. `BELONGS` lists the places where a secret may appear, with the reasons.

Findings name the kind of secret and the place, and never show the secret. `tests/conftest.py` loads this for every
run; `pytest -p no:tests.canaries` turns it off. SQLAlchemy's log keeps its level, since it would
log each statement of the run twice: `security/test_canaries.py` tests a shop with that log at DEBUG.
"""

from __future__ import annotations

import functools
import logging
import re
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Collection, Generator
from enum import Enum
from typing import Any

import click.testing
import pytest
from flask import Flask, Response, got_request_exception, request, request_finished

import flask_paycheckout.client
from flask_paycheckout.sandbox.auth import start_state
from flask_paycheckout.sandbox.wire.operations import operation_of
from tests import scripted
from tests.client import wire
from tests.sandbox.actors import CONTROL_TOKEN

#: The most characters of a text that are searched.
_LONGEST = 200_000
#: Loggers that keep their level. SQLAlchemy would log every statement of the run, and fontTools every glyph.
_QUIET = ("sqlalchemy", "fontTools", "fpdf")

#: Kinds of secrets with their values.
WORDS: dict[str, tuple[str, ...]] = {
    "published": (start_state.CLIENT_SECRET, start_state.PASSWORD, start_state.ACCESS_TOKEN),
    "client secret": (scripted.CLIENT_SECRET, wire.CLIENT_SECRET),
    "control token": (CONTROL_TOKEN, "in-process-control"),
    "secret key": ("unit-secret-key", "a-secret-key-of-many-characters", "a key for tests only"),
    "webhook secret": ("wh-secret-1", "canary-path-secret-1234", "canary-hook"),
    "account number": ("canary-account", "canary-iban", "canary-12", "canary-3", "DE02120300000000202051"),
    "password": ("wrong-password",),
}
#: Kinds of generated secrets. Each pattern begins with a fixed text, which a regular expression finds fast.
PATTERNS: dict[str, str] = {
    # A signed JSON string begins with a quotation mark, which is an I in base64; a session cookie does not.
    "order token": r"I(?<![\w./-]I)[\w-]+\.[\w-]{6}\.[\w-]{43}(?![\w-])",
    "payment URL": r"https?://[^\s'\"<>/]+/checkout/[\w-]+",
    "canary": r"canary[-_ ]\w+",
}


_BANK = frozenset({"account number", "canary"})

#: Kinds of secrets that may appear, by place.
BELONGS: dict[str, Collection[str]] = {
    # The service answers an account with its own data.
    "service answer": _BANK | {"published", "payment URL"},
    # Control calls are for the developer; the request log masks its own secrets.
    "control answer": _BANK | {"payment URL"},
    # The tester asks for its credentials.
    "answer about one account": {"published", "canary"},
    # The examples in it work with the published credentials.
    "description": {"published", "payment URL"},
    # A snapshot is the whole state, without the control token.
    "snapshot": _BANK | {"published", "password", "webhook secret", "payment URL"},
    # The customer is sent there.
    "shop page": {"payment URL"},
    # The developer opens the customer's page.
    "sandbox page": {"payment URL"},
    # The tests' own words.
    "output": {"payment URL"},
    # doctor prints the URL to register.
    "command": {"webhook secret", "payment URL"},
    # The sandbox prints them when it starts.
    "process": {"published", "control token", "payment URL"},
    # The tests' own browser; the product's client has no such log.
    "log httpx": {"payment URL"},
}


class Watch:
    """Searches texts for secrets, and keeps its findings until the test's end."""

    def __init__(self) -> None:
        self._names = [*WORDS, *PATTERNS]
        listed = ["|".join(map(re.escape, words)) for words in WORDS.values()]
        # The first kind that matches a place in the text names the finding.
        self._pattern = re.compile("|".join(f"({pattern})" for pattern in [*listed, *PATTERNS.values()]))
        self._words = [word for words in WORDS.values() for word in words]
        self._searches = [re.compile(pattern).search for pattern in PATTERNS.values()]
        self._found: list[str] = []

    def look(self, place: str, text: str | bytes | None) -> None:
        """Search a text that appeared at a place."""
        if not text:
            return
        if isinstance(text, bytes):
            text = text[:_LONGEST].decode("utf-8", "replace")
        text = text[:_LONGEST]
        if not self._may_hold_one(text):
            return
        for match in self._pattern.finditer(text):
            kind = self._names[(match.lastindex or 1) - 1]
            if kind not in BELONGS.get(place, ()):
                self._found.append(f"{place} shows {kind}: ...{self._masked(text, match)}...")

    def _may_hold_one(self, text: str) -> bool:
        """Whether a text may contain a secret; twenty times faster than the search, and nearly every text has none."""
        return any(word in text for word in self._words) or any(search(text) for search in self._searches)

    def look_at_error(self, place: str, error: BaseException | None) -> None:
        """Search an error and its causes: messages, attributes and notes, but not source lines."""
        seen: set[int] = set()
        waiting = [error]
        while waiting:
            current = waiting.pop()
            if current is None or id(current) in seen:
                continue
            seen.add(id(current))
            waiting += [current.__cause__, current.__context__, *getattr(current, "exceptions", ())]
            # Making the text of an error may raise, which this function tolerates.
            words = "".join(traceback.format_exception_only(current))
            self.look(place, f"{words}{current!r}\n{vars(current)!r}")

    def take(self) -> list[str]:
        """The secrets found since the last time; the text around each has a mask in its place."""
        findings, self._found = self._found, []
        return list(dict.fromkeys(findings))

    def _masked(self, text: str, match: re.Match[str]) -> str:
        before, after = text[max(0, match.start() - 40) : match.start()], text[match.end() : match.end() + 40]
        return " ".join(f"{self._pattern.sub('***', before)}***{self._pattern.sub('***', after)}".split())


def place_of(app: Flask) -> str:
    """The kind of answer that the current request gets."""
    if "paycheckout_sandbox" not in app.extensions:
        return "shop page"
    if request.url_rule is not None and operation_of(app, request.url_rule.endpoint) is not None:
        return "service answer"
    if request.path.startswith("/_sandbox/accounts/"):
        return "answer about one account"
    if request.path == "/_sandbox/snapshot":
        return "snapshot"
    if request.path.endswith(("/openapi.json", "/docs")):
        return "description"
    return "control answer" if request.path.startswith("/_sandbox/") else "sandbox page"


class Canaries:
    """Watches every place, and fails a test with findings."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._patches = pytest.MonkeyPatch()

    def install(self) -> None:
        self._watch_logs()
        self._after(warnings.WarningMessage, "__init__", lambda made, _: self._watch.look("warning", str(made.message)))
        self._after(click.testing.Result, "__init__", self._see_command)
        self._after(pytest.CaptureFixture, "readouterr", lambda _, texts: self._see_texts("output", texts))
        self._after(subprocess.Popen, "communicate", lambda _, texts: self._see_texts("process", texts))
        self._after(pytest.RaisesExc, "__exit__", lambda raised, _: self._see_raised(raised))
        for kind in own_classes():
            self._after(kind, "__repr__", lambda _, text: self._watch.look("repr", text))
        request_finished.connect(self._see_answer)
        got_request_exception.connect(self._see_fault)

    def remove(self) -> None:
        self._patches.undo()
        request_finished.disconnect(self._see_answer)
        got_request_exception.disconnect(self._see_fault)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when == "teardown":
            for name, text in report.sections:
                if name.startswith("Captured std"):
                    self._watch.look("output", text)
            findings = self._watch.take()
            if findings:
                report.outcome = "failed"
                report.longrepr = "\n".join(["secrets showed where they do not belong:", *findings])
        return report

    def _watch_logs(self) -> None:
        handle, is_enabled = logging.Logger.handle, logging.Logger.isEnabledFor

        def sees_all(logger: logging.Logger, level: int) -> bool:
            return not logger.name.startswith(_QUIET) or is_enabled(logger, level)

        def look_then_handle(logger: logging.Logger, record: logging.LogRecord) -> None:
            self._see_record(record)
            if is_enabled(logger, record.levelno):
                handle(logger, record)

        self._patches.setattr(logging.Logger, "isEnabledFor", sees_all)
        self._patches.setattr(logging.Logger, "handle", look_then_handle)

    def _after(self, owner: Any, name: str, look: Callable[[Any, Any], None]) -> None:
        """Let `look` see the object and the result after each call of a method."""
        method = getattr(owner, name)

        @functools.wraps(method)
        def watched(this: Any, *args: Any, **named: Any) -> Any:
            if name == "__exit__":
                this.seen_error = args[1]
            result = method(this, *args, **named)
            look(this, result)
            return result

        self._patches.setattr(owner, name, watched)

    def _see_record(self, record: logging.LogRecord) -> None:
        place = f"log {record.name}"
        extra = {name: value for name, value in vars(record).items() if name not in _USUAL}
        # Message and arguments are searched separately: a handler may print one without the other.
        self._watch.look(place, f"{record.getMessage()}\n{record.args!r}\n{extra or ''}")
        if record.exc_info:
            self._watch.look_at_error(place, record.exc_info[1])

    def _see_command(self, result: click.testing.Result, _: object) -> None:
        self._watch.look("command", result.output)
        self._watch.look_at_error("command", result.exception)

    def _see_texts(self, place: str, texts: Any) -> None:
        for text in texts:
            self._watch.look(place, text)

    def _see_raised(self, raised: Any) -> None:
        self._watch.look_at_error("raised", raised.seen_error)

    def _see_answer(self, app: Flask, response: Response, **extra: object) -> None:
        place = place_of(app)
        if place != "shop page":
            self._watch.look(place, str(response.headers))
        if not response.direct_passthrough and response.mimetype != "application/pdf" and response.is_sequence:
            self._watch.look(place, response.get_data())

    def _see_fault(self, app: Flask, exception: BaseException, **extra: object) -> None:
        self._watch.look_at_error("fault of a request", exception)


_USUAL = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"message", "asctime"}


def own_classes() -> list[type]:
    """The product's classes with their own repr, except the sandbox's tables and rules."""
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == "flask_paycheckout"]
    classes = {
        kind
        for module in modules
        if not module.__name__.startswith(f"{flask_paycheckout.__name__}.sandbox")
        for kind in vars(module).values()
        if isinstance(kind, type) and kind.__module__ == module.__name__ and not issubclass(kind, (Enum, str, bytes))
    }
    return sorted(
        (kind for kind in classes if kind.__repr__ is not object.__repr__), key=lambda kind: kind.__qualname__
    )


def pytest_configure(config: pytest.Config) -> None:
    canaries = Canaries(Watch())
    canaries.install()
    config.add_cleanup(canaries.remove)
    config.pluginmanager.register(canaries, "canaries")
