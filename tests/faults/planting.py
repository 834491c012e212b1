"""Edits of the product's syntax, made while a module is loaded; no file changes.

Each names a scope, as `checkouts.settlement:Settlement.apply` below `flask_paycheckout`, and what changes there.
"""

from __future__ import annotations

import ast
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType
from typing import Any

PACKAGE = "flask_paycheckout"
_DEFINED = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class NotPlanted(Exception):
    """The scope, or the code that an edit changes in it, no longer exists: adapt the planted fault."""


@dataclass(frozen=True)
class Edit(ABC):
    """A change of one scope; without a name after the colon, the scope is the whole module."""

    scope: str

    @property
    def module(self) -> str:
        return f"{PACKAGE}.{self.scope.partition(':')[0]}"

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
        """Change the scope; returns the number of changed places."""


@dataclass(frozen=True)
class Swap(Edit):
    """Replaces an expression by another one everywhere in the scope."""

    old: str
    new: str

    def change(self, node: Any) -> int:
        replacing = _Replacing(self.old, self.new)
        replacing.visit(node)
        return replacing.found


@dataclass(frozen=True)
class Never(Edit):
    """Makes each `if` whose condition contains this name false."""

    named: str

    def change(self, node: Any) -> int:
        conditions = [
            inner for inner in ast.walk(node) if isinstance(inner, ast.If) and self.named in _names(inner.test)
        ]
        for inner in conditions:
            inner.test = ast.Constant(value=False)
        return len(conditions)


@dataclass(frozen=True)
class First(Edit):
    """Inserts statements at the beginning of a function."""

    code: str

    def change(self, node: Any) -> int:
        node.body[:0] = ast.parse(self.code).body
        return 1


@dataclass(frozen=True)
class Value(Edit):
    """Gives another value to the variable that the scope names."""

    code: str

    def change(self, node: Any) -> int:
        node.value = _expression(self.code)
        return 1


@dataclass(frozen=True)
class Drop(Edit):
    """Removes the statement that calls this function."""

    called: str

    def change(self, node: Any) -> int:
        statements = list(_calling(node, self.called))
        for body, statement in statements:
            at = body.index(statement)
            body[at : at + 1] = self.instead_of(statement)
        return len(statements)

    def instead_of(self, statement: ast.stmt) -> list[ast.stmt]:
        return [ast.Pass()]


@dataclass(frozen=True)
class Before(Drop):
    """Inserts statements before the statement that calls this function."""

    code: str

    def instead_of(self, statement: ast.stmt) -> list[ast.stmt]:
        return [*ast.parse(self.code).body, statement]


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _below(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes in a scope, without the nodes of inner scopes."""
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


class _Replacing(ast.NodeTransformer):
    def __init__(self, old: str, new: str) -> None:
        self.found = 0
        self._old, self._new = ast.dump(_expression(old)), _expression(new)

    def visit(self, node: ast.AST) -> Any:
        if ast.dump(node) != self._old:
            return self.generic_visit(node)
        self.found += 1
        return self._new


def _calling(node: ast.AST, called: str) -> Iterator[tuple[list[ast.stmt], ast.stmt]]:
    """The simple statements with this call, each with its block."""
    for block in list(ast.walk(node)):
        for value in [value for _, value in ast.iter_fields(block) if isinstance(value, list)]:
            for statement in [one for one in value if isinstance(one, ast.stmt) and not hasattr(one, "body")]:
                calls = (one.func for one in ast.walk(statement) if isinstance(one, ast.Call))
                if any(getattr(call, "attr", getattr(call, "id", None)) == called for call in calls):
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
    """Load the product with these edits in this process, which must not have loaded it yet."""
    sys.meta_path.insert(0, _Finder(edits))
    for edit in edits:
        import_module(edit.module)
