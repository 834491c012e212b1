"""Claims of payouts: one process gets each, and who lost its claim sends nothing, and silences nothing."""

from __future__ import annotations

from typing import Any

import pytest

from flask_paycheckout import PayoutReport
from flask_paycheckout.database.history import lines
from tests.locks import with_patience
from tests.payouts.conftest import OpenPayer
from tests.payouts.paying import CRYPTO, FIAT, WALLET, Payer
from tests.payouts.shop import decides, one_conflict


def test_a_sender_whose_renewal_a_conflict_rolled_back_sends_nothing(payer: Payer) -> None:
    payer.owes()
    calls = payer.counts_calls()
    with one_conflict(payer.shop, before=2):
        payer.sends()
    assert (calls[FIAT], payer.status()) == (0, "sending")
    for _ in range(2):
        payer.sandbox.advance(minutes=5)
        payer.sends()
    assert (payer.status(), len(payer.at_service)) == ("sent", 1)


def test_a_row_that_the_shop_has_locked_keeps_no_sender_waiting(
    open_payer: OpenPayer, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer = open_payer(SQLALCHEMY_DATABASE_URI=with_patience(postgres_database, 2))
    queue, table = payer.shop.runtime.payout_queue, payer.shop.runtime.models.payouts

    def while_locked(act: Any) -> Any:
        def acts(queue: Any, *arguments: Any, **more: Any) -> Any:
            with payer.shop.runtime.engine().connect() as other:
                other.execute(table.select().where(table.c.reference.startswith("locked")).with_for_update())
                return act(*arguments, **more)

        return acts

    payer.owes("locked")
    payer.owes("free")
    payer.owes("locked token", to=WALLET)
    monkeypatch.setattr(type(queue), "renew", while_locked(queue.renew))
    payer.sends()
    assert [payer.status(one) for one in ("locked", "free", "locked token")] == ["sending", "sent", "sending"]


def test_a_locked_payout_is_passed_over_by_the_round(
    open_payer: OpenPayer, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer = open_payer(SQLALCHEMY_DATABASE_URI=with_patience(postgres_database, 2))
    queue, table = payer.shop.runtime.payout_queue, payer.shop.runtime.models.payouts
    payer.owes("locked", to=WALLET)
    payer.owes("free", to=WALLET)
    calls = payer.counts_calls()
    take = type(queue).take

    def takes(queue: Any, *arguments: Any, **more: Any) -> Any:
        calls["take"] += 1
        if calls["take"] > 10:
            pytest.fail("the round claims one payout again and again")
        return take(queue, *arguments, **more)

    monkeypatch.setattr(type(queue), "take", takes)
    with payer.shop.runtime.engine().connect() as other:
        other.execute(table.select().where(table.c.reference == "locked").with_for_update())
        payer.sends()
    assert [payer.status(one) for one in ("locked", "free")] == ["ready", "sent"]


def test_payouts_that_are_tried_again_are_sent_however_long_the_questions_about_their_earlier_tries_take(
    payer: Payer,
) -> None:
    """Each question reads the service's list, and a claim ends some minutes after it was made."""
    references = ["p-1", "p-2", "p-3"]
    for reference in references:
        payer.owes(reference, amount="0.50")
    payer.sends()
    assert payer.statuses == {"failed": 3}
    for reference in references:
        assert decides(payer.shop, "retry", reference)
    calls, seconds = payer.counts_calls(), payer.shop.runtime.parts.claim.total_seconds() * 1.5
    payer.meanwhile("GET /v1/disbursement/fiat", lambda: payer.sandbox.advance(0, seconds=seconds))
    payer.sends()
    assert calls[FIAT] == 3


@pytest.mark.on_each_database
def test_a_late_answer_of_a_sender_that_lost_its_claim_counts_while_it_is_still_sending(open_payer: OpenPayer) -> None:
    payer = open_payer()
    payer.owes()

    def another_process_looks() -> None:
        payer.sandbox.advance(minutes=5)
        payer.shop.runtime.payout_queue.take_look_ups(payer.sandbox.now, payer.sandbox.now, 10)

    payer.meanwhile(FIAT, another_process_looks)
    assert payer.sends() == PayoutReport(sent=1)
    assert payer.payout().disbursement_id == payer.at_service[0].disbursement_id


def test_a_late_answer_to_an_older_reference_moves_nothing(payer: Payer) -> None:
    """Meanwhile it was tried again, under a new reference, and another process is sending that."""
    payer.owes(to=WALLET)
    payer.meanwhile(CRYPTO, lambda: payer.stands(service_reference="another", changes=99))
    assert payer.sends() == PayoutReport()
    payout = payer.payout()
    assert (payout.status, payout.disbursement_id) == ("sending", None)
    assert lines(payout.history)[-1]["what"] == "not applied"
