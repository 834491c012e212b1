"""Senders that come back too late, and whose clocks differ: what others have done meanwhile is not done again.

Where nothing else is said, the service pays whatever it is asked to, so that a call that is made twice pays twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime, timedelta
from threading import get_ident
from typing import Any

import pytest
from sqlalchemy import event

from flask_paycheckout import ToWallet
from tests.payouts.books import Books, Pages, PayingService
from tests.payouts.shop import MAKER, TOKEN, WALLET, comes_to_rest, decides, payout, pays_out, sends
from tests.races.crowds import Gate, aside
from tests.scripted import Clock, Shop, refusal

pytestmark = pytest.mark.on_each_database

KINDS = pytest.mark.parametrize("to", [MAKER, WALLET], ids=["bank", "token"])


class SleepyClock(Clock):
    """A clock by which a thread may fall asleep: it gets its answer when the gate is open.

    :ivar ahead: how far the clocks of some threads are ahead of the others.
    """

    def __init__(self) -> None:
        super().__init__()
        self.asleep: dict[int, Gate] = {}
        self.ahead: dict[int, timedelta] = {}

    def __call__(self) -> datetime:
        gate = self.asleep.pop(get_ident(), None)
        if gate is not None:
            gate.stop()
        return self.now + self.ahead.get(get_ident(), timedelta(0))


@pytest.fixture
def clock() -> SleepyClock:
    return SleepyClock()


@pytest.fixture
def books() -> Books:
    return Books(Pages(), unique=False)


@pytest.fixture
def service(books: Books) -> PayingService:
    return PayingService(books)


@pytest.fixture
def shop(paying_shop: Shop) -> Shop:
    return paying_shop


def owes(shop: Shop, to: Any) -> None:
    pays_out(shop, "p-1", "8.00", to=to, currency=TOKEN if isinstance(to, ToWallet) else "USD")


@contextmanager
def sleeping_once_it_claimed(shop: Shop, clock: SleepyClock) -> Iterator[None]:
    """A sender that has claimed the payout, and falls asleep before it does anything else."""
    gate = Gate()

    def fall_asleep(connection: Any, cursor: Any, statement: str, *rest: Any) -> None:
        if sleeper and sleeper[0] == get_ident() and "taken_at=" in statement:
            clock.asleep[get_ident()] = gate

    sleeper: list[int] = []

    def send() -> None:
        sleeper.append(get_ident())
        sends(shop)

    engine = shop.runtime.engine()
    event.listen(engine, "after_cursor_execute", fall_asleep)
    try:
        with aside(send, gate):
            yield
    finally:
        event.remove(engine, "after_cursor_execute", fall_asleep)


@contextmanager
def sleeping_over_its_answer(shop: Shop, books: Books) -> Iterator[None]:
    """A sender whose call is answered, and who falls asleep over the answer."""
    gate = Gate()

    def fall_asleep(references: Sequence[str]) -> None:
        books.created = lambda references: None
        gate.stop()

    books.created = fall_asleep
    with aside(lambda: sends(shop), gate):
        yield


def others_take_over(shop: Shop, books: Books) -> None:
    """Time goes on until the others have no more to do; whoever resolves a token looks into the books."""
    shop.clock.advance(minutes=10)
    comes_to_rest(shop, books)


@KINDS
def test_a_sender_that_sleeps_past_its_lease_makes_no_call(
    shop: Shop, books: Books, clock: SleepyClock, to: Any
) -> None:
    owes(shop, to)
    with sleeping_once_it_claimed(shop, clock):
        assert payout(shop, "p-1").status == "sending"
        others_take_over(shop, books)
        assert len(books.paid) == 1
    assert len(books.paid) == 1
    comes_to_rest(shop, books)
    assert books.payees.total() == 1


@KINDS
def test_an_answer_that_comes_after_the_lease_moves_nothing_back(shop: Shop, books: Books, to: Any) -> None:
    owes(shop, to)
    with sleeping_over_its_answer(shop, books):
        others_take_over(shop, books)
        stands = payout(shop, "p-1")
        assert stands.status == ("sent" if stands.is_token else "completed")
    assert payout(shop, "p-1").status == stands.status
    comes_to_rest(shop, books)
    assert books.payees.total() == 1


@KINDS
@pytest.mark.parametrize("status_code", [400, 429, 500])
def test_a_refusal_that_comes_after_the_lease_sends_nothing_again(
    shop: Shop, books: Books, to: Any, status_code: int
) -> None:
    owes(shop, to)
    books.instead = [refusal(status_code)]
    with sleeping_over_its_answer(shop, books):
        others_take_over(shop, books)
        stands = payout(shop, "p-1")
        assert stands.status == ("sent" if stands.is_token else "completed")
    assert payout(shop, "p-1").status == stands.status
    comes_to_rest(shop, books)
    assert books.payees.total() == 1


@KINDS
@pytest.mark.parametrize("minutes", [10, -10])
def test_two_senders_whose_clocks_differ_pay_once(
    shop: Shop, books: Books, clock: SleepyClock, to: Any, minutes: int
) -> None:
    """The one whose clock is ahead takes over while the other one's call is under way.

    Here the service takes a reference once, as it says: a call that is still under way cannot be looked up.
    """
    books.unique = True
    owes(shop, to)
    with ExitStack() as first:
        clock.ahead[get_ident()] = timedelta(minutes=-minutes)
        first.enter_context(sleeping_over_its_answer(shop, books))
        for _ in range(6):
            sends(shop)
            clock.advance(seconds=61)
        if payout(shop, "p-1").status == "unknown":
            decides(shop, "resolve", "p-1", books.has(payout(shop, "p-1").service_reference))
    clock.ahead.clear()
    clock.advance(minutes=20)
    comes_to_rest(shop, books)
    assert books.payees.total() == 1
    assert payout(shop, "p-1").status == ("sent" if isinstance(to, ToWallet) else "completed")
