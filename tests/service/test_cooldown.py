"""Cool-down: how often this process calls about one deposit, in bounded memory."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Thread

from flask_paycheckout.service.limits import Cooldown
from tests.races.crowds import crowd

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
    """What a stranger names costs no more memory; the cool-downs that have ended make room."""
    calls = Cooldown(timedelta(seconds=5))
    began = [calls.begin(str(number), NOW + timedelta(milliseconds=number // 100)) for number in range(12_000)]
    assert began == [True] * 10_000 + [False] * 2_000
    assert calls.begin("one more", NOW + timedelta(seconds=5))


def test_of_many_at_once_one_may() -> None:
    calls = Cooldown(timedelta(seconds=5))
    with crowd(8) as together:
        for number in range(100):
            assert sum(together.does([partial(calls.begin, str(number), NOW)] * 8)) == 1


def test_a_child_process_does_not_wait_for_a_thread_of_its_parent() -> None:
    calls = Cooldown(timedelta(seconds=5))
    going = True

    def tries() -> None:
        number = 0
        while going:
            calls.begin(str(number := number + 1), NOW + timedelta(seconds=number))

    threads = [Thread(target=tries) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                os._exit(0 if calls.begin("child", NOW + timedelta(days=365)) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        going = False
        for thread in threads:
            thread.join()
