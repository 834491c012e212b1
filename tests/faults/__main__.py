"""Plants a fault and runs tests: `python -m tests.faults "the fee of a payout is not booked" tests/books`."""

from __future__ import annotations

import sys

import pytest

from tests.faults.planting import plant
from tests.faults.table import FAULTS

#: A missing defence may also reveal a secret, which only the chosen test must notice.
_WITHOUT = ("cacheprovider", "randomly", "schemathesis", "tests.canaries", "xdist")


def main(name: str, *tests: str) -> int:
    """Run the tests until one fails; without a name there is no fault."""
    plant(FAULTS[name][1:] if name else [])
    # Tests run on PostgreSQL only if a chosen test names it.
    options = [] if any("postgresql" in test for test in tests) else ["-knot postgresql"]
    return pytest.main(["-qx", "--assert=plain", *options, *(f"-pno:{plugin}" for plugin in _WITHOUT), *tests])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
