"""Every command and every snippet of README and docs/ runs, and all named scenarios exist."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from tests.docs.pages import Scene, all_scenes
from tests.docs.scenarios import SCENARIOS

#: Scenarios that start programs, or their fixtures.
PROGRAMS = {"by_hand", "merchant", "merchant_with_shop", "new_page", "postgres_database"}


def _scenes() -> Iterator[Any]:
    for scene in all_scenes():
        run = SCENARIOS.get(scene.scenario or "")
        slow = run is not None and PROGRAMS & {scene.scenario, *inspect.signature(run).parameters}
        yield pytest.param(scene, marks=[pytest.mark.slow("documented programs")] if slow else [], id=str(scene))


@pytest.mark.parametrize("scene", list(_scenes()))
def test_the_commands_and_snippets_of_each_page_run(scene: Scene, request: pytest.FixtureRequest) -> None:
    run = SCENARIOS.get(scene.scenario or "")
    assert run is not None, f"{scene.page}: no scenario of tests/docs/scenarios runs\n{scene.blocks[0].text}"
    fixtures = [name for name in inspect.signature(run).parameters if name != "scene"]
    run(scene=scene, **{name: request.getfixturevalue(name) for name in fixtures})
    assert scene.not_taken() == []
