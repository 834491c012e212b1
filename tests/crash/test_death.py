"""A process dies in the middle of a start, webhook, status page, settling, delivery or reconcile; nothing is lost.

So it is with money out, from `pay_out` and `refund` in the shop's own transaction to `payout_completed`: an accountant
compares the service's own books with what the shop committed, and nobody is paid twice, and nobody is forgotten.

Each death is real: a forked process ends itself with `os._exit` at the point, where no handler and no `finally` runs.
Then the shop comes up again on the database that is left, reconcile comes round, everybody asks once more, and a
checker that reads rows and the outside world's record alone says what is broken.

On every change a process dies
- before and after each connect, statement, commit and call of the service, in each act: on SQLite and on PostgreSQL;
- on SQLite, at each bytecode instruction of the extension (the client and the sandbox aside) that the six main acts
  reach, when an act first reaches it and no earlier one did; of the modules about payouts, at every fourth.

The soak does the rest: each instruction of each act, the client's too, each time that it is passed on SQLite, and when
first passed on PostgreSQL. Not here, but in the soak that kills whole servers: a death inside a system call or inside
the database's own library. Reads of reconcile run in line here, so that one thread does everything and dies at once.
"""

from __future__ import annotations

import pytest

from tests.crash.acts import MONEY_IN, MONEY_OUT
from tests.crash.conftest import Try

# The shortest way to an instruction first: most of the time goes into getting there.
MAIN = ["deliver", "settle", "webhook", "status page", "start", "reconcile"]
PARTS = 4
# The modules about payouts; the acts reach all others on their way.
PAYOUTS = ["payouts/"]


def test_death_at_any_call(each_database: str, tries: Try) -> None:
    found = tries(each_database, acts=MONEY_IN)
    assert found.wrong == []
    assert min(found.points.values()) >= 4
    assert found.left_behind["reconcile"] >= 10, "deaths that all leave the same would try nothing"


def test_death_at_any_call_on_the_way_of_money_out(each_database: str, tries: Try) -> None:
    found = tries(each_database, acts=MONEY_OUT)
    assert found.wrong == []
    assert min(found.points.values()) >= 4
    assert found.left_behind["send"] >= 10, "deaths that all leave the same would try nothing"


@pytest.mark.parametrize("part", range(PARTS))
def test_death_at_any_instruction(sqlite_database: str, tries: Try, part: int) -> None:
    found = tries(sqlite_database, acts=MAIN, points="new instructions", part=(part, PARTS), accounts=1 + part % 2)
    assert found.wrong == []
    assert sum(found.points.values()) > 500


def test_death_at_instructions_on_the_way_of_money_out(sqlite_database: str, tries: Try) -> None:
    found = tries(sqlite_database, acts=MONEY_OUT, points="new instructions", within=PAYOUTS, part=(0, 4))
    assert found.wrong == []
    assert sum(found.points.values()) > 500


@pytest.mark.soak
def test_death_at_any_instruction_whenever_it_is_passed(sqlite_database: str, tries: Try) -> None:
    found = tries(sqlite_database, points="every instruction", client=True)
    assert found.wrong == []


@pytest.mark.soak
def test_death_at_any_instruction_beside_a_server(postgres_database: str, tries: Try) -> None:
    found = tries(postgres_database, points="first instructions", client=True)
    assert found.wrong == []
