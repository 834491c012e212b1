"""Each guard against paying twice, against losing a payout and against revealing secrets, by itself.

The service pays every request, so that a repeated call pays twice; its list has pages of one record.
"""

from __future__ import annotations

import pytest

from flask_paycheckout import ToBank
from tests.payouts.books import NO_ANSWER, Books
from tests.payouts.shop import WALLET, payout, pays_out, sends, statuses
from tests.scripted import Answer, Shop, refusal

NUMBER = "400012341234"
BANK = ToBank("Bo", NUMBER, "b1", "Bank")


@pytest.mark.on_each_database
def test_a_payout_is_claimed_and_committed_before_the_call(shop: Shop, books: Books) -> None:
    seen: list[dict[str, int]] = []
    for number in (1, 2, 3):
        pays_out(shop, f"p-{number}")
    books.creating = lambda references: seen.append(statuses(shop))
    sends(shop)
    assert (seen, len(books.paid)) == ([{"sending": 3}], 3)


def test_a_payout_that_two_lookups_a_minute_apart_missed_is_sent_under_its_own_reference(
    shop: Shop, books: Books
) -> None:
    reference = pays_out(shop).service_reference
    books.instead = [NO_ANSWER]
    sends(shop)
    for seconds, sent in ((30, []), (29, []), (1, [reference])):
        sends(shop, seconds=seconds)
        assert [payout.reference for payout in books.paid] == sent
    assert payout(shop).status == "sent"


def test_look_ups_that_fail_prove_nothing(shop: Shop, books: Books) -> None:
    pays_out(shop)
    books.lost = 1
    books.instead_of_reads = [refusal(503)] * 8
    for _ in range(8):
        sends(shop)
        assert payout(shop).status == "sending"
        shop.waits(hours=2)
    sends(shop)
    assert payout(shop).status == "sent"
    assert len(books.paid) == 1


NAMED = '{"statusCode": 201, "message": "ok", "data": {"disburseData": [%s]}}'
LOST: list[Answer] = [
    NO_ANSWER,
    b"",
    b'{"statusCode": 201, "message": "ok"}',
    (NAMED % '{"disbursementId": "a", "status": "pending", "amount": "NaN"}').encode(),
    (NAMED % '{"disbursementId": "a", "status": "pending", "reference": "another"}').encode(),
    (NAMED % "").encode(),
    b'{"statusCode": 500, "message": "busy"}',
    # From a hook that measures the response.
    ZeroDivisionError("division by zero"),
]


@pytest.mark.parametrize("answer", LOST, ids=range(len(LOST)))
def test_a_lost_answer_or_one_that_cannot_be_read_is_looked_up_and_a_token_is_unknown(
    shop: Shop, books: Books, answer: Answer
) -> None:
    pays_out(shop, "p-bank")
    pays_out(shop, "p-token", to=WALLET)
    books.lost, books.lost_as = 2, answer
    for _ in range(4):
        sends(shop)
        shop.waits(hours=2)
    assert [payout(shop, f"p-{kind}").status for kind in ("bank", "token")] == ["sent", "unknown"]
    assert len(books.paid) == 2


def test_no_account_number_is_logged_or_told_when_the_service_repeats_it(
    shop: Shop, books: Books, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    pays_out(shop, to=BANK)
    books.instead = [refusal(400, f"the account {NUMBER} is closed")]
    sends(shop)
    stored = payout(shop)
    assert stored.status == "failed"
    assert "is closed" in stored.problem
    assert NUMBER not in f"{stored.problem} {stored.history} {stored!r} {caplog.text}"
