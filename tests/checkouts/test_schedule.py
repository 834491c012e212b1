"""The times of a checkout's next reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from flask_paycheckout.checkouts.schedule import Schedule, after_failures

BORN = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
schedule = Schedule(pending_for=timedelta(hours=24), watch_for=timedelta(days=7))


def after(**parts: float) -> datetime:
    return BORN + timedelta(**parts)


@pytest.mark.parametrize(
    ("now", "due"),
    [
        pytest.param(after(), after(seconds=10), id="ten seconds at first"),
        pytest.param(after(seconds=60), after(seconds=90), id="half the age again"),
        pytest.param(after(minutes=14), after(minutes=16, seconds=1), id="never past the moment when it is decided"),
        pytest.param(
            after(minutes=16, seconds=1), after(minutes=17, seconds=1), id="the deciding read follows a minute later"
        ),
        pytest.param(after(hours=3), after(hours=3, minutes=1), id="long overdue"),
    ],
)
def test_a_created_checkout(now: datetime, due: datetime) -> None:
    assert schedule.next_read("created", BORN, BORN, now) == due


@pytest.mark.parametrize(
    ("now", "due"),
    [
        pytest.param(after(), after(seconds=10), id="ten seconds at first"),
        pytest.param(after(minutes=4), after(minutes=6), id="half the time since it moved"),
        pytest.param(after(hours=20), after(hours=20, minutes=5), id="five minutes at most"),
        pytest.param(after(hours=23, minutes=58), after(hours=24, seconds=1), id="just when it counts as stalled"),
        pytest.param(after(hours=30), after(hours=31), id="after that, hourly"),
    ],
)
def test_a_pending_checkout(now: datetime, due: datetime) -> None:
    assert schedule.next_read("pending", BORN - timedelta(days=1), BORN, now) == due


@pytest.mark.parametrize(
    ("method", "hours"),
    [("crypto", 1), ("us_qr", 2), ("us_bank_transfer", 72), ("A bank's name", 72), (None, 24)],
)
def test_each_payment_method_has_a_patience_of_its_own(method: str | None, hours: int) -> None:
    times = {"crypto": timedelta(hours=1), "us_qr": timedelta(hours=2), "bank": timedelta(hours=72)}
    by_method = Schedule(pending_for=times | {"default": timedelta(hours=24)}, watch_for=timedelta(days=7))
    assert by_method.patience(method) == timedelta(hours=hours)
    shortly_before = after(hours=hours, seconds=-1)
    assert by_method.next_read("pending", BORN, BORN, shortly_before, method) == after(hours=hours, seconds=1)


@pytest.mark.parametrize(
    ("now", "due"),
    [
        pytest.param(after(minutes=16), after(minutes=24), id="half its age"),
        pytest.param(after(minutes=1), after(minutes=6), id="five minutes at least"),
        pytest.param(after(days=2), after(days=2, hours=12), id="twelve hours at most"),
        pytest.param(after(days=6, hours=20), after(days=7), id="a last time at the end"),
        pytest.param(after(days=7), None, id="never again"),
    ],
)
def test_an_abandoned_checkout(now: datetime, due: datetime | None) -> None:
    assert schedule.next_read("abandoned", BORN, BORN, now) == due


@pytest.mark.parametrize("status", ["paid", "held", "rejected"])
def test_a_decided_checkout_is_not_read_again(status: str) -> None:
    assert schedule.next_read(status, BORN, BORN, after(minutes=1)) is None


@pytest.mark.parametrize(
    ("failures", "seconds"), [(1, 5), (2, 10), (3, 20), (7, 320), (8, 600), (50, 600), (100_000, 600)]
)
def test_reads_that_fail_are_tried_ever_more_rarely(failures: int, seconds: int) -> None:
    assert after_failures(failures, BORN) == after(seconds=seconds)
