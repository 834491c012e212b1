"""`python -m tests.databases.weather FOLDER SEED`: a small soak while its PostgreSQL restarts and fails over.

Half of the shop's processes reach it through PgBouncer in transaction mode, half by an address with two hosts. Prints
JSON: the run's figures, every broken promise, the orders before each trouble, and the seconds that recovery took.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import create_engine, text

from tests.databases.servers import POOLED, Pooler
from tests.postgres import HOST, Server, own_folder
from tests.soak.databases import Databases
from tests.soak.processes import WEB, Processes
from tests.soak.run import Plan, answers, run
from tests.waiting import eventually

#: Orders placed between two troubles.
_BETWEEN = 4


def main(folder: Path, seed: int) -> None:
    """Run the soak, and print its result."""
    with own_folder() as place, Server(place, "first").running() as first:
        first.execute("CREATE DATABASE shop")
        with first.replica("second") as second, Pooler(place, first).running() as pooler:
            hosts = f"host={HOST},{HOST}&port={first.port},{second.port}&target_session_attrs=read-write"
            direct = {
                "SQLALCHEMY_DATABASE_URI": f"postgresql+psycopg://postgres@/shop?{hosts}",
                "SQLALCHEMY_ENGINE_OPTIONS": {},
            }
            own = {"web-2": direct, "reconcile-2": direct}
            at = Databases(pooler.address(), f"sqlite:///{folder}/sandbox.db", POOLED, own)
            weather = Weather(first, second, pooler)
            plan = Plan(orders=30, kills=0, minutes=0.1, database="postgresql", seed=seed, speed=120)
            result = run(plan, folder, at, weather.strikes)
    facts = {"orders_before": weather.orders_before, "recovered": weather.recovered}
    print(json.dumps(result | facts))


class Weather:
    """The troubles of one run, one after the other."""

    def __init__(self, first: Server, second: Server, pooler: Pooler) -> None:
        self._first, self._second, self._pooler = first, second, pooler
        self.orders_before: dict[str, int] = {}
        self.recovered: dict[str, float] = {}

    def strikes(self, processes: Processes) -> None:
        troubles: dict[str, Callable[[], None]] = {
            "fast restart": lambda: self._restart("fast"),
            "immediate restart": lambda: self._restart("immediate"),
            "failover": self._fail_over,
        }
        for number, (name, strike) in enumerate(troubles.items(), start=1):
            eventually(lambda number=number: self._orders() >= number * _BETWEEN)  # type: ignore[misc]
            self.orders_before[name] = self._orders()
            strike()
            began = time.monotonic()
            eventually(lambda: all(answers(processes.url(web)) for web in WEB))
            self.recovered[name] = round(time.monotonic() - began, 1)

    def _restart(self, mode: str) -> None:
        self._first.stop(mode)
        self._first.start()

    def _fail_over(self) -> None:
        self._first.stop("immediate")
        self._second.promote()
        self._pooler.point_to(self._second)

    def _orders(self) -> int:
        """The orders placed so far."""
        engine = create_engine(self._pooler.address(), **POOLED)
        try:
            with engine.connect() as connection:
                return int(connection.execute(text("SELECT count(*) FROM shop_order")).scalar_one())
        finally:
            engine.dispose()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
