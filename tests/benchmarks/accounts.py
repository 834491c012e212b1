"""What an account whose service or keys fail costs the others: settled checkouts a second beside it, and without it.

python -m tests.benchmarks.accounts --accounts 1 20 200 --due 600
python -m tests.benchmarks.accounts --database postgresql --rounds 3

All is measured in turns, and a ratio is taken within each round, so that other load falls on both sides alike. The
processor time of this process for each read is far less disturbed by other load than the pace is.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from typing import NamedTuple

from flask_paycheckout import Account, ReconcileReport
from tests.benchmarks.databases import database_kinds, fresh_database
from tests.benchmarks.reconcile import rows, store
from tests.benchmarks.shop import open_shop
from tests.benchmarks.stub import FAILURES, running_stub
from tests.scripted import Shop

FAILING = "failing"
#: Due reads of the account that fails.
ITS_DUE = 200


class Pace(NamedTuple):
    """Reads settled in a second, and milliseconds of processor time for each."""

    per_second: float
    processor: float


class Market:
    """A shop with so many healthy accounts, and one that fails as it is told.

    :param due: reads of all healthy accounts together.
    """

    def __init__(self, shop: Shop, accounts: int, due: int) -> None:
        self.shop = shop
        self.names = [f"seller-{number}" for number in range(accounts)]
        self.due = due // accounts * accounts
        self.failure: str | None = None
        self._numbers = count(step=100_000)
        shop.paycheckout.account_of(lambda order_id: "")
        shop.paycheckout.account(self._keys)

    def _keys(self, name: str) -> Account:
        fails = name == FAILING and self.failure is not None
        return Account(self.failure if fails else name, "a-secret-of-many-characters")  # type: ignore[arg-type]

    def pace(self, failure: str | None) -> Pace:
        """How the reads of the healthy accounts are settled beside the one that fails; None: it has nothing due."""
        if failure is not None:
            # It was healthy until now, so that as many of its reads begin as may.
            self._round(None, ITS_DUE)
        return self._round(failure, 0 if failure is None else ITS_DUE)

    def _round(self, failure: str | None, its_due: int) -> Pace:
        shop, checkouts = self.shop, self.shop.runtime.models.checkouts
        self.failure = failure
        shop.runtime.accounts.refused(FAILING)
        first, share = next(self._numbers), self.due // len(self.names)
        made = rows("due", first, self.due + its_due)
        store(
            shop,
            checkouts,
            ({**row, "account": self._owner(place // share)} for place, row in enumerate(made)),
        )
        began, spent = time.perf_counter(), time.process_time()
        took: list[Pace] = []

        def look(report: ReconcileReport) -> None:
            # A failing account's reads change nothing.
            if report.changed >= self.due and not took:
                seconds, processor = time.perf_counter() - began, time.process_time() - spent
                took.append(Pace(self.due / seconds, 1000 * processor / self.due))

        with shop.app.app_context():
            shop.runtime.reconciler.run(None, look)
        with shop.runtime.engine().begin() as connection:
            waits = checkouts.c.account == FAILING, checkouts.c.next_read_at.is_not(None)
            connection.execute(checkouts.update().where(*waits).values(next_read_at=None))
        return took[0]

    def _owner(self, place: int) -> str:
        return self.names[place] if place < len(self.names) else FAILING


@contextmanager
def open_market(database: str, service: str, accounts: int, due: int, timeout: float) -> Iterator[Market]:
    with open_shop(database, service, PAYCHECKOUT_TIMEOUT=timeout) as shop, closing(shop.runtime.accounts):
        yield Market(shop, accounts, due)


def measure(market: Market, rounds: int) -> None:
    """Print the pace without and beside each failure, and the ratios."""
    market.pace(None)
    alone: list[Pace] = []
    beside: dict[str, list[Pace]] = {failure: [] for failure in FAILURES}
    for number in range(rounds):
        kinds: list[str | None] = [None, *FAILURES]
        for kind in kinds[number % len(kinds) :] + kinds[: number % len(kinds)]:
            (alone if kind is None else beside[kind]).append(market.pace(kind))
    print(f"{len(market.names)} accounts: {_shown(alone)} when none fails")
    for kind, paces in beside.items():
        ratios = [pace.per_second / other.per_second for pace, other in zip(paces, alone, strict=True)]
        spread = f"{statistics.median(ratios):.2f} x ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"    one {kind}: {spread}; {_shown(paces)}")


def _shown(paces: Sequence[Pace]) -> str:
    per_second, processor = (statistics.median(part) for part in zip(*paces, strict=True))
    return f"{per_second:.0f} settled/s, {processor:.2f} ms of processor each"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--accounts", type=int, nargs="+", default=[1, 20, 200], help="healthy accounts")
    parser.add_argument("--due", type=int, default=600, help="reads of all of them in each round")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds that the service takes to answer")
    parser.add_argument("--timeout", type=float, default=15.0, help="seconds until a call that hangs has failed")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(argv)
    with database_kinds((options.database,)) as servers, running_stub(options.latency) as service:
        for accounts in options.accounts:
            with (
                fresh_database(servers[options.database]) as database,
                open_market(database, service, accounts, options.due, options.timeout) as market,
            ):
                print(f"{options.database}, {accounts} accounts ...", file=sys.stderr)
                measure(market, options.rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
