"""The weather: which share of the service's answers and webhooks goes wrong, and how."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True)
class Fault:
    """A fault and the share of everything that it is to strike."""

    operation: str
    kind: str
    share: float
    more: tuple[tuple[str, Any], ...] = ()


def _of_calls(operation: str) -> tuple[Fault, ...]:
    return (
        Fault(operation, "error", 0.05, (("statusCode", 500),)),
        Fault(operation, "error", 0.05, (("statusCode", 503),)),
        Fault(operation, "lose_response", 0.05),
        Fault(operation, "drop", 0.01),
        Fault(operation, "garbage", 0.02, (("statusCode", 502),)),
        Fault(operation, "garbage", 0.01, (("statusCode", 200),)),
        Fault(operation, "delay", 0.01, (("seconds", 0.4),)),
    )


WEATHER = (
    *_of_calls(CREATE),
    *_of_calls(READ),
    *(fault for operation in MONEY_OUT for fault in _of_calls(operation)),
    Fault(WEBHOOK, "drop", 0.30),
    Fault(WEBHOOK, "duplicate", 0.30),
    Fault(WEBHOOK, "delay", 0.10, (("seconds", 120),)),
    Fault(WEBHOOK, "reorder", 0.10),
)
# Another chain: this one strikes checkouts, not webhooks. The money is there before the shop knows the checkout.
OVERTAKING = Fault(WEBHOOK, "before_response", 0.05)


def order_faults(sandbox: Sandbox) -> None:
    """Let the weather begin.

    Each fault is asked only about what the earlier ones of its operation have left, so it takes a larger share of it.
    """
    left: dict[str, float] = {}
    for fault in WEATHER:
        before = left.get(fault.operation, 1.0)
        _order(sandbox, fault, fault.share / before)
        left[fault.operation] = before - fault.share
    _order(sandbox, OVERTAKING, OVERTAKING.share)


def _order(sandbox: Sandbox, fault: Fault, share: float) -> None:
    order = {"operation": fault.operation, "kind": fault.kind, "times": _NO_END, "share": round(share, 6)}
    answer = pull(sandbox, "POST", "faults", order | dict(fault.more))
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
