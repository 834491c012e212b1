"""The shop as an example: it uses public names only, and no feature imports another."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from flask import Flask

import example_shop
import flask_paycheckout
from example_shop.app import FEATURES, configure
from tests.test_imports import imports

SHOP = Path(example_shop.__file__).parent
FILES = sorted(SHOP.glob("*.py"))
MODEL = sorted(Path(__file__).parent.glob("*.py"))
#: The modules that a shop may import from.
DOORS = {"flask_paycheckout", "flask_paycheckout.client", "flask_paycheckout.sandbox", "flask_paycheckout.testing"}


def public_names() -> set[str]:
    names = set()
    for door in DOORS:
        module = importlib.import_module(door)
        names |= {door} | {f"{door}.{name}" for name in module.__all__}
    return names


@pytest.mark.parametrize("file", [*FILES, *MODEL], ids=lambda file: f"{file.parent.parent.name}/{file.stem}")
def test_only_public_names_of_the_extension_are_used(file: Path) -> None:
    ours = {name for name in imports(file) if name.split(".")[0] == flask_paycheckout.__name__}
    assert ours <= public_names()


def test_no_part_of_the_shop_knows_a_feature() -> None:
    """Features import the shop, and not each other, so that each can be removed."""
    homes = {f"example_shop.{feature}" for feature in FEATURES}
    for file in FILES:
        imported = {".".join(name.split(".")[:2]) for name in imports(file)}
        assert not imported & homes, f"{file.name} knows {imported & homes}"


def test_settings_of_an_empty_name_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A container's environment file writes an unused variable like this."""
    monkeypatch.setenv("SHOP_SETTINGS", "")
    app = Flask("shop")
    configure(app, {"TESTING": True})
    assert app.config["PAYCHECKOUT_SHOP_NAME"] == "Fair & Foul"
