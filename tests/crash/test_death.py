"""A process dies in the middle of a start, webhook, status page, settling, delivery or reconcile; nothing is lost.

The same holds for payouts, from `pay_out` and `refund` in the shop's own transaction to `payout_completed`: the checker
compares the service's own books with the shop's committed rows, and no payee is paid twice or forgotten.

A dying process ends itself with `os._exit` at the point, so that no handler and no `finally` runs. Then the shop starts
again on the remaining database, reconcile runs, all requests are repeated, and a checker reports broken promises from
the rows and the record of the outside world alone.

On PostgreSQL a process dies before and after each connect, statement, commit and call of the service, in each act. On
SQLite one process does each act: at each bytecode instruction of the extension before which it has written anything,
the written state is saved, as a death there would leave it, and checked in the same way. At all other instructions, and
so at all calls, a death leaves the same state as one instruction earlier.

The soak, which kills whole servers, covers a death inside a system call or inside the database's own library. Reads of
reconcile run in the main thread here, so that one thread does everything and dies at once.
"""

from __future__ import annotations

import pytest

from tests.crash.acts import MONEY_IN, MONEY_OUT
from tests.crash.conftest import Try


@pytest.mark.parametrize(
    ("acts", "longest"), [(MONEY_IN, "reconcile"), (MONEY_OUT, "send")], ids=["paid in", "paid out"]
)
def test_death_at_any_moment(each_database: str, tries: Try, acts: list[str], longest: str) -> None:
    results = tries(each_database, acts=acts)
    assert results.wrong == []
    assert sum(results.points.values()) > 200
    assert results.left_behind[longest] >= 10, "deaths that all leave the same would try nothing"
