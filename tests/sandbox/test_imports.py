"""The folders of the sandbox import in one direction only."""

from __future__ import annotations

import pytest

from tests.test_imports import PACKAGE, files, imports, name_of, ours

# Each folder may import from those in the lines above its own, and from itself.
LAYERS = (
    ("world", "money"),
    ("wire",),
    ("outgoing",),
    ("auth",),
    ("checkouts", "recipients", "disbursements"),
    ("deposits", "fiat_disbursements", "crypto_disbursements"),
    ("references", "transfer_proofs"),
    ("payments",),
    ("levers",),
    ("inspector",),
)
LEVEL = {folder: level for level, folders in enumerate(LAYERS) for folder in folders}
ROOT = {"__init__", "__main__", "app", "command", "hooks"}


def part_of(module: str) -> str:
    """`wire` of `flask_paycheckout.sandbox.wire.paging`."""
    return [*module.split("."), "__init__"][2]


def test_every_folder_has_its_layer() -> None:
    assert {path.stem for path in (PACKAGE / "sandbox").glob("*.py")} == ROOT
    assert {path.parent.name for path in (PACKAGE / "sandbox").glob("*/*.py")} == set(LEVEL)


@pytest.mark.parametrize("folder", LEVEL)
def test_a_folder_imports_from_lower_layers_only(folder: str) -> None:
    upward = {
        f"{name_of(file)} must not import {module}"
        for file in files(f"sandbox/{folder}")
        for module in ours(imports(file))
        if part_of(module) != folder and LEVEL.get(part_of(module), len(LAYERS)) >= LEVEL[folder]
    }
    assert not upward
