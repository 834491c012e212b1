"""A webhook that settles an order: the deposit read upstream, the move with its event, and one receiver's row."""

from __future__ import annotations

import sys

from tests.benchmarks.measuring import PER_SECOND, Goal
from tests.benchmarks.program import main
from tests.benchmarks.row import Row
from tests.benchmarks.sites import Site, web_contenders, web_profile

__all__ = ["ROW"]


def _requests(site: Site, first: int, count: int) -> list[bytes]:
    site.stored("due", first, count)
    return site.webhooks("due", first, count)


ROW = Row(
    name="first_webhook",
    title="webhook that settles an order, event and one receiver included",
    goals=(
        Goal(PER_SECOND, over="django-payments", at_least=1.3),
        Goal(PER_SECOND, over="dj-stripe", at_least=4),
    ),
    contenders=web_contenders(_requests, status=200, count=500, peers=("django-payments", "dj-stripe")),
    profiled=web_profile(_requests, status=200),
    by_database=True,
)

if __name__ == "__main__":
    sys.exit(main([ROW]))
