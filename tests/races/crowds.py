"""Threads and processes that act at the same moment, and tell what came of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Barrier, Event
from typing import TypeVar

Result = TypeVar("Result")
#: Seconds after which whoever waits for another thread fails.
PATIENCE = 120


class Crowd:
    """So many threads, used again and again."""

    def __init__(self, size: int, pool: ThreadPoolExecutor) -> None:
        self.size = size
        self._pool = pool
        self._start = Barrier(size, timeout=PATIENCE)

    def does(self, acts: Sequence[Callable[[], Result]]) -> list[Result]:
        """One act a thread, all begun together; gives their results, or raises what the first of them raised."""
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


class Gate:
    """Where a thread is stopped, until another one lets it go on."""

    def __init__(self) -> None:
        self._reached, self._open = Event(), Event()

    def stop(self) -> None:
        self._reached.set()
        assert self._open.wait(PATIENCE)

    def await_arrival(self) -> None:
        assert self._reached.wait(PATIENCE)

    def open(self) -> None:
        self._open.set()


@contextmanager
def aside(act: Callable[[], object], gate: Gate) -> Iterator[None]:
    """Another thread does this, and is at the gate when the block begins; after the block it has ended."""
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(act)
        try:
            gate.await_arrival()
            yield
        finally:
            gate.open()
        doing.result(PATIENCE)


def begin(
    command: list[str], database: str, service: str, number: int, host: str, accounts: int = 1
) -> subprocess.Popen[str]:
    """Begin a process of `tests.shop_app`."""
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=Path(__file__).parents[2],
        env=os.environ
        | {
            "FLASK_SQLALCHEMY_DATABASE_URI": database,
            "FLASK_PAYCHECKOUT_BASE_URL": service,
            "FLASK_PAYCHECKOUT_CLIENT_ID": f"process-{number}",
            "FLASK_PAYCHECKOUT_TIMEOUT": "60",
            "FLASK_ACCOUNTS": str(accounts),
            "FLASK_HOST": host,
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def run_together(
    command: list[str], database: str, service: str, count: int, host: str, accounts: int = 1
) -> list[int]:
    """Run processes that call `waits_for_others`, and let them go on together; gives their exit codes."""
    with ExitStack() as stack:
        running = [begin(command, database, service, number, host, accounts) for number in range(count)]
        for process in running:
            stack.callback(process.kill)
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in running:
            process.communicate(timeout=2 * PATIENCE)
    return [process.returncode for process in running]


def waits_for_others() -> None:
    """Let a process wait until all that `run_together` began are ready."""
    print("ready", flush=True)
    sys.stdin.readline()
