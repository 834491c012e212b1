"""The circuit breaker: opens after failures in a row, asks by one probe at a time, closes with the first answer."""

from __future__ import annotations

from threading import Barrier, Thread

import pytest

from flask_paycheckout.service.breaker import Admission, Breaker


class Seconds:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def breaker(seconds: Seconds) -> Breaker:
    return Breaker(probe_lasts=15, now=seconds)


def fails(breaker: Breaker, times: int = 1, key: str = "") -> None:
    for _ in range(times):
        admission = breaker.admit(key)
        assert admission is not None
        breaker.failed(admission, key)


def probe(breaker: Breaker) -> Admission:
    admission = breaker.admit()
    assert admission is not None
    assert admission.probe
    return admission


def test_an_answer_between_failures_keeps_it_closed(breaker: Breaker) -> None:
    for _ in range(5):
        fails(breaker, 2)
        assert not breaker.answered()
    assert breaker.admit() is not None
    assert breaker.wait() == 0


def test_after_five_seconds_one_probe_may_go_and_its_answer_closes_it(breaker: Breaker, seconds: Seconds) -> None:
    fails(breaker, 3)
    seconds.now += 4.9
    assert breaker.admit() is None
    seconds.now += 0.1
    probe(breaker)
    assert [breaker.admit() for _ in range(3)] == [None] * 3
    assert breaker.answered()
    assert breaker.admit() == breaker.admit() == Admission(probe=False)


def test_probes_that_fail_wait_longer_and_never_longer_than_eight_seconds(breaker: Breaker, seconds: Seconds) -> None:
    fails(breaker, 3)
    waits = [breaker.wait()]
    for _ in range(5):
        seconds.now += waits[-1]
        assert not breaker.failed(probe(breaker)), "it was open already"
        waits.append(breaker.wait())
    assert waits == [5, 6.5, 8, 8, 8, 8]
    seconds.now += 8
    probe(breaker)
    breaker.answered()
    fails(breaker, 3)
    assert breaker.wait() == 5, "the next outage begins anew"


def test_calls_that_began_before_it_opened_do_not_put_the_probe_off(breaker: Breaker, seconds: Seconds) -> None:
    late = [breaker.admit() for _ in range(4)]
    fails(breaker, 3)
    seconds.now += 4
    for admission in late:
        assert admission is not None
        assert not breaker.failed(admission)
    assert breaker.wait() == 1


def test_a_probe_whose_thread_died_keeps_others_away_for_a_while_only(breaker: Breaker, seconds: Seconds) -> None:
    fails(breaker, 3)
    seconds.now += 5
    lost = probe(breaker)
    seconds.now += 14.9
    assert breaker.admit() is None
    seconds.now += 0.1
    second = probe(breaker)
    breaker.failed(lost)
    assert breaker.admit() is None, "the second one is still under way"
    breaker.failed(second)
    assert breaker.wait() == 6.5


def test_a_probe_that_was_not_sent_leaves_its_place_to_another(breaker: Breaker, seconds: Seconds) -> None:
    fails(breaker, 3)
    seconds.now += 5
    breaker.withdrawn(probe(breaker))
    probe(breaker)


def test_accounts_fail_by_themselves(breaker: Breaker) -> None:
    fails(breaker, 3, "ada")
    assert breaker.admit("ada") is None
    assert breaker.admit("bob") is not None


def test_of_many_threads_one_is_the_probe(breaker: Breaker, seconds: Seconds) -> None:
    together, probes = Barrier(8), list[Admission]()

    def tries() -> None:
        for _ in range(100):
            if together.wait(60) == 0:
                breaker.answered()
                fails(breaker, 3)
                seconds.now += 5
            together.wait(60)
            admission = breaker.admit()
            if admission is not None:
                probes.append(admission)

    threads = [Thread(target=tries) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(probes) == 100
