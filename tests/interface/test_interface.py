"""The sandbox against the service's interface: every field that `facts.txt` lists, and a test for every other rule.

`rules.txt` names the test that shows each rule that is not about fields.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.wire.openapi import document
from tests.interface.document import said_by


def listed() -> set[str]:
    """Each listed fact, with its operation."""
    return {" ".join(fact) for fact in _lines("facts.txt")}


def _lines(file: str) -> set[tuple[str, str]]:
    """Each indented line of a file with the unindented line above it."""
    lines_, above = set(), ""
    for line in (Path(__file__).parent / file).read_text().splitlines():
        if line.startswith(" "):
            lines_.add((above, line.strip()))
        else:
            above = line
    return lines_


def test_the_document_has_every_field_of_the_interface_and_no_other() -> None:
    facts = said_by(document(create_sandbox()))
    assert sorted(facts - listed()) == [], "these are new: add them to facts.txt if the service has them"
    assert sorted(listed() - facts) == [], "the service has these, the sandbox has not"


def test_each_rule_of_the_interface_is_shown_by_a_test_that_exists() -> None:
    for name, rule in _lines("rules.txt"):
        file, _, test = name.partition("::")
        assert hasattr(import_module(f"tests.{file.removesuffix('.py').replace('/', '.')}"), test), rule
