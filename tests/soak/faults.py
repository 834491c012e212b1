"""The injected faults: the shares of the service's answers and webhooks that fail, and how they fail."""

from __future__ import annotations

from typing import Any

from tests.soak.calls import pull
from tests.soak.processes import Sandbox

CREATE = "POST /v1/checkout"
READ = "GET /v1/deposit/{id}"
MONEY_OUT = (
    "POST /v2/disbursement/fiat",
    "POST /v1/disbursement/crypto",
    "GET /v1/disbursement/fiat",
    "GET /v1/disbursement/fiat/{id}",
)
WEBHOOK = "webhook"
_NO_END = 1_000_000


# Faults of an operation's calls: the kind, the share of the calls, and further fields.
Faults = list[tuple[str, float, dict[str, Any]]]
_OF_CALLS: Faults = [
    ("error", 0.05, {"statusCode": 500}),
    ("error", 0.05, {"statusCode": 503}),
    ("lose_response", 0.05, {}),
    ("drop", 0.01, {}),
    ("garbage", 0.02, {"statusCode": 502}),
    ("garbage", 0.01, {"statusCode": 200}),
    ("delay", 0.01, {"seconds": 0.4}),
]
_OF_WEBHOOKS: Faults = [
    ("drop", 0.30, {}),
    ("duplicate", 0.30, {}),
    ("delay", 0.10, {"seconds": 120}),
    ("reorder", 0.10, {}),
]
# A separate list, because this fault applies to creates of checkouts: the money arrives before the create's answer.
_OVERTAKING: Faults = [("before_response", 0.05, {})]


def order_faults(sandbox: Sandbox) -> None:
    """Arm all faults."""
    for operation in (CREATE, READ, *MONEY_OUT):
        _order(sandbox, operation, _OF_CALLS)
    _order(sandbox, WEBHOOK, _OF_WEBHOOKS)
    _order(sandbox, WEBHOOK, _OVERTAKING)


def _order(sandbox: Sandbox, operation: str, faults: Faults) -> None:
    """Arm faults. Each sees only the calls that the earlier ones left, so its share of these is larger."""
    left = 1.0
    for kind, share, more in faults:
        order = {"operation": operation, "kind": kind, "times": _NO_END, "share": round(share / left, 6)}
        left -= share
        answer = pull(sandbox, "POST", "faults", order | more)
        if answer.status_code != 200:
            raise RuntimeError(f"a fault was refused: {answer.text}")


def end_faults(sandbox: Sandbox) -> dict[str, int]:
    """Remove all faults; returns how often each was applied, by `operation kind`."""
    struck: dict[str, int] = {}
    for fault in pull(sandbox, "GET", "faults").json():
        name = f"{fault['operation']} {fault['kind']}"
        struck[name] = struck.get(name, 0) + _NO_END - int(fault["times"])
    answer = pull(sandbox, "DELETE", "faults")
    if answer.status_code != 200:
        raise RuntimeError(f"the faults go on: {answer.text}")
    return struck
