"""Every row of the table: python -m tests.benchmarks --quick"""

from __future__ import annotations

import sys

from tests.benchmarks.client_call import ROW as CLIENT_CALL
from tests.benchmarks.decoding import ROW as DECODING
from tests.benchmarks.first_webhook import ROW as FIRST_WEBHOOK
from tests.benchmarks.imports import ROW as IMPORTS
from tests.benchmarks.memory import ROW as MEMORY
from tests.benchmarks.program import main
from tests.benchmarks.repeated_webhook import ROW as REPEATED_WEBHOOK
from tests.benchmarks.sandbox_order import ROW as SANDBOX_ORDER
from tests.benchmarks.sandbox_writes import ROW as SANDBOX_WRITES
from tests.benchmarks.start import ROW as START
from tests.benchmarks.status import ROW as STATUS

__all__ = ["ROWS"]

ROWS = (
    START,
    FIRST_WEBHOOK,
    REPEATED_WEBHOOK,
    STATUS,
    CLIENT_CALL,
    DECODING,
    IMPORTS,
    SANDBOX_WRITES,
    SANDBOX_ORDER,
    MEMORY,
)

if __name__ == "__main__":
    sys.exit(main(ROWS))
