"""What mypy tells a merchant about calls of the client."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """\
from flask_paycheckout.client import FiatDisbursement, PaymentsClient

client = PaymentsClient("https://api.example.com")
found: FiatDisbursement = client.fiat_disbursements.get("d1")
if found.status == "on hold":  # the service may say what its interface does not name
    print(found.status)
client.fiat_disbursements.list(page=2, limit=5, sort="-createdAt", status="failed", currency=None)
client.recipients.iterate(search="Bo", sort="updatedAt")

client.fiat_disbursements.list(status="pendign")
client.fiat_disbursements.iterate(sort="created")
client.recipients.iterate(page=2)
client.recipients.list(serach="Bo")
client.fiat_disbursements.sandbox_update("d1", "done")
found.stauts
"""


def test_a_merchants_slips_are_errors_and_what_the_service_may_say_is_none(tmp_path: Path) -> None:
    program = tmp_path / "merchant.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(program)]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500).stdout
    lines = [int(line.split(":")[1]) for line in told.splitlines() if ": error: " in line]
    wanted = [number for number, line in enumerate(PROGRAM.splitlines(), 1) if number > 9 and line]
    assert sorted(set(lines)) == wanted, told
