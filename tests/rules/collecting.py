"""`python -m tests.rules.collecting FILE ...`: prints as JSON which tests pytest collects there, each with its marks.

A process of its own, because a run of pytest that collects for another one would mix up the modules of both.
"""

from __future__ import annotations

import json
import os
import sys

import pytest


class Collected:
    """Gathers what was collected, parametrized tests under one id."""

    def __init__(self) -> None:
        self.marks: dict[str, list[str]] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            known = self.marks.setdefault(item.nodeid.partition("[")[0], [])
            known.extend(mark.name for mark in item.iter_markers() if mark.name not in known)


def main(files: list[str]) -> int:
    # The options of the run that asks are not for this one.
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    collected = Collected()
    options = ["--collect-only", "-qq", "--no-header", "-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist"]
    code = pytest.main([*options, *files], plugins=[collected])
    # Behind whatever pytest itself has printed.
    print(f"\n{json.dumps(collected.marks)}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
