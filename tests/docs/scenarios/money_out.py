"""Payouts and refunds of README's shop: receivers, commands, the customer's page, and a marketplace."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from click.testing import Result

from flask_paycheckout.testing import Sandbox
from tests.docs.conftest import MakeShop
from tests.docs.merchant import with_models
from tests.docs.pages import Scene
from tests.example_shop.test_refunds import ACCOUNT

RECIPIENT = "5a6d00000000000000000101"


def mailbox(shop: Any) -> list[dict[str, str]]:
    """Collect the mails that the shop sends from now on."""
    mails: list[dict[str, str]] = []
    shop.send_mail = lambda to, subject, text, message_id: mails.append(
        {"to": to, "subject": subject, "text": text, "message_id": message_id}
    )
    return mails


def _runs(shop: Any, line: str, *, code: int = 0, **words: str) -> Result:
    """Run a command of a page with values for its variables; it must end with this exit code."""
    command = [words.get(word, word) for word in shlex.split(line)]
    ran: Result = shop.app.test_cli_runner().invoke(args=command[command.index("paycheckout") :])
    assert ran.exit_code == code, f"{line}\n{ran.output}"
    return ran


def _pays(shop: Any, sandbox: Sandbox) -> str:
    """Pay the order; returns the checkout's id."""
    checkout_id = str(shop.paycheckout.start("1").checkout_id)
    sandbox.pay(checkout_id)
    shop.paycheckout.settle(checkout_id)
    return checkout_id


def _statuses(shop: Any) -> dict[str, str]:
    shop.db.session.rollback()
    payout = shop.paycheckout.Payout
    return {row.reference: row.status for row in shop.db.session.scalars(shop.db.select(payout))}


def _waits(shop: Any, sandbox: Sandbox) -> None:
    """Let an hour pass, and reconcile, which sends and follows payouts and delivers events."""
    sandbox.advance(minutes=60)
    shop.paycheckout.reconcile()


def pays_out(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop(scene["payouts.py"], scene["failed.py"], change=with_models)
    _pays(shop, paycheckout_sandbox)
    shop.paycheckout.reconcile()
    [payout] = paycheckout_sandbox.payouts
    assert (f"{payout.amount:f}", payout.currency, payout.to) == ("10.00", "USD", RECIPIENT)
    paycheckout_sandbox.finish(payout, "failed")
    _waits(shop, paycheckout_sandbox)
    [task] = shop.db.session.scalars(shop.db.select(shop.Task))
    assert task.text.startswith("Pay 10.00 USD again: ")


def duties(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop(scene["staff.py"])
    browser = shop.app.test_client()
    assert browser.get("/owner/payments/").status_code == 403
    with browser.session_transaction() as session:
        session["staff"] = "Bo"
    assert browser.get("/owner/payments").status_code == 200
    assert browser.get("/owner/payments/books/month?month=2026-01").status_code == 403
    [line] = scene.commands()
    assert not _runs(shop, line).output


def pulled(scene: Scene, make_shop: MakeShop) -> None:
    shop = make_shop(scene["prize.py"])
    assert shop.app.test_client().get(shop.award("prize-7", "50.00")).status_code == 200


def erased(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop()
    _pays(shop, paycheckout_sandbox)
    for line in scene.commands():
        assert "checkouts 1" in _runs(shop, line, ORDER_ID="1").output


def refunds(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    pages = [scene[name] for name in ("refunds.py", "heard.py", "claimed.py", "told.py", "by_hand.py", "wallet.py")]
    pages += [scene["once.py"], scene["wanted.py"]]
    shop = make_shop(*pages, change=with_models)
    mails = mailbox(shop)
    checkout_id = _pays(shop, paycheckout_sandbox)
    shop.record_cash(checkout_id, "1.00")
    assert list(_statuses(shop).values()) == ["completed"]
    for _ in range(2):
        shop.refund_return("r-1", checkout_id, "0.50")
    assert _statuses(shop)["return-r-1"] == "claimable"
    shop.paycheckout.cancel_payout("return-r-1", by="Ada", why="kept")
    makes, lists, approves, sends, proves = scene.commands()
    links = [shop.refund_jar(checkout_id)]
    links += re.findall(r"https?://\S+/refunds/\S+", _runs(shop, makes, CHECKOUT_ID=checkout_id).output)
    assert len(links) == 2
    for link in links:
        assert shop.app.test_client().post(link, data=ACCOUNT).status_code in (200, 303)
    references = sorted(reference for reference, status in _statuses(shop).items() if status == "waiting")
    assert len(references) == 2
    assert shop.db.session.query(shop.Task).count() == 2
    assert {mail["to"] for mail in mails} == {"ada@example.com"}
    assert len({mail["message_id"] for mail in mails}) == len(mails)
    assert [mail["subject"] for mail in mails].count("Your refund of 2.50 USD") == 2
    mails.clear()
    refund = shop.db.session.scalars(shop.db.select(shop.paycheckout.Payout).filter_by(reference=references[0])).one()
    shop.tell_customer(shop.app, order_id="request:r", payout=refund, event_id="e")
    shop.send_link(shop.app, order_id="request:r", payout=refund, url="", event_id="e")
    assert not mails, "the order of a payment request is none of the shop's"
    shop.paycheckout.pay_out("maker-1", "3.00", "USD", order_id="1", by="Ada")
    shop.db.session.commit()
    shop.paycheckout.reconcile()
    shop.app.test_client().post(shop.paycheckout.claim_url("maker-1"), data=ACCOUNT)
    assert not mails, "the money of another receiver is none of the customer's"
    shop.paycheckout.cancel_payout("maker-1", by="Ada", why="kept")
    _runs(shop, lists)
    for reference in references:
        _runs(shop, approves, REFERENCE=reference)
    _runs(shop, sends)
    for payout in paycheckout_sandbox.payouts:
        paycheckout_sandbox.finish(payout, "completed")
    _waits(shop, paycheckout_sandbox)
    assert set(_statuses(shop).values()) == {"completed", "cancelled"}
    assert "nobody listens" not in _runs(shop, "paycheckout report", code=1).output
    _runs(shop, proves, REFERENCE=references[0])
    assert Path("proof.pdf").read_bytes().startswith(b"%PDF")
    link = shop.refund_to_wallet(checkout_id)
    shop.paycheckout.reconcile()
    assert "/refunds/" in mails[-1]["text"]
    assert shop.app.test_client().post(link, data={"wallet_address": "0x" + "a" * 40}).status_code == 303
    assert "waiting" in _statuses(shop).values()


def marketplace(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop(scene["makers.py"])
    session = shop.db.session
    session.add_all([shop.Maker(id="ada", recipient_id=RECIPIENT), shop.Maker(id="bo", recipient_id="gone")])
    session.flush()
    session.add_all([shop.Share(order_id="1", maker_id=maker, amount="6.25") for maker in ("ada", "bo")])
    session.commit()
    _pays(shop, paycheckout_sandbox)
    assert _statuses(shop) == {"1-ada": "ready", "1-bo": "ready"}
    shop.paycheckout.reconcile()
    _waits(shop, paycheckout_sandbox)
    assert _statuses(shop) == {"1-ada": "sent", "1-bo": "failed"}
    assert [(str(payout.amount), payout.to) for payout in paycheckout_sandbox.payouts] == [("5.31", RECIPIENT)]
    [trouble] = session.scalars(shop.db.select(shop.Trouble))
    assert trouble.text.startswith("1-bo is failed: ")
