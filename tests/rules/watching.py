"""Pytest plugin: watches the calls of the tests that rules name, and fails the run for a rule that they do not show.

Every worker notes what its tests showed; the notes travel with the reports. When all tests of a rule have run, the
process that collects the reports holds the notes against what the rule wants. A run of chosen tests judges nothing.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from flask import Flask, Response, g, request, request_finished

from flask_paycheckout.sandbox.wire.openapi import path_of
from flask_paycheckout.sandbox.wire.operations import operation_of
from tests.rules.evidence import CREDENTIAL_HEADERS, Call, shown, wanted
from tests.rules.rule import Rule
from tests.rules.table import RULES

#: The name under which reports carry what their test showed.
NOTES = "shown of rules"


def rules_by_test(rules: tuple[Rule, ...]) -> dict[str, list[Rule]]:
    """Which rules name a test."""
    named = defaultdict(list)
    for rule in rules:
        for test in rule.shown_by:
            named[test].append(rule)
    return named


_BY_TEST = rules_by_test(RULES)


def without_parameters(nodeid: str) -> str:
    """The id without parameters and without the group that xdist may add."""
    return nodeid.partition("[")[0].partition("@")[0]


def call_of(app: Flask, response: Response) -> Call | None:
    """The current request, finished; None for one that no operation of the service answered."""
    rule = request.url_rule
    if rule is None or operation_of(app, rule.endpoint) is None or g.get("fault_kind") is not None:
        return None
    answer = _json(response.get_data()) if response.mimetype == "application/json" else None
    said = answer if isinstance(answer, dict) else {}
    return Call(
        operation=f"{request.method} {path_of(rule)}",
        code=int(said.get("statusCode") or said.get("status") or response.status_code),
        answer=answer,
        media_type=response.mimetype or "",
        body=_json(g.get("body", b"")),
        query=request.args.to_dict(),
        credentials=frozenset(name for name in CREDENTIAL_HEADERS if name in request.headers),
    )


def _json(text: bytes) -> Any:
    try:
        return json.loads(text, parse_float=Decimal, parse_int=_whole)
    except (ValueError, RecursionError):
        return None


def _whole(digits: str) -> int | Decimal:
    # Python refuses to read very long integers; a decimal takes any.
    return int(digits) if len(digits) < 100 else Decimal(digits)


@pytest.fixture(autouse=True)
def watched(request: pytest.FixtureRequest) -> Iterator[None]:
    """Note what a test shows of the rules that name it."""
    rules = _BY_TEST.get(without_parameters(request.node.nodeid), ())
    if not rules:
        yield
        return
    notes: dict[str, set[str]] = {rule.id: set() for rule in rules}

    def note(app: Flask, response: Response, **extra: object) -> None:
        call = call_of(app, response)
        for rule in rules:
            if call is not None:
                notes[rule.id] |= shown(rule, call)

    with request_finished.connected_to(note):
        yield
    needed = {rule.id: sorted(notes[rule.id] & wanted(rule)) for rule in rules}
    request.node.user_properties.append((NOTES, needed))


class Judge:
    """Collects the notes of a run, and says at its end which rules were not shown."""

    def __init__(self, rules: tuple[Rule, ...] = RULES) -> None:
        self._rules = rules
        self._notes: dict[tuple[str, str], set[str]] = defaultdict(set)
        self._outcomes: dict[str, set[str]] = defaultdict(set)
        self.faults: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        test = without_parameters(report.nodeid)
        if report.when == "call" or report.outcome != "passed":
            self._outcomes[test].add(report.outcome)
        if report.when == "teardown":
            for name, notes in report.user_properties:
                if name == NOTES and isinstance(notes, dict):
                    for rule, sentences in notes.items():
                        self._notes[test, rule] |= set(sentences)

    def judge(self) -> list[str]:
        """What is wrong with the rules whose tests have all run."""
        return [fault for rule in self._rules for fault in self._faults_of(rule)]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        ended_early = session.shouldstop or session.shouldfail or session.exitstatus == pytest.ExitCode.INTERRUPTED
        if not ended_early and not _is_narrowed(session.config):
            self.faults = self.judge()
        if self.faults and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.faults:
            terminalreporter.section("rules of the service that their tests do not show", red=True)
            for fault in self.faults:
                terminalreporter.write_line(fault)

    def _faults_of(self, rule: Rule) -> Iterator[str]:
        tests = rule.shown_by + rule.kept_by_client
        # One that failed has been told of already, and one that did not run tells nothing.
        if any(not self._outcomes[test] or "failed" in self._outcomes[test] for test in tests):
            return
        for test in tests:
            if "passed" not in self._outcomes[test]:
                yield f"{rule.id}: {test} was skipped"
        needed = wanted(rule)
        for test in rule.shown_by:
            if needed and not self._notes[test, rule.id]:
                yield f"{rule.id}: {test} does not call {' or '.join(rule.on)}"
        for sentence in sorted(needed - set().union(*(self._notes[test, rule.id] for test in rule.shown_by))):
            yield f"{rule.id}: no test shows that {sentence}"


def _is_narrowed(config: pytest.Config) -> bool:
    """Whether a part of a test's parameters may have been left out."""
    option = config.option
    if option.markexpr not in {"", *config.getini("addopts")}:
        return True
    chosen = (option.keyword, option.deselect, getattr(option, "lf", False), option.collectonly)
    return any(chosen) or any("[" in argument for argument in config.args)


def pytest_configure(config: pytest.Config) -> None:
    # Workers of xdist send their reports to the process that started them.
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Judge(), "rules-judge")
