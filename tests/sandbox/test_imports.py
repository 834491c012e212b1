"""The folders of the sandbox import in one direction, from lower layers only."""

from __future__ import annotations

from pathlib import Path

import pytest

import flask_paycheckout.sandbox
from tests.test_imports import foreign, imports

HOME = Path(flask_paycheckout.sandbox.__file__).parent
# From the lowest layer to the highest. A folder imports from itself and from the layers below its own.
LAYERS = (
    {"world"},
    {"wire"},
    {"outgoing"},
    {"auth"},
    {"checkouts", "recipients"},
    {"deposits", "disbursements"},
    {"references", "transfer_proofs"},
    {"payments"},
    {"control"},
    {"inspector", "terminal"},
)
# The command line loads the server when it is used.
LATE = {("terminal", "command")}
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}


def test_every_module_stands_in_a_folder_that_has_a_layer() -> None:
    assert {file.stem for file in HOME.glob("*.py")} == {
        "__init__",
        "__main__",
        "app",
        "command",
        "hooks",
    }
    assert {file.parent.name for file in HOME.glob("*/*.py")} == set(LEVEL)


@pytest.mark.parametrize("folder", LEVEL)
def test_a_folder_imports_from_lower_layers_only(folder: str) -> None:
    for file in (HOME / folder).glob("*.py"):
        others = {part_of(module) for module in imports(file) if module.startswith("flask_paycheckout.")} - {folder}
        above = {part for part in others if LEVEL.get(part, len(LAYERS)) >= LEVEL[folder]}
        assert not {part for part in above if (folder, part) not in LATE}, file


def part_of(module: str) -> str:
    """`wire` of `flask_paycheckout.sandbox.wire.paging`."""
    return [*module.split("."), "__init__"][2]


def test_the_sandbox_does_not_use_the_http_library_of_the_client() -> None:
    assert not {file for file in HOME.rglob("*.py") if "httpx" in foreign(imports(file))}
