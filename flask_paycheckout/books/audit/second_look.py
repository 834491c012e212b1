"""Second looks: what differs is named only when its row did not move while the service was read.

What has changed only now is looked at again some moments later, since a running shop may be about to store it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from flask_paycheckout.books.audit.findings import DOUBTFUL, Finding
from flask_paycheckout.clock import Clock
from flask_paycheckout.payouts.payout_model import PayoutMixin

__all__ = ["SecondLook"]

# Looks at what differs, while the row moves each time.
_MOST_LOOKS = 5
_RECENT = timedelta(seconds=60)
# Seconds until the second look at what has changed only now.
_CALM = 2.0


Row = TypeVar("Row")


class SecondLook:
    """Makes sure of findings.

    :param pause: waits for seconds.
    """

    def __init__(self, clock: Clock, pause: Callable[[float], object]) -> None:
        self._clock = clock
        self._pause = pause

    def at(
        self,
        rows: Sequence[Row],
        judged: dict[int, Finding],
        rows_now: Callable[[Collection[int]], Mapping[int, Row]],
        look: Callable[[Sequence[Row]], Mapping[int, Finding]],
    ) -> Sequence[Finding]:
        """The findings that are certain.

        :param rows: as they were read before `judged`, each with the id of its row.
        :param rows_now: reads rows again, by their ids.
        :param look: reads the service again, and compares.
        """
        stored = {_id_of(row): row for row in rows}
        certain: set[int] = set()
        for looks in range(_MOST_LOOKS):
            doubtful = [number for number, one in judged.items() if one.verdict in DOUBTFUL and number not in certain]
            if not doubtful:
                break
            now = rows_now(doubtful)
            again = []
            for number in doubtful:
                if number not in now:
                    # It was deleted meanwhile.
                    del judged[number]
                elif _version(now[number]) != _version(stored[number]) or (
                    looks == 0 and self._is_recent(judged[number])
                ):
                    again.append(number)
                else:
                    certain.add(number)
            if any(self._is_recent(judged[number]) for number in again):
                self._pause(_CALM)
                now = rows_now(again)
            stored |= now
            judged |= look([now[number] for number in again if number in now])
        return list(judged.values())

    def _is_recent(self, finding: Finding) -> bool:
        return finding.changed_at is not None and finding.changed_at > self._clock() - _RECENT


def _version(row: Any) -> Any:
    """Equal as long as nothing that is compared has changed."""
    return row.changes if isinstance(row, PayoutMixin) else (row.status, row.deposit_status, row.revision)


def _id_of(row: Any) -> int:
    number: int = row.id
    return number
