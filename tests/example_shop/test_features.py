"""The shop as a model: it uses public names only, every file says what it shows, every feature can go."""

from __future__ import annotations

import ast
import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import example_shop
import flask_paycheckout
from example_shop.app import FEATURES
from tests.test_imports import imports

SHOP = Path(example_shop.__file__).parent
FILES = sorted(SHOP.glob("*.py"))
MODEL = sorted(Path(__file__).parent.glob("*.py"))
#: What a shop may import from.
DOORS = {"flask_paycheckout", "flask_paycheckout.client", "flask_paycheckout.sandbox", "flask_paycheckout.testing"}

BUYING = Path(__file__).with_name("buying.py")


def public_names() -> set[str]:
    names = set()
    for door in DOORS:
        module = importlib.import_module(door)
        names |= {door} | {f"{door}.{name}" for name in module.__all__}
    return names


def private_accesses(source: str) -> list[str]:
    """Attributes with a leading underscore that are taken from anything but `self`, dunders apart."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not (node.attr.startswith("__") and node.attr.endswith("__"))
        and not (isinstance(node.value, ast.Name) and node.value.id == "self")
    ]


def back_doors(source: str) -> list[str]:
    """What reaches the extension's inner parts without importing them."""
    odd = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            inner = node.value.attr == "extensions" and ast.unparse(node.slice) == "'paycheckout'"
            odd += [ast.unparse(node)] if inner else []
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            odd += [ast.unparse(node)] if "flask_paycheckout" in ast.unparse(node.args[0]) else []
    return odd


@pytest.mark.parametrize("file", [*FILES, *MODEL], ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_only_public_names_of_the_extension_are_used(file: Path) -> None:
    source = file.read_text()
    ours = {name for name in imports(file) if name.split(".")[0] == flask_paycheckout.__name__}
    assert ours <= public_names()
    assert private_accesses(source) == []
    assert back_doors(source) == []


def test_a_private_name_would_be_seen(tmp_path: Path) -> None:
    odd = tmp_path / "odd.py"
    odd.write_text("from flask_paycheckout.checkouts.outbox import Outbox\nfrom flask_paycheckout import runtime\n")
    assert not set(imports(odd)) & public_names()
    assert private_accesses("paycheckout._models().Checkout\nself._mine\nx.__name__") == ["paycheckout._models"]
    assert (
        len(back_doors("app.extensions['paycheckout'].client\nimport_module('flask_paycheckout.checkouts.outbox')"))
        == 2
    )


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_file_says_what_it_shows_and_fits_on_an_evening(file: Path) -> None:
    source = file.read_text()
    assert ast.get_docstring(ast.parse(source)), "a reader wants to know what this file shows"
    assert len(source.splitlines()) <= 250
    assert "noqa: SLF" not in source


def test_no_part_of_the_shop_knows_a_feature() -> None:
    """Features know the shop, and not one another: that is why each can go."""
    homes = {f"example_shop.{feature}" for feature in FEATURES}
    for file in FILES:
        known = {".".join(name.split(".")[:2]) for name in imports(file)}
        assert not known & homes, f"{file.name} knows {known & homes}"


def take_away(feature: str, shop: Path) -> None:
    """As a reader would: the file, and its line in `app.py`."""
    (shop / f"{feature}.py").unlink()
    app = (shop / "app.py").read_text()
    without, lines = re.subn(rf'^    "{feature}",.*\n', "", app, flags=re.MULTILINE)
    assert lines == 1
    (shop / "app.py").write_text(without)


def test_without_any_one_feature_the_shop_goes_on(tmp_path: Path) -> None:
    """In each copy another one is taken away; then somebody buys there, and the owner looks at all that is left."""
    copies = {feature: tmp_path / f"without_{feature}" / "example_shop" for feature in FEATURES}
    whole, broken = tmp_path / "whole" / "example_shop", tmp_path / "broken" / "example_shop"
    for copy in (whole, broken, *copies.values()):
        shutil.copytree(SHOP, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for feature, copy in copies.items():
        take_away(feature, copy)
    (broken / "payouts.py").unlink()  # no feature: to see that the copies are really tried
    told = subprocess.run(
        [sys.executable, "-W", "error", BUYING, *(copy.parent for copy in (whole, broken, *copies.values()))],
        env={"PYTHONPATH": str(SHOP.parent), "PATH": os.environ["PATH"]},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    seen = {folder: set(pages) for folder, *pages in map(str.split, told.stdout.splitlines())}
    assert set(seen) == {str(whole), *map(str, copies.values())}, told.stderr
    assert told.returncode == 1
    assert "No module named 'example_shop.payouts'" in told.stderr
    left = {name: seen[str(whole)] - seen[str(copy)] for name, copy in copies.items()}
    assert left["payment_view"] == {"/owner/payments"}
    assert left["stock"] == {"/owner/stock/"}
    assert left["receipts"] == {"/owner/letters/"}
    assert left["payout_desk"] == {"/owner/payouts/", "/owner/payouts/pay"}
    assert left["payout_command"] == {"flask_shop_payout"}


def test_readme_tells_what_each_feature_shows() -> None:
    section = (SHOP.parent / "README.md").read_text().split("## The example shop")[1].split("\n## ")[0]
    marked = set(re.findall(r"`(\w+)\.py` †", section))
    assert marked == set(FEATURES)
    named = set(re.findall(r"`(\w+)\.py`", section))
    assert named <= {file.stem for file in FILES}
