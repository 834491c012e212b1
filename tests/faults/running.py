"""Runs tests against a product with faults, each time in a fork that loads product and tests anew."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.faults.planting import Edit, NotPlanted, plant

#: Loaded once for all forks: what product and tests import from elsewhere.
_LIBRARIES = (
    "_hypothesis_pytestplugin",
    "_pytest.pytester",
    "click.testing",
    "cryptography.fernet",
    "execnet",
    "flask.testing",
    "flask_babel",
    "flask_sqlalchemy",
    "flask_wtf",
    "httpx",
    "hypothesis",
    "iso4217",
    "msgspec",
    "playwright.sync_api",
    "psycopg",
    "pytest",
    "segno",
    "sqlalchemy.dialects.postgresql.psycopg",
    "sqlalchemy.dialects.sqlite",
    "time_machine",
    "werkzeug.test",
)
#: The exit code of a fork whose faults cannot be planted any more; pytest has no such code.
_STALE = 99
#: A missing defence may show a secret too, and the test that is asked must notice by itself.
_WITHOUT = ("cacheprovider", "randomly", "schemathesis", "tests.canaries", "xdist")


def run(tests: Sequence[str], edits: Sequence[Edit], log: Path) -> tuple[int, str]:
    """pytest's exit code and the end of what it wrote.

    :param log: a file for what pytest writes.
    """
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload([*_LIBRARIES, __name__])
    fork = forks.Process(target=_run, args=(list(tests), list(edits), str(log)))
    fork.start()
    fork.join(300)
    if fork.exitcode is None:
        fork.kill()
        fork.join()
    return int(fork.exitcode or 0), log.read_text()[-3000:]


def _run(tests: list[str], edits: list[Edit], log: str) -> None:
    written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(written, 1)
    os.dup2(written, 2)
    # The variables of the run that asks would make this a part of it.
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    try:
        plant(edits)
    except NotPlanted as stale:
        print(stale, flush=True)
        sys.exit(_STALE)
    # pytest looks through everything in memory at its end, so that it need not look through what all forks share.
    gc.freeze()
    options = ["-qx", "--assert=plain", *(f"-pno:{plugin}" for plugin in _WITHOUT)]
    sys.exit(int(pytest.main([*options, *(f"tests/{test}" for test in tests)])))
