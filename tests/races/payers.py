"""A process of `tests.shop_app` whose threads decide about payouts and send them: `python -m tests.races.payers`.

Its last argument is the number of processes, which begin together.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import cycle, islice

from tests.payouts.shop import decides, sends
from tests.races.crowds import crowd, in_processes
from tests.shop_app import create_shop

THREADS, DECISIONS = 32, 2
LIMIT = {"USD": "1000.00"}


def main(decisions: list[str], waits_for_others: Callable[[], object]) -> None:
    shop = create_shop(
        PAYCHECKOUT_ACCESS_TOKEN="races-token",
        PAYCHECKOUT_PAYOUT_BATCH=4,
        PAYCHECKOUT_DAILY_LIMIT=LIMIT,
        # A PostgreSQL server allows a hundred connections.
        SQLALCHEMY_ENGINE_OPTIONS={"pool_size": 8, "max_overflow": 0, "pool_timeout": 120},
    )

    def acts(number: int) -> None:
        for decision in islice(cycle(decisions), number, number + DECISIONS):
            decides(shop, *decision.split())
        sends(shop)

    waits_for_others()
    with crowd(THREADS) as threads:
        threads.does([partial(acts, number) for number in range(THREADS)])


if __name__ == "__main__":
    sys.exit(in_processes(main))
