"""Processes with many threads that send, approve, retry and cancel the same payouts: each is paid at most once.

The service pays every request: a repeated call pays twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from sqlalchemy import select

from flask_paycheckout import ToRecipient, ToWallet
from tests.conftest import NewDatabase
from tests.locks import with_patience
from tests.payouts.books import Books
from tests.payouts.shop import TOKEN, comes_to_rest, payout, payouts, pays_out, sends, statuses
from tests.races.crowds import run_together
from tests.races.payers import LIMIT
from tests.scripted import Shop
from tests.socket_service import Call, SocketService

pytestmark = pytest.mark.on_each_database

PROCESSES = 8


def owes(shop: Shop, payee: str, *, waits: bool = False) -> str:
    """Commit a payout to a payee without other payouts; returns its reference."""
    token = payee.startswith("token")
    to = ToWallet(f"0x{payee.encode().hex():0>40}") if token else ToRecipient(payee)
    pays_out(shop, f"for-{payee}", "8.00", to=to, currency=TOKEN if token else "USD", approve=waits)
    return f"for-{payee}"


def has_failed(shop: Shop, books: Books, payee: str) -> str:
    """Make a payout that the bank returned; returns its reference."""
    reference = owes(shop, payee)
    sends(shop)
    books.finish("failed", payee)
    sends(shop, hours=1)
    assert payout(shop, reference).status == "failed"
    return reference


def debts(shop: Shop, books: Books) -> dict[str, list[str]]:
    """Payouts in each state that allows an action."""
    failed = [has_failed(shop, books, "failed")]
    waiting = [owes(shop, f"{kind}-waiting", waits=True) for kind in ("bank", "token")]
    for payee in ("token", *(f"bank-{place}" for place in range(44))):
        owes(shop, payee)
    return {"approve": waiting, "retry": failed, "cancel": [owes(shop, "cancelled")]}


class SocketBooks(SocketService):
    """A service's books on a socket, which sometimes loses the answer to a create."""

    def __init__(self, books: Books) -> None:
        super().__init__()
        self.books = books

    def creates(self, call: Call) -> bytes:
        return self._answer("POST", call.name, json.dumps(call.sent).encode())

    def reads(self, call: Call) -> bytes:
        return self._answer("GET", call.name if call.name.startswith("fiat") else f"fiat/{call.name}", b"")

    def _answer(self, method: str, name: str, body: bytes) -> bytes:
        answer = self.books.answers(method, f"/v1/disbursement/{name}", body)
        return answer if isinstance(answer, bytes) else getattr(answer, "content", b"")


@pytest.fixture
def payers(shop: Shop, books: Books, new_database: NewDatabase, accounts: int, host: str) -> Callable[..., None]:
    """Processes with many threads that make these decisions and send."""
    # The processes use the machine's time.
    shop.clock.now = datetime.now(UTC)

    def act(decisions: list[str]) -> None:
        service = SocketBooks(books)
        address = with_patience(new_database("crowded"), 120)
        with service.running():
            command = ["-m", "tests.races.payers", *decisions]
            assert run_together(command, address, service.url, PROCESSES, host, accounts) == 0

    return act


def test_processes_full_of_threads_that_send_and_decide_the_same_pay_each_once(
    shop: Shop, books: Books, payers: Callable[..., None]
) -> None:
    decisions = debts(shop, books)
    payers([f"{decision} {reference}" for decision, references in decisions.items() for reference in references])
    owes(shop, "after-the-crowd")
    comes_to_rest(shop, books)
    assert set(books.payees.values()) == {1}
    counts = statuses(shop)
    assert set(counts) <= {"completed", "sent", "cancelled"}
    assert books.payees.total() == counts["completed"] + counts["sent"], "what is stored as paid, and nothing else"
    for decision, told in (("approve", "a person approved it"), ("retry", "a person had it tried again")):
        taken = [payout(shop, reference).history.count(told) for reference in decisions[decision]]
        assert set(taken) == {1}, "of those who decide the same at once, one does"


def test_processes_that_approve_at_the_daily_limit_send_what_fits_and_never_more(
    shop: Shop, books: Books, payers: Callable[..., None]
) -> None:
    most, amount, references = Decimal(LIMIT["USD"]), Decimal(150), [f"p-{number}" for number in range(24)]
    for reference in references:
        pays_out(shop, reference, amount, approve=True, account="")
    payers([f"approve {reference}" for reference in references])
    table = shop.runtime.models.days
    with shop.engine.connect() as connection:
        days = [Decimal(day.amount) for day in connection.execute(select(table).order_by(table.c.day))]
    sent = sum(payout.amount for payout in books.paid)
    # A run past midnight has two days.
    assert (days[0], max(days) <= most, sent) == (most // amount * amount, True, sum(days))
    left = [payout for payout in payouts(shop) if payout.status == "waiting"]
    assert len(left) == len(references) - sent / amount
    assert all("daily limit" in one.problem for one in left)
