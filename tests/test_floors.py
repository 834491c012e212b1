"""No package version that we require has a vulnerability that `advisories.toml` names."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

TESTS = Path(__file__).parent
ADVISORIES = tomllib.loads((TESTS / "advisories.toml").read_text(encoding="utf-8"))["advisory"]
PROJECT = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def floors() -> Iterator[tuple[str, Version]]:
    """Each required package, with the lowest version that its line allows."""
    for listed in (PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()):
        for requirement in map(Requirement, listed):
            for bound in requirement.specifier:
                if bound.operator == ">=":
                    yield requirement.name.lower(), Version(bound.version)


def test_no_floor_lets_in_a_known_weakness() -> None:
    below = [
        f"{package}>={floor} lets in {advisory['id']}, which {advisory['fixed']} fixed"
        for package, floor in floors()
        for advisory in ADVISORIES
        if advisory["package"] == package and floor < Version(advisory["fixed"])
    ]
    assert not below
    assert "flask" in dict(floors())
