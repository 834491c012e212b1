"""Wrong money never pays an order, and right money always does: our verdict against one with integers only.

Each pair has the requested money and the raw bytes of the service's answer. The real client decodes them, and the
real code compares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import httpx
import pytest

from flask_paycheckout import Pay, Receive
from flask_paycheckout.checkouts.ruling import compare
from flask_paycheckout.client import PaymentsClient, PaymentsError
from tests.chance import seed_of, soak_count, stream
from tests.money.cases import Case, draw
from tests.money.drafts import decimal_text
from tests.money.oracle import Asked, Outcome, judge
from tests.scripted import BASE_URL, NO_RETRY

EVERY_CHANGE = 20_000
SOAK = 1_000_000


def total_of(asked: Asked) -> Pay | Receive:
    """The shop's total, made from the digits of its smallest units."""
    amount = decimal_text(asked.units, asked.places)
    if asked.side == "input":
        return Pay(amount, asked.currency)
    return Receive(amount, asked.currency, pay_in="USD")


class Reader:
    """Reads one answer after the other through the real client, and compares as settlement does."""

    def __init__(self) -> None:
        self._body, self._status = b"", 200
        transport = httpx.MockTransport(lambda _: httpx.Response(self._status, content=self._body, headers=NO_RETRY))
        self._client = PaymentsClient(BASE_URL, client_id="shop-1", client_secret="secret", transport=transport)

    def concludes(self, case: Case, http_status: int) -> Outcome:
        self._body, self._status = case.body, http_status
        try:
            deposit = self._client.deposits.get(case.asked.checkout_id)
        except PaymentsError:
            return Outcome.UNREAD
        if deposit.deposit_id != case.asked.checkout_id:
            return Outcome.UNREAD
        if deposit.status.lower() != "completed":
            return Outcome.WAITS
        compared = compare(case.asked.checkout_id, total_of(case.asked), deposit.to_dict())
        return Outcome.PAID if all(fact.agrees for fact in compared) else Outcome.HELD


def drawn(seed: int, count: int) -> Iterator[tuple[Case, int]]:
    """Random cases, each with an HTTP status, which must not matter."""
    chance = stream(seed, "pairs")
    for _ in range(count):
        yield draw(chance), chance.choice([200, 200, 201, 404, 500])


def hold_against_the_oracle(seed: int, count: int) -> Counter[Outcome]:
    reader, seen, wrong = Reader(), Counter[Outcome](), []
    for case, http_status in drawn(seed, count):
        expected, concluded = judge(case.asked, case.body), reader.concludes(case, http_status)
        seen[expected] += 1
        if concluded is not expected:
            wrong.append((f"we: {concluded}, the oracle: {expected}", case))
    assert wrong[:5] == [], f"{len(wrong)} of {count} with --randomly-seed={seed}"
    return seen


def test_no_wrong_money_is_accepted_and_no_right_money_refused(pytestconfig: pytest.Config) -> None:
    seen = hold_against_the_oracle(seed_of(pytestconfig), EVERY_CHANGE)
    assert min(seen[outcome] for outcome in Outcome) > EVERY_CHANGE // 200, f"the cases must hold every kind: {seen}"


@pytest.mark.soak
def test_no_wrong_money_is_accepted_in_a_long_run(pytestconfig: pytest.Config) -> None:
    hold_against_the_oracle(seed_of(pytestconfig), soak_count(SOAK))
