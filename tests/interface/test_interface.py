"""The sandbox's OpenAPI document has every field of the interface that `facts.txt` lists, and no other.

Other rules of the interface are marked on the tests of the sandbox that show them: `@pytest.mark.rule("...")`.
"""

from __future__ import annotations

from pathlib import Path

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.wire.openapi import document
from tests.interface.document import said_by


def listed() -> set[str]:
    """Each fact with the operation above it."""
    facts, operation = set(), ""
    for line in (Path(__file__).parent / "facts.txt").read_text().splitlines():
        if line.startswith(" "):
            facts.add(f"{operation} {line.strip()}")
        else:
            operation = line
    return facts


def test_the_document_has_every_field_of_the_interface_and_no_other() -> None:
    said = said_by(document(create_sandbox()))
    assert sorted(said - listed()) == [], "these are new: add them to facts.txt if the service has them"
    assert sorted(listed() - said) == [], "the service has these, the sandbox has not"
