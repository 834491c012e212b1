"""The adaptive limit on concurrent reads: it grows with answers, and shrinks to one probe with failures."""

from __future__ import annotations

import pytest

from flask_paycheckout.service.concurrency import AdaptiveLimit


def test_it_grows_with_each_answer_up_to_its_limit() -> None:
    limit = AdaptiveLimit(4)
    sizes = []
    for _ in range(6):
        sizes.append(limit.size)
        limit.answered()
    assert sizes == [1, 2, 3, 4, 4, 4]


def test_it_halves_with_each_failure_down_to_one() -> None:
    limit = AdaptiveLimit(32)
    for _ in range(40):
        limit.answered()
    sizes = []
    for _ in range(7):
        limit.failed()
        sizes.append(limit.size)
    assert sizes == [16, 8, 4, 2, 1, 1, 1]


def test_three_failures_without_an_answer_close_a_round_and_one_the_next() -> None:
    limit = AdaptiveLimit(32)
    closed = []
    for _ in range(3):
        limit.failed()
        closed.append(limit.closed)
    assert closed == [False, False, True]
    limit.begin_round()
    assert not limit.closed
    limit.failed()
    assert limit.closed


def test_an_answer_opens_it_again() -> None:
    limit = AdaptiveLimit(32)
    for _ in range(3):
        limit.failed()
    limit.begin_round()
    limit.answered()
    assert not limit.closed


@pytest.mark.parametrize(("most", "failures"), [(1, 3), (32, 32)])
def test_a_service_that_answered_in_this_round_is_given_more_failures(most: int, failures: int) -> None:
    limit = AdaptiveLimit(most)
    limit.answered()
    for _ in range(failures - 1):
        limit.failed()
    assert not limit.closed
    limit.failed()
    assert limit.closed
