"""The tables of the documentation are complete, and all names in the pages exist."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import pytest
from flask_sqlalchemy import SQLAlchemy

import flask_paycheckout
from flask_paycheckout import PayCheckout
from flask_paycheckout.cli import load_commands, paycheckout
from flask_paycheckout.config import Settings
from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.control.triggers import EVENTS
from flask_paycheckout.sandbox.terminal.commands import COMMANDS
from flask_paycheckout.testing import Sandbox
from tests.docs.drawings import DRAWINGS
from tests.docs.pages import PAGES, ROOT, read
from tests.scripted import make_app
from tests.test_imports import LINES

CONTROL = "docs/sandbox-control.md"


def rows(page: str) -> dict[str, list[str]]:
    """The cells of every row of the page's tables, by the code in the first cell."""
    cells = [re.split(r"(?<!\\) \| ", line.strip("| \n")) for line in read(page).splitlines() if line.startswith("| `")]
    return {row[0].split("`")[1]: row[1:] for row in cells}


def written(value: Any) -> str:
    """A default as the table of settings writes it."""
    if isinstance(value, timedelta):
        return f"{value.total_seconds():.0f}"
    if isinstance(value, (tuple, frozenset)):
        listed = sorted(value) if isinstance(value, frozenset) else value
        return "[" + ", ".join(f'"{one}"' for one in listed) + "]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def test_the_table_of_settings_is_complete_and_tells_each_default() -> None:
    table = rows("docs/configuration.md")
    assert set(table) == {f"PAYCHECKOUT_{field.name.upper()}" for field in fields(Settings)} | {"SECRET_KEY"}
    for field in fields(Settings):
        kind, default, meaning = table[f"PAYCHECKOUT_{field.name.upper()}"]
        assert kind
        assert meaning
        # Empty defaults are described in words.
        if field.default not in (None, (), MISSING) or field.name == "checkout_origins":
            if default.startswith("`"):
                assert default.split("`")[1] == written(field.default), field.name
            else:
                assert default == "none, required"


def test_every_setting_that_a_page_names_exists() -> None:
    settings = {f"PAYCHECKOUT_{field.name.upper()}" for field in fields(Settings)}
    for page in PAGES:
        assert set(re.findall(r"\bPAYCHECKOUT_[A-Z_]+[A-Z]\b", read(page))) <= settings, page


@pytest.mark.parametrize("page", PAGES)
def test_every_order_total_that_reads_an_order_locks_it(page: str) -> None:
    for body in re.findall(r"def order_total\(order_id\).*\n((?: {4}.*\n|\n)+)", read(page)):
        assert ".get(Order" not in body or "with_for_update=True" in body


def test_the_reference_names_all_that_the_public_modules_export() -> None:
    reference = " ".join(map(read, (page for page in PAGES if page.startswith("docs/api"))))
    named = set(re.findall(r"\w+", reference))
    for module in ("", ".admin", ".client", ".metrics"):
        assert set(vars(import_module(f"flask_paycheckout{module}"))["__all__"]) <= named, module


def test_the_table_of_switches_is_that_of_the_sandbox() -> None:
    listed = re.findall(r"^    (\w+) = (.*)$", flask_paycheckout.sandbox.__doc__ or "", re.MULTILINE)
    assert len(listed) > 50
    table = rows("docs/sandbox-switches.md")
    for name, values in listed:
        default, *others = values.split(" | ")
        assert [table[name][0], table[name][1]] == [f"`{default}`", ", ".join(f"`{other}`" for other in others)]


def test_every_call_of_the_control_interface_is_documented_and_exists() -> None:
    calls = {re.sub(r"<\w+>", "<id>", call) for call in rows(CONTROL)}
    documented = {tuple(call.split()) for call in calls if call.split()[-1].startswith("/")}
    routes = {
        (method, re.sub(r"<\w+>", "<id>", str(rule).removeprefix("/_sandbox")))
        for rule in create_sandbox().url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if str(rule).startswith("/_sandbox/")
    }
    assert documented == routes


def test_every_command_and_event_of_the_terminal_is_documented() -> None:
    documented = {code.split()[0] for code in re.findall(r"`([^`\n]+)`", read("docs/sandbox-commands.md"))}
    assert {*COMMANDS, *EVENTS} <= documented


def test_the_page_on_testing_names_all_that_the_fixture_does() -> None:
    public = {name for name in dir(Sandbox) if not name.startswith("_")} | {"base_url", "transport", "async_transport"}
    section = read("docs/testing-fixture.md")
    assert set(re.findall(r"`\.(\w+)", section)) - {"names"} == public - {"app"}


@pytest.mark.parametrize("name", DRAWINGS)
def test_the_drawings_show_the_tables_of_states(name: str) -> None:
    assert read(f".pictures/{name}.svg") == DRAWINGS[name], "run python -m tests.docs.drawings"


def test_every_command_that_a_page_names_exists_with_its_options() -> None:
    load_commands()
    for page in PAGES:
        for line in re.findall(r"\bflask (?:--app shop )?paycheckout ([^`\n]*)", read(page)):
            name, *words = line.split("`")[0].split()
            if name in paycheckout.commands:
                options = {word for word in words if re.fullmatch(r"--[a-z-]+", word)}
                command = paycheckout.commands[name]
                if isinstance(command, click.Group) and words and words[0] in command.commands:
                    command = command.commands[words[0]]
                known_options = {
                    option
                    for part in command.params
                    if isinstance(part, click.Option)
                    for option in (*part.opts, *part.secondary_opts)
                }
                assert name == "sandbox" or options <= known_options | {"--help"}, (page, line)
    assert {name.split()[0] for name in rows("docs/operating.md") if name.split()[0] in paycheckout.commands} == set(
        paycheckout.commands
    )


def test_the_page_on_pages_names_the_blocks_of_each_template() -> None:
    folder = Path(flask_paycheckout.__file__).parent / "templates" / "paycheckout" / "default"
    documented = {
        name: set(re.findall(r"`(\w+)`", cells[1])) for name, cells in rows("docs/pages.md").items() if cells[1:]
    }
    frame, card = documented["base.html"], documented["card.html"]
    inherited: dict[str, set[str]] = {"base.html": set(), "card.html": frame}
    for template in folder.glob("*.html"):
        blocks = set(re.findall(r"{% block (\w+) %}", template.read_text()))
        if blocks:
            assert documented[template.name] == blocks - inherited.get(template.name, frame | card), template.name


def test_the_page_on_pages_lists_every_route() -> None:
    app = make_app()
    PayCheckout(app, SQLAlchemy(app))
    routes = {
        f"{method} {str(rule).removeprefix('/paycheckout').replace('path:', '')}": rule.endpoint
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
        if rule.endpoint.startswith("paycheckout.")
    }
    documented = {route: cells[0].strip("`") for route, cells in rows("docs/pages.md").items() if " /" in route}
    assert documented == routes


def test_the_layout_of_the_page_on_contributing_is_that_of_the_package() -> None:
    package = Path(flask_paycheckout.__file__).parent
    parts = {file.stem for file in package.glob("*") if not file.name.startswith(("__pycache__", "py.typed"))}
    layout = read("docs/contributing.md").partition("flask_paycheckout/ ")[2].partition("example_shop/")[0]
    assert parts - set(re.findall(r"\w+", layout)) == set()
    rule = read("docs/contributing.md").partition("## The import rule")[2].split("```")[1].splitlines()[1:]
    assert [set(re.findall(r"\w+", line)) for line in rule] == [
        set(line.split()) for line in LINES.strip().splitlines()
    ]


def test_the_tests_that_the_promises_name_exist() -> None:
    named = re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", read("docs/promises.md"))
    assert len(named) > 50
    for file, test in named:
        source = (ROOT / "tests" / file).read_text()
        assert f"def {test or 'test_'}" in source, (file, test)


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith("docs/")])
def test_relative_links_lead_somewhere(page: str) -> None:
    """Sphinx checks the links within docs/."""
    for target in re.findall(r"\]\(([^)#:]+)[)#]", read(page)):
        assert (ROOT / target).exists(), target
