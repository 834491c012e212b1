"""A webhook of an order that is settled, which no read can change any more."""

from __future__ import annotations

import sys

from tests.benchmarks.measuring import FLOOR, PER_SECOND, Goal
from tests.benchmarks.program import main
from tests.benchmarks.row import Row
from tests.benchmarks.sites import Site, web_contenders, web_profile

__all__ = ["ROW"]


def _requests(site: Site, first: int, count: int) -> list[bytes]:
    site.stored("paid", first, count)
    return site.webhooks("paid", first, count)


ROW = Row(
    name="repeated_webhook",
    title="repeated webhook of a settled order, to a bare view with one SELECT",
    goals=(
        Goal(PER_SECOND, over=FLOOR, at_least=0.75),
        Goal(PER_SECOND, over="dj-stripe", at_least=2),
    ),
    contenders=web_contenders(_requests, status=200, count=1500, peers=("dj-stripe",)),
    profiled=web_profile(_requests, status=200),
    by_database=True,
)

if __name__ == "__main__":
    sys.exit(main([ROW]))
