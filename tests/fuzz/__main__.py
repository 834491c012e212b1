"""`python -m tests.fuzz`: prints what was sent and found, and exits 1 when something was found."""

from __future__ import annotations

import argparse
import secrets
import sys
from contextlib import ExitStack

from tests.fuzz.run import Place, for_minutes, fuzz, in_memory
from tests.postgres import empty_database, running_server


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Send random requests to sandboxes.")
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--seed", type=int, default=None, help="as an earlier run printed it")
    parser.add_argument("--postgresql", action="store_true", help="every other world lives on a PostgreSQL of its own")
    asked = parser.parse_args()
    seed = secrets.randbelow(10**9) if asked.seed is None else asked.seed
    with ExitStack() as until:
        places: list[Place] = [in_memory]
        if asked.postgresql:
            server = until.enter_context(running_server())
            places.append(lambda: empty_database(server))
        findings = fuzz(seed, for_minutes(asked.minutes), places)
    print(f"seed {seed}, {findings.worlds} worlds, {sum(findings.sent.values())} requests: {dict(findings.sent)}")
    for (part, hundreds), count in sorted(findings.answered.items()):
        print(f"  {part}: {count} answers {hundreds}xx")
    for wrong, request in findings.found.items():
        print(f"{wrong}\n  {request}")
    return 1 if findings.found else 0


if __name__ == "__main__":
    sys.exit(main())
