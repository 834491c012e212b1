"""`python -m tests.security.removing`: takes the defences away one by one, and prints as JSON what the tests say.

Run it in a copy of the product: it writes into `flask_paycheckout/`. What pytest and the tests import from elsewhere is
loaded once; each removal then has a fork of this process, in which product and tests are loaded anew.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.security.table import THREATS
from tests.security.threat import Edit

_OWN = ("flask_paycheckout", "tests")
# Share no code with the rest, and take long to load.
_SANDBOX = ("flask_paycheckout.sandbox", "tests.rules")


def run(tests: list[str], log: Path, *, edited: str = "") -> int:
    """pytest's exit code for these tests, in a process of its own.

    :param edited: the file below `flask_paycheckout/` that is not as it was loaded.
    """
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70
    kept = () if edited.startswith("sandbox/") else _SANDBOX
    try:
        for name in [name for name in sys.modules if name.startswith(_OWN) and not name.startswith(kept)]:
            del sys.modules[name]
        # Compiled files are told apart by whole seconds, and edits follow each other faster.
        sys.dont_write_bytecode = True
        written = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(written, 1)
        os.dup2(written, 2)
        # A defence that is missing may show a secret too, and the test that is asked must notice by itself.
        without = [f"-pno:{plugin}" for plugin in ("randomly", "cacheprovider", "xdist", "tests.canaries")]
        code = int(pytest.main(["-q", "-x", *without, *tests]))
    finally:
        sys.stdout.flush()
        os._exit(code)


@contextmanager
def without(edit: Edit) -> Iterator[None]:
    """The product with this edit made."""
    file = Path("flask_paycheckout") / edit.file
    text = file.read_text()
    assert text.count(edit.before) == 1, f"{edit.file} has changed: write this removal anew"
    try:
        file.write_text(text.replace(edit.before, edit.after))
        yield
    finally:
        file.write_text(text)


def main() -> int:
    log = Path("removing.log")
    removals = [removal for threat in THREATS for removal in threat.removals]
    # Loads whatever the tests need; what they say without any removal is asked in a fork as well.
    tests = sorted({removal.noticed_by for removal in removals})
    pytest.main(["--collect-only", "-qqq", "-p", "no:cacheprovider", "-p", "no:xdist", *tests])
    said: dict[str, tuple[int, str]] = {}
    for removal in removals:
        with without(removal.edit):
            said[removal.takes_away] = (
                run([removal.noticed_by], log, edited=removal.edit.file),
                log.read_text()[-2000:],
            )
    said["nothing"] = (run(tests, log), log.read_text()[-2000:])
    Path("removing.json").write_text(json.dumps(said))
    return 0


if __name__ == "__main__":
    sys.exit(main())
