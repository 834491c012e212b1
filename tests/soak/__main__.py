"""`python -m tests.soak`: exit code 0 when every promise was kept, 1 when one was broken."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from random import SystemRandom

from tests.soak.databases import KINDS
from tests.soak.run import Plan, run


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    plan = Plan(
        options.orders,
        options.kills,
        options.minutes,
        options.database,
        SystemRandom().randrange(10**6) if options.seed is None else options.seed,
        options.speed or (30 if options.minutes >= 2 else 90),
    )
    print(f"seed {plan.seed}", file=sys.stderr)
    result = run(plan, options.keep)
    print(json.dumps(result, indent=2))
    return 1 if result["violations"] else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description="A shop under fire, and an accountant.")
    parser.add_argument("--orders", type=int, default=10_000, metavar="N", help="customers (%(default)s)")
    parser.add_argument("--kills", type=int, default=500, metavar="N", help="processes killed (%(default)s)")
    parser.add_argument("--minutes", type=float, default=30.0, metavar="M", help="length of the run (%(default)s)")
    parser.add_argument("--database", choices=KINDS, default="sqlite", help="the shop's and the sandbox's")
    parser.add_argument("--seed", type=int, metavar="N", help="repeats a run's customers, kills and faults")
    parser.add_argument("--speed", type=float, metavar="X", help="virtual seconds in a second (30; 90 in short runs)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="an empty one for record, logs and databases")
    return parser


if __name__ == "__main__":
    sys.exit(main())
