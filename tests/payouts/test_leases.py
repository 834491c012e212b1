"""Claims of payouts: one process gets each; a process that lost its claim sends nothing and hides no problem."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from flask_paycheckout import PayoutReport
from flask_paycheckout.database.state_table import lines
from flask_paycheckout.payouts.payout_states import CALLED
from tests.conftest import OpenPayer
from tests.locks import with_patience
from tests.payouts.paying import ADA, CRYPTO, FIAT, WALLET, Payer
from tests.payouts.shop import decides


def test_a_row_that_the_shop_has_locked_keeps_no_sender_waiting(
    open_payer: OpenPayer, postgres_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the row is locked before the claim's renewal, it is not sent; if before the claim, the round skips it."""
    payer = open_payer(SQLALCHEMY_DATABASE_URI=with_patience(postgres_database, 2))
    shop, table = payer.shop, payer.shop.runtime.models.payouts
    renew = shop.runtime.due_payouts.renew

    @contextmanager
    def locked(reference: str) -> Iterator[None]:
        with shop.runtime.engine().connect() as other:
            other.execute(table.select().where(table.c.reference.startswith(reference)).with_for_update())
            yield

    def renews(queue: Any, *arguments: Any) -> Any:
        with locked("claimed"):
            return renew(*arguments)

    for reference in ("claimed", "free", "held token", "claimed token"):
        payer.owes(reference, to=WALLET if "token" in reference else ADA)
    monkeypatch.setattr(type(shop.runtime.due_payouts), "renew", renews)
    looks = iter(range(10))
    with locked("held"), shop.app.app_context():
        shop.runtime.payout_sender.run(stopped=lambda: next(looks, None) is None)
    ends = {"claimed": "sending", "free": "sent", "held token": "ready", "claimed token": "sending"}
    assert {reference: payer.status(reference) for reference in ends} == ends
    assert next(looks, None) is not None, "the round claims one payout again and again"


def test_payouts_that_are_tried_again_are_sent_however_long_the_questions_about_their_earlier_tries_take(
    payer: Payer,
) -> None:
    """Each lookup reads the service's list, and a claim expires after some minutes."""
    references = ["p-1", "p-2", "p-3"]
    for reference in references:
        payer.owes(reference, amount="0.50")
    payer.sends()
    payer.sends(minutes=2)
    assert payer.statuses == {"failed": 3}
    for reference in references:
        assert decides(payer.shop, "retry", reference)
    calls, seconds = payer.counts_calls(), payer.shop.runtime.claim.total_seconds() * 1.5
    payer.meanwhile("GET /v1/disbursement/fiat", lambda: payer.sandbox.advance(0, seconds=seconds))
    payer.sends()
    assert calls[FIAT] == 3


@pytest.mark.on_each_database
def test_a_late_answer_of_a_sender_that_lost_its_claim_counts_while_it_is_still_sending(payer: Payer) -> None:
    payer.owes()

    def another_process_looks() -> None:
        payer.sandbox.advance(minutes=5)
        payer.shop.runtime.due_payouts.take_due(CALLED, payer.sandbox.now, 10, ())

    payer.meanwhile(FIAT, another_process_looks)
    assert payer.sends() == PayoutReport(sent=1)
    assert payer.payout().disbursement_id == payer.at_service[0].disbursement_id


def test_a_late_answer_to_an_older_reference_moves_nothing(payer: Payer) -> None:
    """In the meantime it was retried with a new reference, which another process is sending."""
    payer.owes(to=WALLET)
    payer.meanwhile(CRYPTO, lambda: payer.stands(service_reference="another", changes=99))
    assert payer.sends() == PayoutReport()
    payout = payer.payout()
    assert (payout.status, payout.disbursement_id) == ("sending", None)
    assert lines(payout.history)[-1]["what"] == "not applied"
