"""Webhooks about payouts: hints, whatever they contain, that cost little however many come."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, event

from flask_paycheckout import PayoutReport
from tests.payouts.conftest import OpenPayer
from tests.payouts.paying import WALLET, Payer


def posts(payer: Payer, body: object = None) -> int:
    answer = payer.shop.browser.post("/paycheckout/webhook", json={"event": "disbursement"} if body is None else body)
    return answer.status_code


def next_read(payer: Payer, reference: str = "p-1") -> float:
    return float((payer.payout(reference).next_attempt_at - payer.sandbox.now).total_seconds())


@pytest.mark.on_each_database
def test_a_webhook_makes_the_reads_of_sent_payouts_due(open_payer: OpenPayer) -> None:
    payer = open_payer()
    payer.owes()
    payer.owes("token", to=WALLET)
    payer.sends()
    payer.sandbox.change_unknowns(disbursement_progress_webhook="sent")
    payer.sandbox.deliver_to(payer.shop.browser)
    payer.sandbox.finish(payer.payout(), "completed")
    assert next_read(payer) <= 0
    assert payer.payout("token").next_attempt_at is None
    assert payer.sends() == PayoutReport(completed=1)


def test_webhooks_have_one_effect_in_a_cool_down_of_the_whole_shop(open_payer: OpenPayer) -> None:
    """Two processes hear of it."""
    payer = open_payer(PAYCHECKOUT_WEBHOOK_COOLDOWN=600)
    payer.owes()
    payer.sends()
    other = open_payer(PAYCHECKOUT_WEBHOOK_COOLDOWN=600)
    assert [posts(payer), posts(payer), posts(other)] == [200] * 3
    for number in range(3):
        payer.stands(next_attempt_at=payer.sandbox.now.replace(year=2100), changes=100 + number)
        assert (posts(payer), posts(other)) == (200, 200)
    assert payer.payout().next_attempt_at.year == 2100
    payer.sandbox.advance(minutes=11)
    assert posts(other) == 200
    assert next_read(payer) <= 0
    payer.stands(next_attempt_at=payer.sandbox.now.replace(year=2100))
    posts(payer)
    assert payer.payout().next_attempt_at.year == 2100


def test_a_webhook_without_payouts_stores_nothing(payer: Payer) -> None:
    payer.owes()
    assert posts(payer, {}) == 200
    shop = payer.shop.runtime
    with shop.engine().connect() as connection:
        stored = connection.execute(shop.models.services.select()).mappings().all()
    assert [row["operation"] for row in stored] == ["installation key"]
    assert payer.status() == "ready"


def test_a_webhook_asks_the_service_nothing_and_hurries_a_bounded_number(open_payer: OpenPayer) -> None:
    payer = open_payer(PAYCHECKOUT_PAYOUT_BATCH=200)
    for number in range(13):
        payer.owes(f"p-{number}")
    payer.sends()
    calls = payer.counts_calls()
    posts(payer)
    assert calls == {}
    due = [number for number in range(13) if next_read(payer, f"p-{number}") <= 0]
    assert len(due) == 10


def takes_effect(payer: Payer) -> bool:
    """Whether a webhook a minute later makes the payout's read due."""
    payer.stands(next_attempt_at=payer.sandbox.now.replace(year=2100))
    payer.sandbox.advance(minutes=1)
    assert posts(payer, {}) == 200
    return next_read(payer) <= 0


def test_webhooks_have_an_effect_ever_more_rarely_while_they_change_nothing(payer: Payer) -> None:
    payer.owes()
    payer.sends()
    effects = [takes_effect(payer) for _ in range(60)]
    assert effects[:3] == [True] * 3
    assert sum(effects[-30:]) == 3
    payer.owes("p-2")
    payer.sends()
    payer.stands("p-2", next_attempt_at=payer.sandbox.now.replace(year=2100))
    payer.sandbox.finish(payer.payout("p-2"), "completed")
    payer.sandbox.advance(minutes=10)
    assert posts(payer, {}) == 200
    assert payer.sends().completed == 1
    assert takes_effect(payer), "the one before told of a change"


def test_a_webhook_beside_another_one_changes_nothing_and_is_answered_like_any(open_payer: OpenPayer) -> None:
    """Another process stores its hint of the same moment first."""
    payer = open_payer()
    payer.owes()
    payer.sends()
    columns = "(account, operation, count) SELECT '', 'payout webhook', 0 WHERE 1 = 1"
    overtakes = iter([f"INSERT INTO paycheckout_service {columns}"])

    def overtake(connection: Connection, cursor: object, statement: str, *rest: object) -> None:
        if statement.startswith("INSERT INTO paycheckout_service") and (first := next(overtakes, None)):
            connection.exec_driver_sql(first)

    event.listen(payer.shop.runtime.engine(), "before_cursor_execute", overtake)
    assert posts(payer) == 200
    assert next_read(payer) > 0


def test_what_is_being_read_or_fails_keeps_its_time(payer: Payer) -> None:
    payer.owes("read")
    payer.owes("fails")
    payer.sends()
    payer.stands("read", lease_token="somebody")
    payer.stands("fails", failures=3)
    posts(payer)
    assert min(next_read(payer, "read"), next_read(payer, "fails")) > 20
