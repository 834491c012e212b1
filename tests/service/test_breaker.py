"""The circuit breaker: opens after consecutive failures, sends one probe at a time, closes with the first answer."""

from __future__ import annotations

from threading import Barrier

import pytest

from flask_paycheckout.service.limits import Call, WebLimits
from tests.races.crowds import crowd


class Seconds:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def breaker(seconds: Seconds) -> WebLimits:
    return WebLimits(8, slow_after=3, probe_lasts=15, several_accounts=bool, seldom=(), now=seconds)


PAY = Call("", "pay")


def fails(breaker: WebLimits, times: int = 1, call: Call = PAY) -> None:
    for _ in range(times):
        assert breaker.admit(call) == 0
        breaker.failed(call)


def probe(breaker: WebLimits) -> Call:
    call = Call("", "pay")
    assert breaker.admit(call) == 0
    assert call.probe
    return call


def test_an_answer_between_failures_keeps_it_closed(breaker: WebLimits) -> None:
    for _ in range(5):
        fails(breaker, 2)
        assert not breaker.answered(PAY)
    assert breaker.admit(PAY) == 0


def test_after_five_seconds_one_probe_may_go_and_its_answer_closes_it(breaker: WebLimits, seconds: Seconds) -> None:
    fails(breaker, 3)
    seconds.now += 4.9
    assert breaker.admit(PAY) > 0
    seconds.now += 0.1
    probe(breaker)
    assert all(breaker.admit(PAY) > 0 for _ in range(3))
    assert breaker.answered(PAY)
    assert [breaker.admit(PAY) for _ in range(2)] == [0, 0]
    assert not PAY.probe


def test_five_seconds_after_a_probe_that_fails_the_next_one_may_go(breaker: WebLimits, seconds: Seconds) -> None:
    fails(breaker, 3)
    for _ in range(5):
        assert breaker.admit(PAY) == 5
        seconds.now += 5
        assert not breaker.failed(probe(breaker)), "it was stopped already"
    seconds.now += 5
    probe(breaker)
    breaker.answered(PAY)
    fails(breaker, 3)
    assert breaker.admit(PAY) == 5, "the next outage begins anew"


def test_calls_that_began_before_it_opened_do_not_put_the_probe_off(breaker: WebLimits, seconds: Seconds) -> None:
    late = [Call("", "pay") for _ in range(4)]
    assert not any(breaker.admit(call) for call in late)
    fails(breaker, 3)
    seconds.now += 4
    assert not any(breaker.failed(call) for call in late)
    assert breaker.admit(PAY) == 1


def test_a_probe_whose_thread_died_keeps_others_away_for_a_while_only(breaker: WebLimits, seconds: Seconds) -> None:
    fails(breaker, 3)
    seconds.now += 5
    lost = probe(breaker)
    seconds.now += 14.9
    assert breaker.admit(PAY) > 0
    seconds.now += 0.1
    second = probe(breaker)
    breaker.failed(lost)
    assert breaker.admit(PAY) > 0, "the second one is still under way"
    breaker.failed(second)
    assert breaker.admit(PAY) == 5


def test_a_probe_that_was_not_sent_leaves_its_place_to_another(breaker: WebLimits, seconds: Seconds) -> None:
    fails(breaker, 3)
    seconds.now += 5
    breaker.end(probe(breaker))
    probe(breaker)


def test_failures_of_endless_many_accounts_are_remembered_in_bounded_memory(breaker: WebLimits) -> None:
    for number in range(10_001):
        fails(breaker, 3, Call(str(number), "pay"))
    assert breaker.admit(Call("0", "pay")) == 0, "the first one is forgotten"
    assert breaker.admit(Call("1", "pay")) > 0


def test_of_many_threads_one_is_the_probe(breaker: WebLimits, seconds: Seconds) -> None:
    together, probes = Barrier(8), list[Call]()

    def tries() -> None:
        for _ in range(100):
            if together.wait(60) == 0:
                breaker.answered(PAY)
                fails(breaker, 3)
                seconds.now += 5
            together.wait(60)
            call = Call("", "pay")
            if not breaker.admit(call):
                probes.append(call)

    with crowd(8) as threads:
        threads.does([tries] * 8)
    assert len(probes) == 100
