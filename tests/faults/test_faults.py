"""Each planted fault makes a test fail. A test that passes with its fault in place guards nothing."""

from __future__ import annotations

import os
import sys
from multiprocessing import get_context
from pathlib import Path

import pytest

from tests.faults.table import FAULTS

NOTICED_BY = {name: planted[0] for name, planted in FAULTS.items()}
TESTS = sorted(set(NOTICED_BY.values()))
# Forked from a process that has loaded the libraries of every test, and no module of the product.
PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["pytest", "hypothesis", "flask_sqlalchemy", "flask_sqlalchemy_lite", "httpx", "msgspec"]
)


def run(log: Path, fault: str, *tests: str) -> tuple[int | None, str]:
    """Run tests in their own process; returns the exit code and the end of the output."""
    process = PROCESSES.Process(target=run_here, args=(log, fault, *tests))
    process.start()
    process.join(600)
    process.kill()
    process.join()
    return process.exitcode, log.read_text()[-3000:].strip()


def run_here(log: Path, fault: str, *tests: str) -> None:
    # Not to a pipe: `tests.canaries` searches the output of pipes for secrets, and a fault may reveal one.
    with log.open("w") as output:
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    # Pytest's variables of the outer run would make this run a part of it.
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    from tests.faults.__main__ import main

    sys.exit(main(fault, *(f"tests/{test}" for test in tests)))


@pytest.mark.parametrize("fault", NOTICED_BY, ids=lambda fault: fault.replace(" ", "-"))
def test_a_planted_fault_is_noticed(fault: str, tmp_path: Path) -> None:
    """The test itself must notice it; its setup and teardown must not fail."""
    _, output = run(tmp_path / "log", fault, NOTICED_BY[fault])
    ended = output.rpartition("\n")[2]
    assert ended.startswith("1 failed"), output
    assert "error" not in ended, output


def test_without_a_fault_the_same_tests_pass(tmp_path: Path) -> None:
    code, output = run(tmp_path / "log", "", *TESTS)
    assert code == 0, output
