"""A run in numbers."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.soak.books import Books
from tests.soak.checker import Violation

if TYPE_CHECKING:
    from tests.soak.run import Plan, Result

# Which promises' violations are losses, and which are doubles.
_LOSSES = ("no_payment_is_lost", "every_location_is_stored", "each_paid_order_pays_its_maker_once")
_DOUBLES = ("nothing_is_paid_out_twice_or_made_up", "refunds_are_never_more_than_what_arrived")
_MOST_SHOWN = 50


def figures(plan: Plan, record: dict[str, Any], violations: list[Violation], told: dict[str, Any]) -> dict[str, Any]:
    """What the run was and what came of it.

    :param told: what only the run itself knows: how long it took, kills, faults that struck.
    """
    states = Counter(row["status"] for row in record["checkouts"])
    webhooks = record["service_webhooks"]
    sent = Counter(row["order_id"] for row in record["fulfilments"])
    paid = {row["order_id"] for row in record["checkouts"] if row["status"] == "paid"}
    return {
        "database": plan.database,
        "seed": plan.seed,
        "orders": len(record["orders"]),
        **told,
        "checkouts": len(record["checkouts"]),
        **{state: states[state] for state in ("paid", "held", "abandoned", "pending", "created")},
        "in_doubt": [row["reference"] for row in record["payouts"] if row["status"] == "unknown"],
        "payouts": dict(Counter(f"{row['kind']} {row['status']}" for row in record["payouts"])),
        "webhooks": len(webhooks),
        "webhooks_dropped": sum(row["state"] == "dropped" for row in webhooks),
        "webhooks_doubled": sum(row["copies"] == 2 for row in webhooks),
        "events": len(record["events"]),
        "exported": len(record["export"]),
        "books": {" ".join(key): str(amount) for key, amount in sorted(Books(record).sums_exported.items())},
        "lost": sum(one.promise in _LOSSES for one in violations) + len(paid - set(sent)),
        "doubled": sum(one.promise in _DOUBLES for one in violations) + sum(times > 1 for times in sent.values()),
        "violations": len(violations),
    }


def as_json(result: Result) -> str:
    broken = [{"promise": one.promise, "evidence": one.evidence} for one in result.violations]
    return json.dumps(result.figures | {"broken": broken[:_MOST_SHOWN]}, indent=2)
