"""A small soak in every complete test run; `python -m tests.soak` is the large one."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.chance import seed_of
from tests.optional_parts import postgresql
from tests.soak.checker import check
from tests.soak.databases import KINDS

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "tests.soak"]
Record = dict[str, Any]


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of database that a shop may use."""
    if request.param == "postgresql":
        postgresql()
    return str(request.param)


def soaked(folder: Path, *options: object, timeout: float) -> Record:
    """The figures of a run that kept every promise; the folder has its record afterwards."""
    command = [*PROGRAM, *map(str, options), "--keep", str(folder)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=timeout)
    assert ended.returncode == 0, ended.stdout + ended.stderr + logs(folder)
    figures: Record = json.loads(ended.stdout)
    return figures


def logs(folder: Path) -> str:
    return "".join(f"\n== {log.name}\n{log.read_text()[-2000:]}" for log in sorted(folder.glob("*.log")))


def test_a_small_soak_loses_nothing_and_doubles_nothing(kind: str, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    seed = seed_of(pytestconfig)
    options = ("--orders", 60, "--kills", 6, "--minutes", 0.15, "--speed", 120, "--seed", seed, "--database", kind)
    figures = soaked(tmp_path, *options, timeout=300)
    assert (figures["orders"], figures["kills"], figures["database"]) == (60, 6, kind)
    assert (figures["lost"], figures["doubled"], figures["broken"]) == (0, 0, [])
    # The run was not idle: most customers paid, and faults were applied.
    assert figures["paid"] > 15
    assert figures["webhooks_dropped"] > 3
    assert figures["webhooks_doubled"] > 3
    assert figures["faults"]["GET /v1/deposit/{id} error"] > 3
    finds_what_is_broken_in(json.loads((tmp_path / "record.json").read_text()))


def finds_what_is_broken_in(record: Record) -> None:
    """Break a correct record by a lost payment, a repeated payment and a wrong amount: the checker finds each."""
    lost, doubled, wrong = (copy.deepcopy(record) for _ in range(3))
    next(row for row in lost["paycheckout_checkout"] if row["status"] == "paid")["status"] = "abandoned"
    doubled["shop_fulfilment"].append(doubled["shop_fulfilment"][0])
    next(row for row in wrong["disbursement"] if row["status"] == "completed")["amount"] = "0.01"
    for broken, promise in (
        (lost, "no_payment_is_lost"),
        (doubled, "nobody_is_told_twice_or_of_nothing"),
        (wrong, "both_books_are_equal"),
    ):
        assert promise in {violation.promise for violation in check(broken)}
