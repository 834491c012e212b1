"""Runs tests against a product with faults, each time in a fork of a process that has loaded both."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType

import pytest

from tests.faults.planting import Edit, Functions, functions_of_product, plant, plant_into

PASSED, FAILED, BROKEN = range(3)
"""How the tests of a fork end: `BROKEN` when they failed before or after themselves, or could not be run."""

#: Seconds that a fork may take.
_LONGEST = 300
#: The exit code of a fork that cannot have its faults any more.
_ONLY_WHILE_LOADING = 99
#: A missing defence may show a secret too, and the test that is asked must notice by itself.
_WITHOUT = ("cacheprovider", "randomly", "schemathesis", "tests.canaries", "xdist")


class Loaded:
    """A process that has loaded the product and all tests of some files, and forks for each run of a few of them.

    :param tests: files, or tests in them, below `tests/`.
    :param edits: faults of the product that it loads.
    """

    def __init__(self, tests: Sequence[str], edits: Sequence[Edit] = ()) -> None:
        spawning = multiprocessing.get_context("spawn")
        self._asks, asked = spawning.Pipe()
        files = {f"tests/{test.partition('::')[0]}" for test in tests}
        self._process = spawning.Process(target=_load, args=(sorted(filter(os.path.exists, files)), list(edits), asked))
        self._process.start()
        asked.close()

    def __enter__(self) -> Loaded:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._asks.close()
        self._process.join()

    def run(self, tests: Sequence[str], edits: Sequence[Edit], log: Path) -> int | None:
        """How the tests end; None where the faults are in what runs while a module is loaded.

        :param edits: faults for this run.
        :param log: a file for what is written meanwhile.
        """
        self._asks.send(([f"tests/{test}" for test in tests], list(edits), log))
        try:
            ended: int | None = self._asks.recv()
        except EOFError:
            return BROKEN
        return ended


def run(tests: Sequence[str], edits: Sequence[Edit], log: Path, loaded: Loaded | None = None) -> tuple[int, str]:
    """How the tests end, and what was written last.

    :param loaded: a process with these tests; another one is started where the faults must be there before it.
    """
    log.touch()
    ended = None if loaded is None else loaded.run(tests, edits, log)
    if ended is None or (ended == PASSED and edits):
        with Loaded(tests, edits) as fresh:
            ended = fresh.run(tests, (), log)
    return BROKEN if ended is None else ended, log.read_text()[-3000:]


def _load(files: list[str], edits: list[Edit], asked: Connection) -> None:
    # The variables of the run that asks would make this a part of it.
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    options = ["-qs", "--assert=plain", "--continue-on-collection-errors", *(f"-pno:{plugin}" for plugin in _WITHOUT)]
    plant(edits)
    pytest.main([*options, *files], plugins=[_Forks(asked)])


class _Forks:
    """A plugin that runs the tests that it is asked for, in the place of all that pytest has collected."""

    def __init__(self, asked: Connection) -> None:
        self._asked = asked
        self._failed = set[str | None]()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        functions = functions_of_product()
        # Collecting garbage would touch, and so copy, what a fork shares with this process.
        gc.freeze()
        while True:
            try:
                tests, edits, log = self._asked.recv()
            except EOFError:
                return True
            fork = os.fork()
            if fork == 0:
                os._exit(self._live(session, tests, edits, log, functions))
            code = os.waitstatus_to_exitcode(os.waitpid(fork, 0)[1])
            self._asked.send(None if code == _ONLY_WHILE_LOADING else code)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.when)
            print(report.longreprtext, flush=True)

    def _live(
        self, session: pytest.Session, tests: list[str], edits: list[Edit], log: Path, functions: Functions
    ) -> int:
        """A fork's whole life; gives its exit code."""
        signal.alarm(_LONGEST)
        written = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.dup2(written, 1)
        os.dup2(written, 2)
        try:
            if not plant_into(functions, edits):
                return _ONLY_WHILE_LOADING
            items = [item for item in session.items if any(_is_of(item.nodeid, test) for test in tests)]
            if not items:
                print(f"there is no test {tests}", flush=True)
                return BROKEN
            for item, following in zip(items, [*items[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self._failed:
                    break
        except BaseException:
            traceback.print_exc()
            return BROKEN
        return BROKEN if self._failed - {"call"} else FAILED if self._failed else PASSED


def _is_of(name: str, test: str) -> bool:
    """Whether a test is meant; on PostgreSQL only if that is said."""
    if "postgresql" in name and "postgresql" not in test:
        return False
    return name == test or name.startswith((f"{test}[", f"{test}::", f"{test}/"))
