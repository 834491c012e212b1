"""The fenced blocks of README.md, CONTRIBUTING.md and docs/, with the scenario that runs each.

A comment above a block names its scenario and, where the scenario takes several blocks, the block:

    <!-- owners_pages: owner.py -->

The scenarios are functions in `tests/docs/scenarios/`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted(page.relative_to(ROOT).as_posix() for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])

# The languages of blocks that are not code: diagrams, and Sphinx's own directives.
_SHOWN_ONLY = re.compile(r"text|\{.*")
_BLOCK = re.compile(
    r"^(?:<!-- (?P<scenario>\w+)(?:: (?P<name>[^>]+))? -->\n)?^```(?P<language>\S*)[^\n]*\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    """One fenced block.

    :ivar scenario: the function that runs it; None when the page names none.
    :ivar name: tells the scenario's blocks apart; empty when the page gives none.
    """

    page: str
    scenario: str | None
    name: str
    language: str
    text: str


@dataclass
class Scene:
    """The blocks of a page that one scenario runs; it records the used ones."""

    page: str
    scenario: str | None
    blocks: list[Block]
    _taken: set[Block] = field(default_factory=set)

    def __getitem__(self, name: str) -> str:
        (block,) = [block for block in self.blocks if block.name == name]
        self._taken.add(block)
        return block.text

    def code(self) -> str:
        """All blocks except the commands, one after the other."""
        return "\n".join(self[block.name] for block in self.blocks if block.language != "console")

    def commands(self) -> list[str]:
        """The lines of all console blocks."""
        consoles = [block for block in self.blocks if block.language == "console"]
        self._taken.update(consoles)
        return [line for block in consoles for line in block.text.splitlines()]

    def not_taken(self) -> list[Block]:
        return [block for block in self.blocks if block not in self._taken]

    def __str__(self) -> str:
        return f"{self.page}: {self.scenario or self.blocks[0].text.splitlines()[0]}"


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def _blocks(page: str) -> Iterator[Block]:
    for match in _BLOCK.finditer(read(page)):
        if not _SHOWN_ONLY.fullmatch(match["language"]):
            yield Block(page, match["scenario"], match["name"] or "", match["language"], match["text"])


def all_scenes() -> list[Scene]:
    """Every block of every page, gathered by scenario; a block without one stands alone."""
    scenes = []
    for page in PAGES:
        blocks = sorted(_blocks(page), key=lambda block: block.scenario or "")
        for scenario, same in groupby(blocks, key=lambda block: block.scenario):
            together = list(same)
            scenes += [
                Scene(page, scenario, part) for part in ([together] if scenario else [[one] for one in together])
            ]
    return scenes


def _scene(page: str, scenario: str) -> Scene:
    return next(scene for scene in all_scenes() if (scene.page, scene.scenario) == (page, scenario))


def snippet(page: str, scenario: str, name: str) -> str:
    """One block, for a test outside of its scenario."""
    return _scene(page, scenario)[name]


def commands(page: str, scenario: str) -> list[str]:
    return _scene(page, scenario).commands()
