"""Many threads at once in a sandbox of two processes: seconds in every complete run, ten minutes with `-m soak`."""

from __future__ import annotations

import json

import pytest

from tests.chance import seed_of
from tests.optional_parts import postgresql
from tests.soak.databases import KINDS
from tests.soak.shared_sandbox import soaked


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    if request.param == "postgresql":
        postgresql()
    return str(request.param)


def test_many_threads_lose_nothing_and_double_nothing(kind: str, pytestconfig: pytest.Config) -> None:
    figures = soaked(kind, threads=32, seconds=4, processes=2, seed=seed_of(pytestconfig))
    assert (figures["lost"], figures["doubled"], figures["failed_calls"]) == (0, 0, 0), figures
    # It was no idle run.
    assert figures["acts"] > 32
    assert figures["webhooks"] > 5


@pytest.mark.soak
def test_32_threads_for_ten_minutes_lose_nothing_and_double_nothing(
    kind: str, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = soaked(kind, threads=32, seconds=600, processes=2, seed=seed_of(pytestconfig))
    with capsys.disabled():
        print("\n" + json.dumps(figures, indent=2))
    assert (figures["lost"], figures["doubled"], figures["failed_calls"]) == (0, 0, 0), figures
