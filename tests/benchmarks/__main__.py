"""Every row of the table: python -m tests.benchmarks --quick"""

from __future__ import annotations

import sys

from tests.benchmarks import client_call, imports, sandbox_order, sandbox_writes, web
from tests.benchmarks.program import main

ROWS = (
    *web.ROWS,
    client_call.ROW,
    imports.ROW,
    sandbox_writes.ROW,
    sandbox_order.ROW,
)

if __name__ == "__main__":
    sys.exit(main(ROWS))
