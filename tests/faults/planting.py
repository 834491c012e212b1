"""Edits of the product's syntax, made while a module or template is loaded; no file changes.

Each names a scope, as `checkouts.settlement:Settlement.apply` below `flask_paycheckout`, and what changes there.
"""

from __future__ import annotations

import ast
import gc
import inspect
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from jinja2 import Environment, FileSystemLoader

PACKAGE = "flask_paycheckout"
_DEFINED = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class NotPlanted(Exception):
    """The scope, or what an edit changes in it, is no longer there: plant the fault anew."""


@dataclass(frozen=True)
class Edit(ABC):
    """A change of one scope; without a name behind the colon it is the whole module."""

    scope: str

    @property
    def module(self) -> str:
        return f"{PACKAGE}.{self.scope.partition(':')[0]}".removesuffix(".")

    def plant(self, tree: ast.Module) -> None:
        node: ast.AST = tree
        for name in filter(None, self.scope.partition(":")[2].split(".")):
            node = next((inner for inner in _below(node) if _defines(inner, name)), node)
            if not _defines(node, name):
                raise NotPlanted(f"{self.scope} is not defined")
        if not self.change(node):
            raise NotPlanted(f"nothing to change for {self}")

    @abstractmethod
    def change(self, node: Any) -> int:
        """Change the scope; gives how often that was possible."""


@dataclass(frozen=True)
class Swap(Edit):
    """Another expression takes the place of one, wherever that stands in the scope."""

    old: str
    new: str

    def change(self, node: Any) -> int:
        return _replace(node, ast.dump(_expression(self.old)), _expression(self.new))


@dataclass(frozen=True)
class Never(Edit):
    """An `if` whose condition names this never holds."""

    named: str

    def change(self, node: Any) -> int:
        found = [inner for inner in ast.walk(node) if isinstance(inner, ast.If) and self.named in _names(inner.test)]
        for inner in found:
            inner.test = ast.Constant(value=False)
        return len(found)


@dataclass(frozen=True)
class First(Edit):
    """Statements at the beginning of a function."""

    code: str

    def change(self, node: Any) -> int:
        node.body[:0] = ast.parse(self.code).body
        return 1


@dataclass(frozen=True)
class Value(Edit):
    """The variable that the scope names gets another value."""

    code: str

    def change(self, node: Any) -> int:
        node.value = _expression(self.code)
        return 1


@dataclass(frozen=True)
class Drop(Edit):
    """The statement that calls this does nothing."""

    called: str

    def change(self, node: Any) -> int:
        return self._put(node, lambda statement: [ast.Pass()])

    def _put(self, node: Any, instead: Any) -> int:
        found = list(_calling(node, self.called))
        for body, statement in found:
            at = body.index(statement)
            body[at : at + 1] = instead(statement)
        return len(found)


@dataclass(frozen=True)
class Before(Drop):
    """Statements before the one that calls this."""

    code: str

    def change(self, node: Any) -> int:
        return self._put(node, lambda statement: [*ast.parse(self.code).body, statement])


@dataclass(frozen=True)
class After(Before):
    """Statements behind the one that calls this."""

    def change(self, node: Any) -> int:
        return self._put(node, lambda statement: [statement, *ast.parse(self.code).body])


@dataclass(frozen=True)
class Said(Edit):
    """Strings in the scope say something else."""

    old: str
    new: str

    def change(self, node: Any) -> int:
        found = [
            inner
            for inner in ast.walk(node)
            if isinstance(inner, ast.Constant) and isinstance(inner.value, str) and self.old in inner.value
        ]
        for inner in found:
            inner.value = str(inner.value).replace(self.old, self.new)
        return len(found)


@dataclass(frozen=True)
class InTemplate(Edit):
    """Another piece of a template takes the place of one; the scope is its file."""

    old: str
    new: str

    @property
    def module(self) -> str:
        return ""

    def change(self, node: Any) -> int:
        raise NotImplementedError


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _below(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes in a scope, without those in scopes inside it."""
    for inner in ast.iter_child_nodes(node):
        yield inner
        if not isinstance(inner, _DEFINED):
            yield from _below(inner)


def _defines(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Assign):
        return any(_names(target) == {name} for target in node.targets)
    if isinstance(node, ast.AnnAssign):
        return _names(node.target) == {name}
    return isinstance(node, _DEFINED) and node.name == name


def _names(node: ast.AST) -> set[str]:
    inner = list(ast.walk(node))
    return {one.id for one in inner if isinstance(one, ast.Name)} | {
        one.attr for one in inner if isinstance(one, ast.Attribute)
    }


def _replace(node: ast.AST, old: str, new: ast.expr) -> int:
    found = 0
    for field, value in ast.iter_fields(node):
        for at, inner in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(inner, ast.AST):
                continue
            if ast.dump(inner) != old:
                found += _replace(inner, old, new)
            elif isinstance(value, list):
                value[at], found = new, found + 1
            else:
                setattr(node, field, new)
                found += 1
    return found


def _calling(node: ast.AST, called: str) -> Iterator[tuple[list[ast.stmt], ast.stmt]]:
    """The simple statements with this call, each with the block that it stands in."""
    for block in list(ast.walk(node)):
        for value in [value for _, value in ast.iter_fields(block) if isinstance(value, list)]:
            for statement in [one for one in value if isinstance(one, ast.stmt) and not hasattr(one, "body")]:
                calls = (one.func for one in ast.walk(statement) if isinstance(one, ast.Call))
                if any(getattr(one, "attr", getattr(one, "id", None)) == called for one in calls):
                    yield value, statement


class _Loader(SourceFileLoader):
    edits: Sequence[Edit] = ()

    def get_code(self, fullname: str) -> CodeType | None:
        tree = ast.parse(self.get_data(self.get_filename(fullname)))
        for edit in self.edits:
            edit.plant(tree)
        return compile(ast.fix_missing_locations(tree), self.get_filename(fullname), "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def __init__(self, edits: Iterable[Edit]) -> None:
        self._edits = tuple(edits)

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        edits = [edit for edit in self._edits if edit.module == fullname]
        spec = PathFinder.find_spec(fullname, path) if edits else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin)
            spec.loader.edits = edits
        return spec


def plant(edits: Sequence[Edit]) -> None:
    """Load the product with these edits, in this process, which has not loaded it yet."""
    sys.meta_path.insert(0, _Finder(edits))
    for edit in edits:
        if edit.module:
            import_module(edit.module)
    _plant_in_templates([edit for edit in edits if isinstance(edit, InTemplate)])


Functions = dict[tuple[str, str, int], list[FunctionType]]
"""Loaded functions of the product, by the place and the name of their code."""


def functions_of_product() -> Functions:
    found: Functions = {}
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and str(one.__module__).startswith(PACKAGE):
            found.setdefault(_place(one.__code__), []).append(one)
    return found


def plant_into(functions: Functions, edits: Sequence[Edit]) -> bool:
    """Plant edits into what this process has loaded; False when they are in code that ran while it was loaded."""
    loaded = [edit for edit in edits if edit.module in sys.modules]
    for name in {edit.module for edit in loaded}:
        file = str(sys.modules[name].__file__)
        whole, planted = (ast.parse(Path(file).read_bytes()) for _ in range(2))
        for edit in loaded:
            if edit.module == name:
                edit.plant(planted)
        before, after = (
            compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True) for tree in (whole, planted)
        )
        for code in _changed(before, after):
            if not code.co_flags & inspect.CO_NEWLOCALS or _place(code) not in functions:
                return False
            for one in _with_inner(code):
                for function in functions.get(_place(one), ()):
                    function.__code__ = one
    plant([edit for edit in edits if edit not in loaded])
    return True


def _place(code: CodeType) -> tuple[str, str, int]:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _changed(before: CodeType, after: CodeType) -> Iterator[CodeType]:
    """The outermost code that differs: a function, or a class or module that says something else itself."""
    if before == after:
        return
    if after.co_flags & inspect.CO_NEWLOCALS or _without_inner(before) != _without_inner(after):
        yield after
    else:
        yield from (one for pair in zip(_inner(before), _inner(after), strict=True) for one in _changed(*pair))


def _inner(code: CodeType) -> list[CodeType]:
    return [one for one in code.co_consts if isinstance(one, CodeType)]


def _with_inner(code: CodeType) -> Iterator[CodeType]:
    yield code
    yield from (one for inner in _inner(code) for one in _with_inner(inner))


def _without_inner(code: CodeType) -> CodeType:
    return code.replace(co_consts=tuple(one for one in code.co_consts if not isinstance(one, CodeType)))


def _plant_in_templates(edits: Sequence[InTemplate]) -> None:
    read = FileSystemLoader.get_source

    def planted(loader: FileSystemLoader, environment: Environment, template: str) -> Any:
        source, *rest = read(loader, environment, template)
        for edit in edits:
            if template.endswith(edit.scope):
                if edit.old not in source:
                    raise NotPlanted(f"nothing to change for {edit}")
                source = source.replace(edit.old, edit.new)
        return source, *rest

    FileSystemLoader.get_source = planted  # type: ignore[assignment,method-assign]
