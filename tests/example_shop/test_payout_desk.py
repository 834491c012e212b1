"""The owner's page for paying suppliers."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING

import pypdf
import pytest

from example_shop.payouts import decide
from tests.example_shop.conftest import Owner
from tests.example_shop.test_payouts import (
    CRYPTO,
    pay_out,
    paycheckout_sandbox,
    recorded,
    reference_of,
    sold,
    transfers,
    unknowns,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

    from flask_paycheckout.testing import Sandbox

__all__ = ["pay_out", "paycheckout_sandbox", "sold", "unknowns"]


def test_the_owner_pays_and_takes_the_proof_away(
    shop: Flask, owner: Owner, sold: str, paycheckout_sandbox: Sandbox
) -> None:
    owner.logs_in()
    assert "Nobody was paid yet." in owner.sees("/owner/payouts/")
    assert "$120.00" in owner.sees("/owner/payouts/")
    assert owner.sends("/owner/payouts/pay").location == "/owner/payouts/"
    page = owner.sees("/owner/payouts/")
    assert page.count(">pending<") == 2
    assert page.count(">sent<") == 1
    assert "proof.pdf" not in page
    for reference in (reference_of(shop, "maren"), reference_of(shop, "puddle"), "nobody-000000000000"):
        assert owner.browser.get(f"/owner/payouts/{reference}/proof.pdf").status_code == 404
    paycheckout_sandbox.advance(minutes=11)
    owner.sends("/owner/payouts/pay")
    links = re.findall(r'href="([^"]+/proof.pdf)"', owner.sees("/owner/payouts/"))
    assert len(links) == 2
    for link in links:
        answer = owner.browser.get(link)
        reference = link.split("/")[-2]
        assert answer.headers["Content-Disposition"] == f'attachment; filename="{reference}.pdf"'
        assert f"Reference {reference}" in pypdf.PdfReader(io.BytesIO(answer.data)).pages[0].extract_text()


def test_the_page_is_the_owners_and_no_other_sites(shop: Flask, owner: Owner, sold: str) -> None:
    for path in ("/owner/payouts/", "/owner/payouts/x/proof.pdf"):
        assert owner.browser.get(path).location == "/owner/login"
    assert owner.sends("/owner/payouts/pay").location == "/owner/login"
    assert owner.sends("/owner/payouts/x/settle", sent="yes").location == "/owner/login"
    owner.logs_in()
    assert owner.sends("/owner/payouts/pay", csrf="guessed").status_code == 400
    assert owner.browser.post("/owner/payouts/pay").status_code == 400
    assert transfers(shop) == []


def test_a_service_that_gives_no_proof_is_asked_again_later(
    shop: Flask, owner: Owner, sold: str, paycheckout_sandbox: Sandbox
) -> None:
    owner.logs_in()
    owner.sends("/owner/payouts/pay")
    paycheckout_sandbox.advance(minutes=11)
    owner.sends("/owner/payouts/pay")
    proof = f"/owner/payouts/{reference_of(shop, 'maren')}/proof.pdf"
    paycheckout_sandbox.fault("GET /v1/disbursement/fiat/{id}/report", "error", times=3, statusCode=404)
    assert "The service did not give the proof." in owner.sees(proof)
    paycheckout_sandbox.control("DELETE", "faults")
    assert owner.browser.get(proof).data.startswith(b"%PDF")


@pytest.mark.parametrize(("sent", "fault"), [("yes", "lose_response"), ("no", "drop")])
def test_the_owner_decides_what_nobody_can_look_up(
    shop: Flask, owner: Owner, sold: str, paycheckout_sandbox: Sandbox, sent: str, fault: str
) -> None:
    paycheckout_sandbox.fault(CRYPTO, fault)
    owner.logs_in()
    owner.sends("/owner/payouts/pay")
    paycheckout_sandbox.advance(minutes=3)
    owner.sends("/owner/payouts/pay")
    assert "The answer was lost." in owner.sees("/owner/payouts/")
    settle = f"/owner/payouts/{reference_of(shop, 'puddle')}/settle"
    assert owner.sends(settle).status_code == 400
    assert owner.sends(settle, sent=sent).status_code == 303
    assert owner.sends(settle, sent=sent).status_code == 409
    owner.sends("/owner/payouts/pay")
    assert [row.state for row in recorded(shop) if row.supplier == "puddle"] == ["sent"]


def test_the_command_pays_tells_and_exits(
    shop: Flask, sold: str, paycheckout_sandbox: Sandbox, pay_out: Callable[[], dict[str, str]]
) -> None:
    terminal = shop.test_cli_runner()
    paycheckout_sandbox.fault(CRYPTO, "drop")
    first = terminal.invoke(args=["shop", "payout"])
    assert first.exit_code == 1
    assert re.search(r"^maren-\w+ +120\.00 USD  pending$", first.output, re.MULTILINE)
    assert re.search(r"^! puddle-\w+ is sending: .*may have been carried out", first.output, re.MULTILINE)
    paycheckout_sandbox.advance(minutes=11)
    second = terminal.invoke(args=["shop", "payout", "--json"])
    assert second.exit_code == 1
    assert '"state": "unknown"' in second.output
    assert second.output.count('"state": "completed"') == 2
    with shop.app_context():
        decide(reference_of(shop, "puddle"), was_sent=False)
    assert terminal.invoke(args=["shop", "payout"]).exit_code == 0
    last = terminal.invoke(args=["shop", "payout"])
    assert (last.exit_code, last.output) == (0, "Nothing is owed, and nothing changed.\n")
    assert terminal.invoke(args=["shop", "payout", "--twice"]).exit_code == 2
