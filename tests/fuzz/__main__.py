"""`python -m tests.fuzz`: prints what was sent and found, and exits 1 when something was found."""

from __future__ import annotations

import argparse
import secrets
import sys

from tests.fuzz.run import for_minutes, fuzz


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Send random requests to sandboxes.")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=None, help="as an earlier run printed it")
    parser.add_argument("--postgresql", metavar="URL", help="an empty database, used by every other world")
    asked = parser.parse_args()
    seed = secrets.randbelow(10**9) if asked.seed is None else asked.seed
    places = ["sqlite://", *([asked.postgresql] if asked.postgresql else [])]
    findings = fuzz(seed, for_minutes(asked.minutes), places)
    print(f"seed {seed}, {findings.worlds} worlds, {sum(findings.sent.values())} requests: {dict(findings.sent)}")
    for (part, hundreds), count in sorted(findings.answered.items()):
        print(f"  {part}: {count} answers {hundreds}xx")
    for wrong, request in findings.found.items():
        print(f"{wrong}\n  {request}")
    return 1 if findings.found else 0


if __name__ == "__main__":
    sys.exit(main())
