"""Every row of the table: python -m tests.benchmarks --quick"""

from __future__ import annotations

import sys

from tests.benchmarks import (
    client_call,
    decoding,
    first_webhook,
    imports,
    memory,
    repeated_webhook,
    sandbox_order,
    sandbox_writes,
    start,
    status,
)
from tests.benchmarks.program import main

__all__ = ["ROWS"]

ROWS = (
    start.ROW,
    first_webhook.ROW,
    repeated_webhook.ROW,
    status.ROW,
    client_call.ROW,
    decoding.ROW,
    imports.ROW,
    sandbox_writes.ROW,
    sandbox_order.ROW,
    memory.ROW,
)

if __name__ == "__main__":
    sys.exit(main(ROWS))
