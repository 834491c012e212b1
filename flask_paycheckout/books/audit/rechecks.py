"""Second looks: a difference is named only when two looks at row and service, or at row and books, find the same.

The second one follows some moments later, since a running shop may be about to store what has changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from flask_paycheckout.books.audit.findings import Finding, Verdict
from flask_paycheckout.books.audit.reading import Reads

Findings = dict[Any, Finding]
"""By the id of the row, or the name of the checkout or payout."""

# Looks at what differs, while the row moves each time.
_MOST_LOOKS = 5
# Seconds until the second look at what differs.
_CALM = 2.0


@dataclass(frozen=True)
class Recheck:
    """Looks at rows, and makes sure of what it found.

    :param look: compares the rows of these names, as they are now; rows that are gone have no finding.
    :param heal: called with each difference before the second look, where that may change rows.
    """

    reads: Reads
    look: Callable[[Collection[Any]], Findings]
    heal: Callable[[Finding], object] | None = None
    named: set[Any] = field(default_factory=set, init=False)
    """The names of those with a finding: a list can show one twice, and several lines tell of one."""

    def certain(self, names: Iterable[Any]) -> Collection[Finding]:
        """The findings that are certain: a doubtful one is named once two looks say the same."""
        judged = self.look({*names} - self.named)
        doubtful = _doubtful(judged)
        if self.heal is not None:
            for finding in doubtful.values():
                self.heal(finding)
        for _ in range(_MOST_LOOKS):
            if not doubtful:
                break
            self.reads.pause(_CALM)
            again = self.look(doubtful)
            judged = {name: one for name, one in judged.items() if name not in doubtful} | again
            doubtful = {name: one for name, one in _doubtful(again).items() if one != doubtful[name]}
        self.named.update(judged)
        return judged.values()


def _doubtful(judged: Findings) -> Findings:
    return {name: one for name, one in judged.items() if one.verdict not in (Verdict.AGREED, Verdict.UNREADABLE)}
