"""The weather: which share of the service's answers and webhooks goes wrong, and how."""

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


# Faults of an operation's calls: the kind, the share of calls that it is to strike, and more about it.
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
# Another chain: this one strikes checkouts, not webhooks. The money is there before the shop knows the checkout.
_OVERTAKING: Faults = [("before_response", 0.05, {})]


def order_faults(sandbox: Sandbox) -> None:
    """Let the weather begin."""
    for operation in (CREATE, READ, *MONEY_OUT):
        _order(sandbox, operation, _OF_CALLS)
    _order(sandbox, WEBHOOK, _OF_WEBHOOKS)
    _order(sandbox, WEBHOOK, _OVERTAKING)


def _order(sandbox: Sandbox, operation: str, faults: Faults) -> None:
    """Each fault is asked only about what the earlier ones have left, so it takes a larger share of it."""
    left = 1.0
    for kind, share, more in faults:
        order = {"operation": operation, "kind": kind, "times": _NO_END, "share": round(share / left, 6)}
        left -= share
        answer = pull(sandbox, "POST", "faults", order | more)
        if answer.status_code != 200:
            raise RuntimeError(f"a fault was refused: {answer.text}")


def end_faults(sandbox: Sandbox) -> dict[str, int]:
    """Let the weather end; gives how often each kind struck, as `operation kind`."""
    struck: dict[str, int] = {}
    for fault in pull(sandbox, "GET", "faults").json():
        name = f"{fault['operation']} {fault['kind']}"
        struck[name] = struck.get(name, 0) + _NO_END - int(fault["times"])
    answer = pull(sandbox, "DELETE", "faults")
    if answer.status_code != 200:
        raise RuntimeError(f"the faults go on: {answer.text}")
    return struck
