"""A small soak in every complete test run, and the large one with `-m soak`."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chance import seed_of, soak_count
from tests.optional_parts import postgresql
from tests.soak.books import BOOKS_PROMISES
from tests.soak.checker import PROMISES, check
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
    """The figures of a run that kept every promise; its record is left in the folder."""
    command = [*PROGRAM, *map(str, options), "--json", "--keep", str(folder)]
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
    # It was no idle run: most paid, and the weather was bad.
    assert figures["paid"] > 15
    assert figures["webhooks_dropped"] > 3
    assert figures["webhooks_doubled"] > 3
    assert figures["faults"]["GET /v1/deposit/{id} error"] > 3
    finds_what_is_broken_in(json.loads((tmp_path / "record.json").read_text()))


def finds_what_is_broken_in(record: Record) -> None:
    """Each promise, broken on purpose in a history that kept them all."""
    assert set(BREAKS) == {promise.__name__ for promise in (*PROMISES, *BOOKS_PROMISES)}
    for promise, breaks in BREAKS.items():
        broken = copy.deepcopy(record)
        breaks(broken)
        assert promise in {violation.promise for violation in check(broken)}, promise


def paid(record: Record) -> Record:
    """A checkout that was paid."""
    found: Record = next(row for row in record["checkouts"] if row["status"] == "paid")
    return found


def deposit(record: Record) -> Record:
    """The deposit of that checkout."""
    found: Record = next(row for row in record["service_deposits"] if row["id"] == paid(record)["checkout_id"])
    return found


def maker(record: Record) -> Record:
    """A maker's payout that was carried out."""
    done = ("sent", "completed")
    found: Record = next(row for row in record["payouts"] if row["kind"] == "payout" and row["status"] in done)
    return found


def made(record: Record) -> Record:
    """What the service was asked to pay for it."""
    wanted, rows = maker(record)["service_reference"], record["service_disbursements"]
    found: Record = next(row for row in rows if row["reference"] == wanted)
    return found


def refunded(record: Record) -> Record:
    """A checkout with a refund."""
    refund = next(row for row in record["payouts"] if row["kind"] == "refund")
    found: Record = next(row for row in record["checkouts"] if row["checkout_id"] == refund["refund_of"])
    return found


def add_a_second_payment(record: Record) -> None:
    record["service_deposits"].append(deposit(record) | {"id": "second"})
    record["checkouts"].append(paid(record) | {"checkout_id": "second", "status": "abandoned"})


def sent_line(record: Record) -> Record:
    """The exported line of a payout that the service has an id of."""
    return next(line for line in record["export"] if line["kind"] == "payout" and line["disbursement_id"])


BREAKS: dict[str, Callable[[Record], object]] = {
    "no_payment_is_lost": lambda record: paid(record).update(status="abandoned"),
    "nothing_is_made_up": lambda record: deposit(record).update(status="failed"),
    "paid_orders_are_fulfilled_once": lambda record: record["fulfilments"].append(record["fulfilments"][0]),
    "only_paid_orders_are_marked_paid": lambda record: paid(record).update(paid_order_id=None),
    "what_was_paid_is_what_is_shipped": lambda record: record["fulfilments"][0].update(amount="0.02"),
    "effects_happen_with_one_event": lambda record: record["effects"][0].update(event_id="another"),
    "only_the_right_money_pays": lambda record: deposit(record).update(input_amount="0.01", output_amount="0.01"),
    "only_wrong_payments_are_held": lambda record: paid(record).update(status="held", reason="amount_mismatch"),
    "second_payments_are_noticed": add_a_second_payment,
    "every_location_is_stored": lambda record: record["locations"][0].update(order_id="another"),
    "no_state_goes_backwards": lambda record: paid(record).update(status="rejected"),
    "every_event_is_delivered_once": lambda record: record["notes"].append(record["notes"][0]),
    "each_paid_order_pays_its_maker_once": lambda record: record["payouts"].remove(maker(record)),
    "nothing_is_paid_out_twice_or_made_up": lambda record: record["service_disbursements"].append(made(record)),
    "both_books_are_equal": lambda record: made(record).update(amount="0.01"),
    "refunds_are_never_more_than_what_arrived": lambda record: paid(record).update(refunded_amount="0.01"),
    "a_refunded_payment_is_never_held": lambda record: refunded(record).update(status="held"),
    "no_payout_waits_for_a_process": lambda record: maker(record).update(status="sending"),
    "each_payout_in_doubt_is_named": lambda record: maker(record).update(status="unknown"),
    "the_export_equals_the_services_books": lambda record: record["export"][0].update(fee="0.01"),
    "each_disbursement_has_the_services_fee": lambda record: sent_line(record).update(fee="0.001"),
    "each_movement_is_exported_once_and_in_order": lambda record: record["export"].reverse(),
    "everything_is_at_rest": lambda record: paid(record).update(next_read_at=paid(record)["created_at"]),
}


@pytest.mark.soak
def test_a_large_soak_loses_nothing_and_doubles_nothing(
    kind: str, tmp_path: Path, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    """10,000 orders and 500 kills in half an hour; SOAK_COUNT orders take as much shorter as they are fewer."""
    orders = soak_count(10_000)
    minutes, kills = orders / 10_000 * 30, orders // 20
    size = ("--orders", orders, "--kills", kills, "--minutes", minutes, "--seed", seed_of(pytestconfig))
    figures = soaked(tmp_path, *size, "--database", kind, timeout=60 * (4 * minutes + 20))
    with capsys.disabled():
        print("\n" + json.dumps(figures, indent=2))
    assert (figures["orders"], figures["lost"], figures["doubled"]) == (orders, 0, 0)
