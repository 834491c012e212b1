"""The values of all unknowns in one process: those chosen at the start, and those changed since then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS, choose

_ALTERNATIVES = {unknown.name: unknown.values for unknown in ASSUMPTIONS}


class Switches(Mapping[str, str]):
    """The values in force, by name.

    The database has what was changed; this object has what was read last, so that asking for a value takes no query.

    :param chosen: values chosen at the start; the others have their defaults.
    :raises AssumptionError: there is no such unknown, or it has no such value.
    """

    def __init__(self, chosen: Mapping[str, str] | None = None) -> None:
        self.started_with: Mapping[str, str] = choose(chosen)
        """The values to which a reset returns."""
        self._values = dict(self.started_with)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def take(self, changed: Mapping[str, str]) -> None:
        """Take over what was changed since the start. What this version does not know is left out."""
        known = {name: value for name, value in changed.items() if value in _ALTERNATIVES.get(name, ())}
        # In one step, since other threads read it at the same time.
        self._values = {**self.started_with, **known}

    def changes(self, values: Mapping[str, str]) -> dict[str, str]:
        """Those of these values that differ from the start."""
        return {name: value for name, value in values.items() if value != self.started_with[name]}

    def describe(self) -> list[dict[str, Any]]:
        """All unknowns as JSON for testers, with the values in force and at the start."""
        values = self._values
        return [
            {
                "name": unknown.name,
                "value": values[unknown.name],
                "startValue": self.started_with[unknown.name],
                "default": unknown.default,
                "alternatives": list(unknown.alternatives),
                "meaning": unknown.meaning,
            }
            for unknown in ASSUMPTIONS
        ]
