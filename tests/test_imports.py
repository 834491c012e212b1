"""Imports point one way, from folder to folder. The list below is the rule; `docs/contributing.md` explains it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import flask_paycheckout

PACKAGE = Path(flask_paycheckout.__file__).parent

# From the lowest line to the highest. A folder, or a module of the root, imports from its own line and those below.
LINES = """
errors clock totals text per_process signals shop_functions translations client
config security database
wiring
service
events
checkouts
payouts
books
models
rounds
runtime
views doctor cli tasks admin metrics
extension
"""
LEVEL = {part: level for level, line in enumerate(LINES.strip().splitlines()) for part in line.split()}
# The names of the package, its pytest plugin, and the service to test against.
BESIDE = {"__init__", "testing", "sandbox"}
WEB = {"flask", "werkzeug", "jinja2", "markupsafe"}
DATABASE = {"sqlalchemy", "flask_sqlalchemy", "flask_sqlalchemy_lite"}
OPTIONAL = {
    *("babel", "celery", "flask_admin", "flask_babel", "flask_sqlalchemy", "flask_sqlalchemy_lite", "fpdf"),
    *("prometheus_client", "psycopg", "requests", "segno", "waitress"),
}


@cache
def imports(file: Path, *, at_once: bool = False) -> frozenset[str]:
    """The modules that a file imports, in full.

    :param at_once: only imports that run when the module is loaded, not in functions or for type checkers.
    """
    return frozenset(_imports(ast.parse(file.read_text(encoding="utf-8")).body, at_once))


def _imports(body: list[ast.stmt], at_once: bool) -> Iterator[str]:
    for node in body:
        for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not (at_once and (for_types or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))):
            for block in (node, *getattr(node, "handlers", [])):
                for field in ("body", "orelse", "finalbody"):
                    yield from _imports(getattr(block, field, []), at_once)


def part_of(file: Path) -> str:
    """The folder of the package, or the module of its root, to which a file belongs."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def ours(modules: frozenset[str]) -> set[str]:
    """The parts of the package among imported modules."""
    names = (module.split(".") for module in modules)
    return {(name[1] if len(name) > 1 else "__init__") for name in names if name[0] == "flask_paycheckout"}


def foreign(modules: frozenset[str]) -> set[str]:
    """The top-level names of imported modules."""
    return {module.split(".")[0] for module in modules}


FILES = sorted(PACKAGE.rglob("*.py"))
LAYERED = [file for file in FILES if part_of(file) not in BESIDE]


def test_imports_point_downwards() -> None:
    """The rule includes imports for type checkers alone, and imports inside functions."""
    assert {part_of(file) for file in LAYERED} == set(LEVEL)
    allowed = {part: {other for other in LEVEL if LEVEL[other] <= LEVEL[part]} for part in LEVEL}
    # The command line imports the sandbox only when its command is used.
    allowed["cli"].add("sandbox")
    assert {str(file): up for file in LAYERED if (up := ours(imports(file)) - allowed[part_of(file)])} == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    paths = {file: file.relative_to(PACKAGE.parent).with_suffix("").parts for file in LAYERED}
    names = {".".join(parts).removesuffix(".__init__"): file for file, parts in paths.items()}

    def module_of(imported: str) -> str:
        """The module that gives an imported name."""
        return imported if imported in names or not imported else module_of(imported.rpartition(".")[0])

    graph = {name: {module_of(module) for module in imports(file)} - {name, ""} for name, file in names.items()}
    # The error names the modules of a circle.
    TopologicalSorter(graph).prepare()


@pytest.mark.parametrize(("library", "lowest"), [(WEB, "wiring"), (DATABASE, "database")])
def test_libraries_are_known_from_one_line_upward(library: set[str], lowest: str) -> None:
    below = [file for file in LAYERED if LEVEL[part_of(file)] < LEVEL[lowest]]
    assert {file.name for file in below if foreign(imports(file)) & library} == set()


@pytest.mark.parametrize(
    ("part", "allowed"), [("client", {"client", "totals", "per_process"}), ("sandbox", {"sandbox"})]
)
def test_client_and_sandbox_stand_alone(part: str, allowed: set[str]) -> None:
    of_part = frozenset().union(*(imports(file) for file in FILES if part_of(file) == part))
    assert ours(of_part) <= allowed
    assert part != "client" or not foreign(of_part) & (WEB | DATABASE | {"blinker", "click"})


def test_optional_libraries_and_the_sandbox_are_loaded_when_used() -> None:
    files = [file for file in FILES if part_of(file) not in {"sandbox", "tasks", "admin", "metrics"}]
    loaded = {file.name: imports(file, at_once=True) for file in files}
    assert [name for name, needs in loaded.items() if foreign(needs) & OPTIONAL or "sandbox" in ours(needs)] == []


def test_the_http_library_is_loaded_at_one_place() -> None:
    """That module imports httpx2 where httpx is not installed, so no other may import either."""
    at_work = {file for file in FILES if {"httpx", "httpx2"} & foreign(imports(file, at_once=True))}
    assert at_work == {PACKAGE / "client" / "transport.py"}
