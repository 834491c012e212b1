"""What the package imports and offers: nothing of its neighbours, and one small door."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import flask_paycheckout.sandbox

HOME = Path(flask_paycheckout.sandbox.__file__).parent
MODULES = sorted(HOME.rglob("*.py"))


def imported(module: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("module", MODULES, ids=lambda module: str(module.relative_to(HOME)))
def test_it_imports_nothing_of_the_rest_and_no_http_client(module: Path) -> None:
    own = "flask_paycheckout.sandbox"
    foreign = {name for name in imported(module) if name.split(".")[0] == "flask_paycheckout"}
    assert not {name for name in foreign if name != own and not name.startswith(f"{own}.")}
    assert "httpx" not in {name.split(".")[0] for name in imported(module)}


def test_the_public_names() -> None:
    assert sorted(flask_paycheckout.sandbox.__all__) == ["ConnectionDropped", "create_sandbox", "sandbox_clock"]
