"""The table of rules: every rule has tests, every test exists, and nothing that the service does is without a rule."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.wire.openapi import document
from tests.rules.document import claimed_by, said_by
from tests.rules.table import RULES

_ROOT = Path(__file__).parents[2]
_NOT_RUN = {"skip", "skipif", "xfail", "soak"}
_SECONDS = 300


@pytest.fixture(scope="module")
def collected() -> dict[str, list[str]]:
    """Every test in the files that rules name, with its marks."""
    files = sorted({test.partition("::")[0] for rule in RULES for test in rule.shown_by + rule.kept_by_client})
    command = [sys.executable, "-m", "tests.rules.collecting", *(name for name in files if (_ROOT / name).is_file())]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    marks = json.loads(done.stdout.splitlines()[-1])
    assert isinstance(marks, dict)
    return marks


def test_each_rule_has_a_test() -> None:
    assert [rule.id for rule in RULES if not rule.shown_by] == []


def test_each_test_that_a_rule_names_is_collected(collected: dict[str, list[str]]) -> None:
    assert [
        f"{rule.id}: {test}" for rule in RULES for test in rule.shown_by + rule.kept_by_client if test not in collected
    ] == []


def test_none_of_them_is_left_out_of_runs(collected: dict[str, list[str]]) -> None:
    assert [
        f"{rule.id}: {test}"
        for rule in RULES
        for test in rule.shown_by + rule.kept_by_client
        if _NOT_RUN & set(collected.get(test, ()))
    ] == []


def test_what_shows_a_rule_is_a_test_of_the_sandbox_and_what_keeps_it_is_none() -> None:
    assert [test for rule in RULES for test in rule.shown_by if not test.startswith("tests/sandbox/")] == []
    assert [test for rule in RULES for test in rule.kept_by_client if test.startswith("tests/sandbox/")] == []


def test_ids_and_texts_are_unique() -> None:
    for texts in ([rule.id for rule in RULES], [rule.says for rule in RULES]):
        assert [text for text, times in Counter(texts).items() if times > 1] == []


def test_a_text_is_one_short_sentence() -> None:
    assert [rule.id for rule in RULES if not rule.says.endswith(".") or not 20 < len(rule.says) < 140] == []


def test_everything_in_the_document_has_a_rule_and_every_rule_is_in_the_document() -> None:
    said, claimed = said_by(document(create_sandbox())), claimed_by(RULES)
    assert sorted(said - claimed) == [], "write rules for these"
    assert sorted(claimed - said) == [], "the service does not do these any more"


def test_every_operation_has_rules_beyond_its_fields() -> None:
    operations = {
        f"{method.upper()} {path}" for path, item in document(create_sandbox())["paths"].items() for method in item
    }
    with_credentials = {operation for rule in RULES if rule.needs for operation in rule.on}
    shown = {operation for rule in RULES if not rule.needs and not rule.is_deprecated for operation in rule.on}
    assert operations == with_credentials == shown
