"""Threads and processes that act at the same moment, and their results."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier
from typing import TypeVar

Result = TypeVar("Result")
#: Seconds after which a wait for another thread fails.
PATIENCE = 120


class Crowd:
    """A number of threads, which are used repeatedly."""

    def __init__(self, size: int, pool: ThreadPoolExecutor) -> None:
        self.size = size
        self._pool = pool
        self._start = Barrier(size, timeout=PATIENCE)

    def does(self, acts: Sequence[Callable[[], Result]]) -> list[Result]:
        """Run one act in each thread, all begun together; returns their results, or raises the first error."""
        assert len(acts) == self.size

        def act_with_the_others(act: Callable[[], Result]) -> Result:
            self._start.wait()
            return act()

        doing = [self._pool.submit(act_with_the_others, act) for act in acts]
        return [done.result(PATIENCE) for done in doing]


@contextmanager
def crowd(size: int) -> Iterator[Crowd]:
    with ThreadPoolExecutor(size) as pool:
        yield Crowd(size, pool)


def run_together(program: list[str], database: str, service: str, count: int, host: str, accounts: int = 1) -> int:
    """Run a program of `tests.shop_app` that ends with `in_processes`; returns its exit code."""
    settings = {
        "FLASK_SQLALCHEMY_DATABASE_URI": database,
        "FLASK_PAYCHECKOUT_BASE_URL": service,
        "FLASK_PAYCHECKOUT_TIMEOUT": "60",
        "FLASK_ACCOUNTS": str(accounts),
        "FLASK_HOST": host,
    }
    command = [sys.executable, *program, str(count)]
    root = Path(__file__).parents[2]
    return subprocess.run(command, cwd=root, env=os.environ | settings, timeout=2 * PATIENCE).returncode


def in_processes(live: Callable[[list[str], Callable[[], object]], None]) -> int:
    """Run a program in a number of processes, its last argument; returns 0 if each has succeeded.

    They are forked after all imports.

    :param live: called with the other arguments, and with a function that waits until all processes are ready.
    """
    forks = multiprocessing.get_context("fork")
    *arguments, count = sys.argv[1:]
    ready = forks.Barrier(int(count), timeout=PATIENCE)

    def begin(number: int) -> None:
        os.environ["FLASK_PAYCHECKOUT_CLIENT_ID"] = f"process-{number}"
        live(arguments, ready.wait)

    running = [forks.Process(target=begin, args=(number,), daemon=True) for number in range(int(count))]
    for process in running:
        process.start()
    for process in running:
        process.join()
    return int(any(process.exitcode for process in running))
