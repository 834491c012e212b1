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


def test_fields_that_come_go_or_change_are_noticed() -> None:
    described = document(create_sandbox())
    sent = described["components"]["schemas"]["NewCheckout"]
    sent["properties"]["colour"] = {"type": "string"}
    sent["properties"]["inputCurrency"]["type"] = "integer"
    sent["required"].append("outputCurrency")
    del sent["properties"]["inputAmount"]
    said = said_by(described)
    assert said - listed() == {
        "POST /v1/checkout takes colour?: string",
        "POST /v1/checkout takes inputCurrency: integer",
        "POST /v1/checkout takes outputCurrency: string | null",
    }
    assert listed() - said == {
        "POST /v1/checkout takes inputCurrency: string",
        "POST /v1/checkout takes inputAmount?: number",
        "POST /v1/checkout takes outputCurrency?: string",
    }
