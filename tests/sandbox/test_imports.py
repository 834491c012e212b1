"""The folders of the sandbox import in one direction, from lower lines only."""

from __future__ import annotations

from pathlib import Path

import flask_paycheckout.sandbox
from tests.test_imports import imports

HOME = Path(flask_paycheckout.sandbox.__file__).parent
# From the lowest line to the highest. A folder imports from itself and from the lines below its own.
LINES = """
world
wire
outgoing
auth
checkouts recipients
deposits disbursements
references transfer_proofs
payments
control
inspector terminal
"""
LEVEL = {folder: level for level, line in enumerate(LINES.strip().splitlines()) for folder in line.split()}


def test_a_folder_imports_from_lower_lines_only() -> None:
    files = list(HOME.glob("*/*.py"))
    assert {file.parent.name for file in files} == set(LEVEL)
    allowed = {folder: {folder} | {low for low in LEVEL if LEVEL[low] < LEVEL[folder]} for folder in LEVEL}
    # The command line imports the server only when it serves.
    allowed["terminal"].add("command")
    used = {
        str(file): {part_of(module) for module in imports(file)} - {""} - allowed[file.parent.name] for file in files
    }
    assert {file: above for file, above in used.items() if above} == {}


def part_of(module: str) -> str:
    """The folder of a module: `wire` for `flask_paycheckout.sandbox.wire.paging`; empty for foreign modules."""
    return [*module.split("."), "__init__"][2] if module.startswith("flask_paycheckout.") else ""
