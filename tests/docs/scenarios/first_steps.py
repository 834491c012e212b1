"""README's commands, its quick start, and the commands that contributors type."""

from __future__ import annotations

import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from functools import cache
from importlib.util import find_spec

from tests.docs.merchant import PATIENCE, Merchant, pays_in_the_browser, visited
from tests.docs.pages import ROOT, Scene, read
from tests.waiting import eventually


def first_commands(scene: Scene) -> None:
    """`.ci/run` runs these two as they stand there, in a fresh clone."""
    taken = runpy.run_path(str(ROOT / ".ci" / "readme_commands.py"))["commands"](read("README.md"))
    assert list(taken.values()) == scene.commands()
    pipeline = read(".ci/run")
    assert all(f"readme_commands.py {name}\n" in pipeline for name in taken)


def quick_start(scene: Scene, merchant: Merchant) -> None:
    source = scene["shop.py"]
    assert len(source.splitlines()) <= 30
    merchant.writes("shop.py", source)
    install, sandbox, *lines = scene.commands()
    assert "pip install '../flask_paycheckout[sandbox]'" in install
    exports = [line for line in lines if line.startswith("export FLASK_PAY")]
    with merchant.running(sandbox, "Ctrl-C") as (_, printed):
        assert [line.rstrip("\n") for line in printed if line.startswith("export ")] == list(
            map(merchant.here, exports)
        )
        run = lines.index("flask --app shop run")
        for line in lines[:run]:
            merchant.runs(line)
        with merchant.running(lines[run], "Running on"):
            order = f"{merchant.shop}/orders/1"
            pays_in_the_browser(order)
            eventually(lambda: "Paid: see your receipt" in visited(order).text, PATIENCE)
            watch, show, doctor = lines[run + 1 :]
            with merchant.running(watch, None) as (watching, _):
                assert "Order 1: paid" in merchant.runs(show)
                registered = sandbox.partition("--webhook-url ")[2]
                found = merchant.runs(doctor)
                assert f"Webhook URL to register: {registered}\n" in found
                assert "journal mode" not in found
                assert watching.poll() is None, "it goes on, and says nothing while nothing happens"


def by_hand(scene: Scene) -> None:
    """Commands that other tests run, that take too long or change the environment: they exist, and take their words."""
    for line in scene.commands():
        for command in line.partition(" > ")[0].split(" && "):
            _check(shlex.split(command))


def _check(words: list[str]) -> None:
    program, *arguments = words
    if program == "python" and arguments[0] == "-m" and "pip" not in arguments:
        _check_program(arguments[1], arguments[2:])
    elif program == "pip" or arguments[:2] == ["-m", "pip"]:
        _check_extras(" ".join(arguments))
    elif program == "make":
        assert re.search(rf"^{arguments[0]}:", read("Makefile"), re.MULTILINE), arguments
    elif "/" in program:
        assert program.startswith(".venv/") or (ROOT / program).is_file(), program
    else:
        # tests/docs/test_facts.py compares each command of `flask paycheckout` with its options.
        assert program in ("cd", "curl", "flask", "python", "python3", "sha256sum", "sphinx-build", "twine"), program
    for path in arguments:
        if path.startswith(("tests/", "docs/", ".ci/")) and "build" not in path:
            assert (ROOT / path).exists(), path


def _check_program(module: str, arguments: list[str]) -> None:
    """It exists, and its help names these options."""
    assert find_spec(module), module
    options = [argument for argument in arguments if argument.startswith("--")]
    assert [option for option in options if option not in _help(module)] == []


@cache
def _help(module: str) -> str:
    command = [sys.executable, "-m", module, "--help"]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _check_extras(text: str) -> None:
    known = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    for extras in re.findall(r"\[([\w,]+)\]", text):
        assert set(extras.split(",")) <= {*known, "redis"}, extras
