"""A threat, what stands against it, the tests that attack it, and the edits that would take the defence away."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Edit", "Removal", "Threat"]


@dataclass(frozen=True)
class Edit:
    """A piece of a file below `flask_paycheckout/`, and what takes its place."""

    file: str
    before: str
    after: str


@dataclass(frozen=True)
class Removal:
    """A defence taken away, and the test that must fail without it.

    :ivar noticed_by: a test's id, of all its cases unless it names one.
    """

    takes_away: str
    edit: Edit
    noticed_by: str


@dataclass(frozen=True)
class Threat:
    """One way to hurt a shop.

    :ivar tests: ids of test functions, without parameters.
    """

    name: str
    defence: str
    tests: tuple[str, ...]
    removals: tuple[Removal, ...]
