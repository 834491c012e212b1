"""The figures of a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.promises import Violation
from tests.soak.books import sums_exported
from tests.soak.record import Record, Soaked

if TYPE_CHECKING:
    from tests.soak.run import Plan

# The promises whose violations are losses, and those whose violations are duplicates.
_LOSSES = ("no_payment_is_lost", "every_page_is_stored", "every_event_is_told", "each_paid_order_pays_its_maker_once")
_DOUBLES = (
    "nobody_is_told_twice_or_of_nothing",
    "nothing_is_paid_out_twice_or_made_up",
    "refunds_are_never_more_than_what_arrived",
)
_MOST_SHOWN = 50


def figures(plan: Plan, record: Record, violations: list[Violation], facts: dict[str, Any]) -> dict[str, Any]:
    """The figures of a run and of its results.

    :param told: figures that only the run itself has: its duration, kills and applied faults.
    """
    checkouts, payouts, webhooks = (record[name] for name in ("paycheckout_checkout", "paycheckout_payout", "webhook"))
    promises = [violation.promise for violation in violations]
    return {
        "database": plan.database,
        "seed": plan.seed,
        "orders": len(record["shop_order"]),
        **facts,
        "checkouts": len(checkouts),
        "paid": 0,
        **Counter(row["status"] for row in checkouts),
        "in_doubt": [row["reference"] for row in payouts if row["status"] == "unknown"],
        "payouts": dict(Counter(f"{row['kind']} {row['status']}" for row in payouts)),
        "webhooks_dropped": sum(row["state"] == "dropped" for row in webhooks),
        "webhooks_doubled": sum(row["copies"] == 2 for row in webhooks),
        "exported": len(record["export"]),
        "books": {" ".join(key): str(amount) for key, amount in sorted(sums_exported(Soaked(record)).items())},
        "lost": sum(map(promises.count, _LOSSES)),
        "doubled": sum(map(promises.count, _DOUBLES)),
        "violations": len(violations),
        "broken": [f"{violation.promise}: {violation.evidence}" for violation in violations[:_MOST_SHOWN]],
    }
