"""Planted faults still find the code that they change; `tests/faults` runs the tests that must notice them."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

from tests.faults.planting import Edit
from tests.faults.table import FAULTS


def source(edit: Edit) -> str:
    spec = find_spec(edit.module)
    assert spec, edit
    assert spec.origin, edit
    return Path(spec.origin).read_text()


def test_each_fault_can_be_planted() -> None:
    for _, *edits in FAULTS.values():
        for edit in edits:
            edit.plant(ast.parse(source(edit)))
