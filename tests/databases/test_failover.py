"""PgBouncer, restarts and a failover of PostgreSQL while customers pay, refund and change their carts.

The soak's accountant compares the service's books with the shop's rows afterwards.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.chance import seed_of
from tests.optional_parts import pgbouncer, postgresql

ROOT = Path(__file__).parents[2]
# Seconds. Recovery mostly takes one or two, but the machine may be busy.
_RECOVERY = 60


def test_restarts_and_a_failover_under_load_lose_nothing(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    postgresql()
    pgbouncer()
    # In its own process, because the soak's receivers would run for every shop of this process.
    command = [sys.executable, "-m", "tests.databases.weather", str(tmp_path), str(seed_of(pytestconfig))]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert (result["lost"], result["doubled"], result["broken"]) == (0, 0, []), "\n".join(result["broken"])
    before, took = result["orders_before"], result["recovered"]
    assert list(before) == ["fast restart", "immediate restart", "failover"]
    assert before["failover"] < result["orders"], "nobody came after the failover"
    assert max(took.values()) < _RECOVERY, took
    # It was no idle run, and people were told.
    assert result["paid"] > 8
    assert sum(result["payouts"].values()) > 8
    logs = "".join(log.read_text() for log in tmp_path.glob("reconcile-*.log"))
    assert "round failed, trying again in 1 s: OperationalError (the database " in logs
    assert "prepared statement" not in logs
