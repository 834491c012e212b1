"""Every refusal says what is wrong, and then what to do: read from the source, and in the commands that people type."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flask_paycheckout
from flask_paycheckout import (
    OrderNotPayable,
    OrderSettled,
    PayCheckout,
    StartContended,
    TooManyAttempts,
    TransitionRefused,
    UncommittedChanges,
    UnknownCheckout,
    UnsafeCheckoutUrl,
)
from tests.conftest import OpenShop
from tests.scripted import make_app
from tests.test_cli import runs
from tests.test_readme import snippet

PACKAGE = Path(flask_paycheckout.__file__).parent
# What begins a sentence that tells what to do.
REMEDY = (
    r"(Set|Write|Make|Copy|Call|Return|Decorate|Give|Put|Take|Use|Run|Show|Install|Commit|Connect|Start|Keep|See|Exempt"
    r"|Leave|Name|Once|Bring|Check|Let|Register|Remove|Repair|Synchronise|An origin is|Without it"
    r"|READ COMMITTED|If this address|Only held|try again|show its)"
    r"\b|flask paycheckout"
)


def literal(node: ast.expr) -> str:
    """The text of a string, with a word in the place of what is filled in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) for part in node.values)
    return "X"


def remedies(node: ast.Call) -> Iterator[str]:
    """The part of a refusal that says what to do."""
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name == "ConfigurationError":
        yield literal(node.args[0]).partition(". ")[2]
    if name in ("_fault", "warning", "failure"):
        yield literal(node.args[-1])


def refusals() -> list[tuple[str, str]]:
    """Where each refusal stands that is written out, and its remedy."""
    found = []
    for file in [file for folder in (".", "doctor", "views") for file in sorted((PACKAGE / folder).glob("*.py"))]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call):
                where = f"{file.relative_to(PACKAGE)}:{node.lineno}"
                # A remedy that is put together is looked at where its words are.
                found += [(where, told) for told in remedies(node) if told != "X"]
    return found


def test_every_setting_and_every_finding_of_the_doctor_comes_with_a_remedy() -> None:
    found = refusals()
    assert len(found) > 60
    built = ("config.py", "runtime.py")  # made of parts that were looked at already
    without = [
        (where, told)
        for where, told in found
        if not re.match(REMEDY, told) and not (told == "" and where.startswith(built))
    ]
    assert without == []


@pytest.mark.parametrize(
    "error",
    [
        UncommittedChanges("start('o-1')", "1 new"),
        OrderNotPayable("o-1"),
        OrderSettled("o-1", "paid"),
        UnknownCheckout("chk-1"),
        TransitionRefused("chk-1", "paid", "a person accepted the held payment"),
        UnsafeCheckoutUrl("goes to http://evil.example, which is not https"),
        StartContended("o-1"),
        TooManyAttempts("o-1", 20, 300),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_error_of_ours_says_what_to_do(error: Exception) -> None:
    fault, _, remedy = str(error).replace("; ", ". ").partition(". ")
    assert fault
    assert re.search(REMEDY, remedy), str(error)


@pytest.mark.parametrize("given", [None, "sqlite://", object()])
def test_what_is_no_database_object_is_told_how_to_get_one(given: Any) -> None:
    with pytest.raises(TypeError, match=r"SQLAlchemy object.*Write: db = SQLAlchemy\(app\)"):
        PayCheckout(make_app(), given)


@pytest.mark.parametrize("command", [["report"], ["show", "o-1"], ["reconcile"]])
def test_a_command_without_tables_leads_to_the_doctor(open_shop: OpenShop, command: list[str]) -> None:
    shop = open_shop()
    with shop.app.app_context():
        shop.db.drop_all()
    ran = runs(shop, *command)
    assert ran.exit_code == 1
    assert "no such table" in ran.output
    assert ran.output.endswith("flask paycheckout doctor\n")
    assert "Traceback" not in ran.output


def types(folder: Path, *command: str, **environment: str) -> str:
    """What the command says, which fails."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("FLASK_")}
    flask = Path(sys.executable).parent / "flask"
    done = subprocess.run(
        [flask, *command], cwd=folder, env=kept | environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    return done.stderr


def test_a_shop_without_settings_is_told_what_to_set_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(snippet("shop.py"))
    said = types(tmp_path, "--app", "shop", "paycheckout", "doctor")
    assert said.startswith("Error: PAYCHECKOUT_BASE_URL is not set. Set the service's address, or run")
    assert len(said.splitlines()) == 1


def test_an_app_without_the_extension_is_told_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "bare.py").write_text("from flask import Flask\n\napp = Flask(__name__)\n")
    said = types(tmp_path, "--app", "bare", "paycheckout", "report")
    assert said == "Error: PayCheckout is not set up on 'bare'. Call paycheckout.init_app(app, db) where it is made.\n"
