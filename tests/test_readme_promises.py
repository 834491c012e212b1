"""Each promise of README has a test, and each test that is named for one exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.readme_promises import PROMISES
from tests.test_readme import README

HERE = Path(__file__).parent


@pytest.mark.parametrize("promise", PROMISES)
def test_the_promise_stands_in_readme_and_its_tests_exist(promise: str) -> None:
    assert promise in " ".join(README.split())
    for test in PROMISES[promise]:
        file, _, name = test.partition("::")
        assert re.search(rf"def {name or 'test_'}", (HERE / file).read_text()), test
