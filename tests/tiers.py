"""Pytest plugin: a whole run leaves out the attacks, which take most of the time, and says so.

`python -m pytest` runs what a change usually breaks; `--all` runs everything; `--rest` runs what the first left out.
A folder, file or test that is named on the command line runs completely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest

#: Folders of attacks, with what they are.
FOLDERS = {
    "availability": "forks and a service that hangs",
    "benchmarks": "benchmark programs",
    "browser": "pages in Chromium",
    "celery": "Celery workers",
    "crash": "crashes at every instruction",
    "databases": "databases that fail",
    "faults": "planted faults",
    "races": "races of threads and processes",
    "soak": "soak programs",
    "states": "random histories",
}
POSTGRESQL = "PostgreSQL"

_LEFT_OUT = pytest.StashKey[Counter[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption("--all", dest="tier", action="store_const", const="all", default="usual", help="run every test")
    group.addoption("--rest", dest="tier", action="store_const", const="rest", help="run only what --all adds")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow(what): a whole run leaves these tests out, unless --all is given")
    config.stash[_LEFT_OUT] = Counter()
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Workers())


def is_whole(config: pytest.Config) -> bool:
    """Whether all tests were asked for, and no folder, file or test by name."""
    # Workers of xdist get the paths that the process that started them found.
    folders = [config.rootpath / folder for folder in config.getini("testpaths")]
    return [Path(argument).resolve() for argument in config.args] == folders


def attack(config: pytest.Config, path: Path) -> str | None:
    """The kind of attack that a folder or file is; None for usual tests."""
    below = path.relative_to(config.rootpath).parts
    return FOLDERS.get(below[1]) if len(below) > 1 and below[0] == "tests" else None


def kind_of(item: pytest.Item) -> str | None:
    """Why a usual run leaves a test out; None for a usual test."""
    kind = attack(item.config, item.path)
    if kind is None and (marker := item.get_closest_marker("slow")) is not None:
        kind = str(marker.args[0])
    values = item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    if kind is None and ("postgresql" in values or "postgres_server" in getattr(item, "fixturenames", ())):
        kind = POSTGRESQL
    return kind


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> Literal[True] | None:
    """Leave the attacks' folders unread, which saves their imports."""
    if config.option.tier != "usual" or not is_whole(config):
        return None
    kind = attack(config, collection_path) if collection_path.is_relative_to(config.rootpath) else None
    if kind is None:
        return None
    config.stash[_LEFT_OUT].setdefault(kind, 0)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    tier = config.option.tier
    if tier == "all" or not is_whole(config):
        return
    kinds = [(item, kind_of(item)) for item in items]
    items[:] = [item for item, kind in kinds if (kind is None) == (tier == "usual")]
    left_out = [item for item, kind in kinds if (kind is None) != (tier == "usual")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
    if tier == "usual":
        counts = config.stash[_LEFT_OUT]
        counts.update(kind for _, kind in kinds if kind is not None)


@pytest.hookimpl(trylast=True, specname="pytest_collection_modifyitems")
def pytest_begin_with_the_longest(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let no worker begin with a long attack when the others are through; otherwise the order stays as it is."""
    items.sort(key=lambda item: attack(config, item.path) is None)


class Workers:
    """Bring what the workers of xdist left out to the process that prints the summary."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        # All workers collect the same tests.
        counts = node.config.stash[_LEFT_OUT]
        for kind, count in getattr(node, "workeroutput", {}).get("left_out", {}).items():
            counts[kind] = max(counts[kind], count)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        counts = session.config.stash[_LEFT_OUT]
        session.config.workeroutput["left_out"] = dict(counts)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for line in summary(config.stash[_LEFT_OUT]):
        terminalreporter.write_line(line)


def summary(left_out: Counter[str]) -> Iterator[str]:
    """Name what was left out, with the commands that run it."""
    if left_out:
        kinds = (f"{kind} ({count} tests)" if count else kind for kind, count in sorted(left_out.items()))
        yield f"Left out: {', '.join(kinds)}."
        yield "Everything: python -m pytest --all. Only what was left out: python -m pytest --rest."
