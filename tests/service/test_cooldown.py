"""Cool-down: how often this process calls about one deposit, in bounded memory."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from flask_paycheckout.service.limits import Cooldown

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def test_each_has_a_cool_down_of_its_own() -> None:
    calls = Cooldown(timedelta(seconds=5))
    assert [calls.begin(what, NOW) for what in "abab"] == [True, True, False, False]
    assert not calls.begin("a", NOW + timedelta(seconds=4.9))
    assert calls.begin("a", NOW + timedelta(seconds=5))
    assert not calls.begin("a", NOW + timedelta(seconds=9.9))


def test_a_clock_that_was_set_back_keeps_nothing_waiting() -> None:
    calls = Cooldown(timedelta(seconds=5))
    assert calls.begin("a", NOW)
    assert calls.begin("a", NOW - timedelta(hours=1))
    assert not calls.begin("a", NOW - timedelta(minutes=59, seconds=56))


def test_the_most_that_are_remembered() -> None:
    """Invented ids need no further memory; entries whose cool-down has ended are removed."""
    calls = Cooldown(timedelta(seconds=5))
    began = [calls.begin(str(number), NOW + timedelta(milliseconds=number // 100)) for number in range(12_000)]
    assert began == [True] * 10_000 + [False] * 2_000
    assert calls.begin("one more", NOW + timedelta(seconds=5))
