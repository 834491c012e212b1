"""Second comparisons: a difference is reported only if two comparisons, some moments apart, find the same.

The second one follows later, because a running shop may be about to store the change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from flask_paycheckout.books.audit.findings import Finding, Verdict
from flask_paycheckout.books.audit.reading import Reads

Findings = dict[Any, Finding]
"""Findings by the id of the row, or by the name of the checkout or payout."""

# The maximum number of further comparisons, while the row changes each time.
_MAX_REPEATS = 5
# Seconds until the next comparison of a difference.
_CALM = 2.0


@dataclass(frozen=True)
class Recheck:
    """Compares rows, and repeats the comparison of differences.

    :param compare: compares the rows of these names as they are now; missing rows have no finding.
    :param heal: called with each difference before the second comparison, if the audit may change rows.
    """

    reads: Reads
    compare: Callable[[Collection[Any]], Findings]
    heal: Callable[[Finding], object] | None = None
    named: set[Any] = field(default_factory=set, init=False)
    """The names with a finding already: a list can contain one twice, and several lines may be about one."""

    def certain(self, names: Iterable[Any]) -> Collection[Finding]:
        """The certain findings: a doubtful one is certain once two comparisons find the same."""
        judged = self.compare({*names} - self.named)
        doubtful = _doubtful(judged)
        if self.heal is not None:
            for finding in doubtful.values():
                self.heal(finding)
        for _ in range(_MAX_REPEATS):
            if not doubtful:
                break
            self.reads.pause(_CALM)
            again = self.compare(doubtful)
            judged = {name: finding for name, finding in judged.items() if name not in doubtful} | again
            doubtful = {name: finding for name, finding in _doubtful(again).items() if finding != doubtful[name]}
        self.named.update(judged)
        return judged.values()


def _doubtful(judged: Findings) -> Findings:
    certain = (Verdict.AGREED, Verdict.UNREADABLE)
    return {name: finding for name, finding in judged.items() if finding.verdict not in certain}
