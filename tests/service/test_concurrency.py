"""How hard the service is asked: up while it answers, down to a probe while it does not."""

from __future__ import annotations

import pytest

from flask_paycheckout.service.concurrency import ReadWindow


def test_it_grows_with_each_answer_up_to_its_limit() -> None:
    window = ReadWindow(4)
    sizes = []
    for _ in range(6):
        sizes.append(window.size)
        window.answered()
    assert sizes == [1, 2, 3, 4, 4, 4]


def test_it_halves_with_each_failure_down_to_one() -> None:
    window = ReadWindow(32)
    for _ in range(40):
        window.answered()
    sizes = []
    for _ in range(7):
        window.failed()
        sizes.append(window.size)
    assert sizes == [16, 8, 4, 2, 1, 1, 1]


def test_three_failures_without_an_answer_close_a_round_and_one_the_next() -> None:
    window = ReadWindow(32)
    closed = []
    for _ in range(3):
        window.failed()
        closed.append(window.closed)
    assert closed == [False, False, True]
    window.open_round()
    assert not window.closed
    window.failed()
    assert window.closed


def test_an_answer_opens_it_again() -> None:
    window = ReadWindow(32)
    for _ in range(3):
        window.failed()
    window.open_round()
    window.answered()
    assert not window.closed


@pytest.mark.parametrize(("most", "failures"), [(1, 3), (32, 32)])
def test_a_service_that_answered_in_this_round_is_given_more_failures(most: int, failures: int) -> None:
    window = ReadWindow(most)
    window.answered()
    for _ in range(failures - 1):
        window.failed()
    assert not window.closed
    window.failed()
    assert window.closed
