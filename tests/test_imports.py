"""Imports point one way. Read from the source, so that a line that is crossed fails here and not in a shop."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import flask_paycheckout

PACKAGE = Path(flask_paycheckout.__file__).parent

# From the lowest layer to the highest; a module may import from lower layers, and from its own.
LAYERS = (
    (
        "errors",
        "clock",
        "signals",
        "database_errors",
        "totals",
        "origins",
        "checks",
        "telling",
        "decisions",
        "permission",
        "catalogues",
        "order_ids",
    ),
    (
        "states",
        "verdict",
        "payments",
        "config",
        "client",
        "tokens",
        "schedule",
        "read_window",
        "direct_reads",
        "flights",
        "breaker",
        "service",
        "server_threads",
        "history",
        "host_session",
        "leases",
    ),
    ("models", "checkout_statements", "events", "event_statements", "superseded", "receivers", "service_table", "logs"),
    ("shop_transaction",),
    ("attempts", "outbox", "paybacks", "service_record"),
    ("checkouts", "settlement"),
    (
        "reconcile",
        "explain",
        "report",
        "alarm_checks",
        "orders",
        "notices",
        "standing",
        "database_checks",
        "payment_backfill",
    ),
    ("runtime",),
    ("views", "cli", "tasks", "doctor", "admin"),
    ("extension",),
)
LEVEL = {module: level for level, modules in enumerate(LAYERS) for module in modules}
FLASK_FROM = LEVEL["runtime"]
# What stands beside the layers: the names of the package, its pytest plugin, and the service to test against.
BESIDE = {"__init__", "testing", "sandbox"}


def files(part: str = "") -> list[Path]:
    return sorted((PACKAGE / part).rglob("*.py"))


def name_of(file: Path) -> str:
    return ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts)


def part_of(module: str) -> str:
    """The first name below the package: `client` of `flask_paycheckout.client.errors`."""
    return module.split(".")[1] if "." in module else "__init__"


def imports(file: Path, *, lazy: bool = True, typing_only: bool = True) -> Iterator[str]:
    """The modules that a file imports.

    :param lazy: those inside functions too.
    :param typing_only: those that only type checkers follow too.
    """
    yield from _imports(_statements(file), lazy, typing_only)


@cache
def _statements(file: Path) -> list[ast.stmt]:
    """A file's statements, parsed once for all tests."""
    return ast.parse(file.read_text()).body


def _imports(body: list[ast.stmt], lazy: bool, typing_only: bool) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are written in full"
            assert node.module is not None
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif not _left_out(node, lazy, typing_only):
            for block in _blocks(node):
                yield from _imports(block, lazy, typing_only)


def _left_out(node: ast.stmt, lazy: bool, typing_only: bool) -> bool:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return not lazy
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not typing_only


def _blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    blocks: list[list[ast.stmt]] = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
    return blocks + [handler.body for handler in getattr(node, "handlers", [])]


def ours(found: Iterator[str]) -> set[str]:
    return {module for module in found if module.split(".")[0] == "flask_paycheckout"}


def third_party(found: Iterator[str]) -> set[str]:
    return {module.split(".")[0] for module in found}


EXTENSION = [file for file in files() if part_of(name_of(file)) not in BESIDE]


def test_the_reader_finds_imports_wherever_they_stand(tmp_path: Path) -> None:
    source = tmp_path / "odd.py"
    source.write_text(
        "import a\nif TYPE_CHECKING:\n    import b\ntry:\n    import c\nexcept ImportError:\n    from d import e\n"
        "class F:\n    def g(self):\n        import h\nwith x:\n    import i\nif y:\n    pass\nelse:\n    import j\n"
    )
    assert list(imports(source)) == ["a", "b", "c", "d.e", "h", "i", "j"]
    assert "h" not in set(imports(source, lazy=False))
    assert "b" not in set(imports(source, typing_only=False))


def test_every_module_has_its_layer() -> None:
    parts = {part_of(name_of(file)) if file.parent != PACKAGE else file.stem for file in files()}
    assert parts - BESIDE <= set(LEVEL), "say in LAYERS where a new module stands"


def test_imports_point_downwards() -> None:
    upward = {
        f"{name_of(file)} must not know {module}"
        for file in EXTENSION
        for module in ours(imports(file, typing_only=False))
        if LEVEL.get(part_of(module), len(LAYERS)) > LEVEL[part_of(name_of(file))]
        # Lazily; held below.
        and (part_of(name_of(file)), part_of(module)) != ("cli", "sandbox")
    }
    assert upward == set()


def test_no_layer_goes_round_in_circles() -> None:
    """Within a layer too: whoever imports is not imported back, however long the way."""
    graph: dict[str, set[str]] = {}
    for file in EXTENSION:
        parts = {part_of(module) for module in ours(imports(file, typing_only=False))}
        graph.setdefault(part_of(name_of(file)), set()).update(parts - {part_of(name_of(file))} - BESIDE)
    while graph:
        free = {part for part, needs in graph.items() if not needs & set(graph)}
        assert free, f"a circle among {sorted(graph)}"
        graph = {part: needs for part, needs in graph.items() if part not in free}


def test_the_client_knows_nothing_of_ours_but_totals_and_no_flask() -> None:
    foreign = {"flask", "flask_sqlalchemy", "sqlalchemy", "werkzeug", "blinker", "click"}
    for file in files("client"):
        assert {part_of(module) for module in ours(imports(file))} <= {"client", "totals"}, name_of(file)
        assert not third_party(imports(file)) & foreign, name_of(file)


def test_the_sandbox_knows_nothing_of_ours_outside_itself() -> None:
    for file in files("sandbox"):
        assert {part_of(module) for module in ours(imports(file))} <= {"sandbox"}, name_of(file)


def test_nothing_but_test_helpers_and_the_command_know_the_sandbox_and_only_when_used() -> None:
    outside = [file for file in files() if part_of(name_of(file)) != "sandbox"]
    knowing = {
        name_of(file)
        for file in outside
        if any(part_of(module) == "sandbox" or module.endswith(".sandbox") for module in ours(imports(file)))
    }
    assert knowing == {"flask_paycheckout.testing", "flask_paycheckout.cli"}
    early = {module for file in outside for module in ours(imports(file, lazy=False, typing_only=False))}
    assert not [module for module in early if part_of(module) == "sandbox"]


@pytest.mark.parametrize("library", ["httpx", "httpcore"])
def test_the_http_library_is_named_in_one_file_only(library: str) -> None:
    at_work = {name_of(file) for file in files() if library in third_party(imports(file, typing_only=False))}
    at_work -= {name for name in at_work if part_of(name) == "sandbox"}
    assert at_work == {"flask_paycheckout.client.http_library"}
    in_types = {name_of(file) for file in files() if "httpx" in third_party(imports(file))}
    assert {part_of(name) for name in in_types} <= {"client", "extension", "testing", "sandbox"}


def test_flask_is_known_from_runtime_upward() -> None:
    for file in EXTENSION:
        if LEVEL[part_of(name_of(file))] < FLASK_FROM:
            assert not third_party(imports(file)) & {"flask", "werkzeug", "jinja2", "markupsafe"}, name_of(file)


def test_the_database_is_known_where_rows_are_kept_and_nowhere_in_the_rules() -> None:
    rules = {"states", "verdict", "payments", "schedule", "read_window"}
    pure = rules | {"errors", "clock", "signals", "totals", "origins", "config", "tokens"}
    for file in EXTENSION:
        if part_of(name_of(file)) in pure:
            assert not third_party(imports(file)) & {"sqlalchemy", "flask_sqlalchemy"}, name_of(file)


def test_optional_parts_are_loaded_when_used() -> None:
    optional = {"babel", "flask_babel", "celery", "segno", "reportlab", "fpdf", "psycopg", "requests", "flask_admin"}
    for file in files():
        if part_of(name_of(file)) != "sandbox" and file.stem not in ("tasks", "admin"):
            assert not third_party(imports(file, lazy=False, typing_only=False)) & optional, name_of(file)
