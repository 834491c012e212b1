"""Pytest plugin: a whole run skips the attacks, which take most of the time, and reports it.

`python -m pytest` runs the tests that a change usually breaks; `--all` runs all tests; `--rest` runs the skipped ones.
A folder, file or test that is named on the command line runs completely.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

#: Folders and files of attacks below `tests/`, with the longest tests first.
ATTACKS = (
    *("crash", "states", "databases", "races", "availability", "celery", "browser", "faults", "soak", "benchmarks"),
    *("hostile", "accounts/test_one_broken.py", "events/test_broken_transactions.py", "journeys/test_unknowns.py"),
    *("money/test_pairs.py", "sandbox/wire/test_schemathesis.py", "sandbox/wire/test_server.py"),
    *("sandbox/world/test_postgresql_processes.py", "sandbox/world/test_postgresql_start.py", "test_merchant_types.py"),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption("--all", dest="tier", action="store_const", const="all", default="usual", help="run every test")
    group.addoption("--rest", dest="tier", action="store_const", const="rest", help="run only what --all adds")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow(what): a whole run leaves these tests out, unless --all is given")


def is_whole(config: pytest.Config) -> bool:
    """Whether the command line names no folder, file or test."""
    # Workers of xdist get the paths from the process that started them.
    folders = [config.rootpath / folder for folder in config.getini("testpaths")]
    return [Path(argument).resolve() for argument in config.args] == folders


def attack(config: pytest.Config, path: Path) -> str | None:
    """The entry of `ATTACKS` that contains a file or folder; None for usual tests."""
    tests = config.rootpath / "tests"
    below = path.relative_to(tests) if path.is_relative_to(tests) else Path()
    return next((attack for attack in ATTACKS if below.is_relative_to(attack)), None)


def is_attack(item: pytest.Item) -> bool:
    values = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    # pg8000 is another driver of it.
    has_driver = any(driver in values for driver in ("postgresql", "pg8000"))
    on_postgresql = has_driver or "postgres_server" in getattr(item, "fixturenames", ())
    return on_postgresql or bool(attack(item.config, item.path)) or item.get_closest_marker("slow") is not None


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> Literal[True] | None:
    """Do not collect the attacks, which saves their imports."""
    unread = config.option.tier == "usual" and is_whole(config) and attack(config, collection_path)
    return True if unread else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tier = config.option.tier
    if tier == "all" or not is_whole(config):
        return
    left_out = [item for item in items if is_attack(item) == (tier == "usual")]
    items[:] = [item for item in items if is_attack(item) != (tier == "usual")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_begin_with_the_longest(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let each worker of xdist begin with its share of the attacks, the longest first: it gets a part of the list."""
    workers: int = getattr(config, "workerinput", {}).get("workercount", 1)
    slow = [item for item in items if item.get_closest_marker("slow") is not None]
    listed = [item for each in ATTACKS for item in items if attack(config, item.path) == each]
    attacks = list(dict.fromkeys(slow + listed))
    attack_set = set(attacks)
    others = [item for item in items if item not in attack_set]
    ends = [len(others) * number // workers for number in range(workers + 1)]
    items[:] = [
        item
        for number in range(workers)
        for item in (*attacks[number::workers], *others[ends[number] : ends[number + 1]])
    ]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.option.tier == "usual" and is_whole(config):
        terminalreporter.write_line(
            "Left out: crashes, races, hostile input, failing databases, PostgreSQL, browsers, and the like."
        )
        terminalreporter.write_line("Everything: python -m pytest --all. Only what was left: python -m pytest --rest")
