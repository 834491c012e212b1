"""A process dies in the middle of a start, webhook, status page, settling, delivery or reconcile; nothing is lost.

So it is with money out, from `pay_out` and `refund` in the shop's own transaction to `payout_completed`: an accountant
compares the service's own books with what the shop committed, and nobody is paid twice, and nobody is forgotten.

A process that dies ends itself with `os._exit` at the point, where no handler and no `finally` runs. Then the shop
comes up again on the database that is left, reconcile comes round, everybody asks once more, and a checker that reads
rows and the outside world's record alone says what is broken.

On PostgreSQL a process dies before and after each connect, statement, commit and call of the service, in each act. On
SQLite one goes through each act: at each bytecode instruction of the extension before which it has written anything,
what it has written is kept, as a death there would leave it, and is looked at in the same way. At all other
instructions, and so at all calls, a death leaves what it leaves one instruction earlier.

Not here, but in the soak that kills whole servers: a death inside a system call or inside the database's own library.
Reads of reconcile run in line here, so that one thread does everything and dies at once.
"""

from __future__ import annotations

import pytest

from tests.crash.acts import MONEY_IN, MONEY_OUT
from tests.crash.conftest import Try


@pytest.mark.parametrize(
    ("acts", "longest"), [(MONEY_IN, "reconcile"), (MONEY_OUT, "send")], ids=["paid in", "paid out"]
)
def test_death_at_any_moment(each_database: str, tries: Try, acts: list[str], longest: str) -> None:
    found = tries(each_database, acts=acts)
    assert found.wrong == []
    assert sum(found.points.values()) > 200
    assert found.left_behind[longest] >= 10, "deaths that all leave the same would try nothing"
