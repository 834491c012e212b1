"""Imports point one way, from folder to folder. The table below is the rule; `docs/contributing.md` explains it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import flask_paycheckout

PACKAGE = Path(flask_paycheckout.__file__).parent

# From the lowest layer to the highest. A folder, or a module of the root, imports from its own layer and those below.
LAYERS = (
    {"errors", "clock", "totals", "text", "signals", "shop_functions", "translations", "client"},
    {"config", "security", "database"},
    {"service"},
    {"events"},
    {"checkouts"},
    {"payouts"},
    {"books"},
    {"models"},
    {"parts"},
    {"rounds"},
    {"runtime"},
    {"views", "doctor", "cli", "tasks", "admin", "metrics"},
    {"extension"},
)
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}
# The names of the package, its pytest plugin, and the service to test against.
BESIDE = {"__init__", "testing", "sandbox"}
WEB = {"flask", "werkzeug", "jinja2", "markupsafe"}
DATABASE = {"sqlalchemy", "flask_sqlalchemy", "flask_sqlalchemy_lite"}
OPTIONAL = {
    *("babel", "celery", "flask_admin", "flask_babel", "flask_sqlalchemy", "flask_sqlalchemy_lite", "fpdf"),
    *("prometheus_client", "psycopg", "requests", "segno", "waitress"),
}


@cache
def imports(file: Path, *, late: bool = True, typing_only: bool = True) -> tuple[str, ...]:
    """The modules that a file imports, in full.

    :param late: with those inside functions.
    :param typing_only: with those that only type checkers follow.
    """
    return tuple(_imports(ast.parse(file.read_text(encoding="utf-8")).body, late, typing_only))


def _imports(body: list[ast.stmt], late: bool, typing_only: bool) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not _left_out(node, late, typing_only):
            for field in ("body", "orelse", "finalbody"):
                yield from _imports(getattr(node, field, []), late, typing_only)
            for handler in getattr(node, "handlers", []):
                yield from _imports(handler.body, late, typing_only)


def _left_out(node: ast.stmt, late: bool, typing_only: bool) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return not late
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not typing_only


def part_of(file: Path) -> str:
    """The folder of the package, or the module of its root, to which a file belongs."""
    first = file.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def ours(modules: tuple[str, ...]) -> set[str]:
    """The parts of the package among imported modules."""
    names = (module.split(".") for module in modules)
    return {(name[1] if len(name) > 1 else "__init__") for name in names if name[0] == "flask_paycheckout"}


def foreign(modules: tuple[str, ...]) -> set[str]:
    """The top-level names of imported modules."""
    return {module.split(".")[0] for module in modules}


FILES = sorted(PACKAGE.rglob("*.py"))
LAYERED = [file for file in FILES if part_of(file) not in BESIDE]


def test_every_part_of_the_package_has_its_layer() -> None:
    assert {part_of(file) for file in FILES} - BESIDE == set(LEVEL)
    assert len(list(PACKAGE.glob("*.py"))) <= 15


def test_imports_point_downwards() -> None:
    upwards = {
        f"{file.relative_to(PACKAGE)} must not import {part}"
        for file in LAYERED
        for part in ours(imports(file, typing_only=False))
        # The command line loads the sandbox, whose command it offers, when it is used.
        if (part_of(file), part) != ("cli", "sandbox") and LEVEL.get(part, len(LAYERS)) > LEVEL[part_of(file)]
    }
    assert upwards == set()


def test_no_imports_run_in_circles() -> None:
    """Neither between folders nor between modules, however long the way."""
    for depth in (2, 4):
        graph: dict[str, set[str]] = {}
        for file in LAYERED:
            modules = {".".join(name.split(".")[:depth]) for name in imports(file, typing_only=False)}
            node = ".".join(("flask_paycheckout", *file.relative_to(PACKAGE).with_suffix("").parts)[:depth])
            graph.setdefault(node, set()).update(modules - {node})
        graph = {node: {other for other in graph if _names(needs, other)} - {node} for node, needs in graph.items()}
        while graph:
            free = {node for node, needs in graph.items() if not needs & set(graph)}
            assert free, f"a circle among {sorted(graph)}"
            graph = {node: needs for node, needs in graph.items() if node not in free}


def _names(modules: set[str], node: str) -> bool:
    return any(f"{module}.".startswith(f"{node}.") for module in modules)


def test_flask_is_known_from_parts_upward() -> None:
    below = [file for file in LAYERED if LEVEL[part_of(file)] < LEVEL["parts"]]
    assert {file.name for file in below if foreign(imports(file)) & WEB} == set()


def test_the_database_is_known_from_database_upward() -> None:
    below = [file for file in LAYERED if LEVEL[part_of(file)] < LEVEL["database"]]
    assert {file.name for file in below if foreign(imports(file)) & DATABASE} == set()


@pytest.mark.parametrize(("part", "allowed"), [("client", {"client", "totals"}), ("sandbox", {"sandbox"})])
def test_client_and_sandbox_stand_alone(part: str, allowed: set[str]) -> None:
    files = [file for file in FILES if part_of(file) == part]
    assert set().union(*(ours(imports(file)) for file in files)) <= allowed
    if part == "client":
        assert not set().union(*(foreign(imports(file)) for file in files)) & (WEB | DATABASE | {"blinker", "click"})


def test_optional_libraries_and_the_sandbox_are_loaded_when_used() -> None:
    files = [file for file in FILES if part_of(file) not in {"sandbox", "tasks", "admin", "metrics"}]
    loaded = {file.name: imports(file, late=False, typing_only=False) for file in files}
    assert [name for name, needs in loaded.items() if foreign(needs) & OPTIONAL or "sandbox" in ours(needs)] == []


def test_the_http_library_is_loaded_at_one_place() -> None:
    """That module imports httpx2 where httpx is not installed, so no other may import either."""
    at_work = {file for file in FILES if {"httpx", "httpx2"} & foreign(imports(file, typing_only=False))}
    assert at_work == {PACKAGE / "client" / "transport.py"}
