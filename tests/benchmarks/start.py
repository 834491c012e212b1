"""Starting to pay: the form's POST, the checkout made upstream, stored, and the redirect to its page."""

from __future__ import annotations

import sys

from tests.benchmarks.measuring import CPU_MS, FLOOR, PER_SECOND, Goal
from tests.benchmarks.program import main
from tests.benchmarks.row import Row
from tests.benchmarks.sites import Site, web_contenders, web_profile

__all__ = ["ROW"]


def _requests(site: Site, first: int, count: int) -> list[bytes]:
    return site.starts(first, count)


ROW = Row(
    name="start",
    title="`start` + redirect (store, then show)",
    goals=(Goal(PER_SECOND, over="django-payments", at_least=1.25), Goal(CPU_MS, over=FLOOR, at_most=1.8)),
    contenders=web_contenders(_requests, status=303, count=800, peers=("django-payments",)),
    profiled=web_profile(_requests, status=303),
    by_database=True,
)

if __name__ == "__main__":
    sys.exit(main([ROW]))
