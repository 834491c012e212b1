"""Payouts and refunds of README's shop: receivers, people's commands, the customer's page, and a marketplace."""

from __future__ import annotations

import io
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click.testing import Result

from flask_paycheckout import ToBank, ToWallet
from flask_paycheckout.testing import Sandbox
from tests.docs.pages import Scene
from tests.docs.scenarios.recipes import MakeShop
from tests.example_shop.test_refunds import ACCOUNT
from tests.journeys.test_login import EMAIL, PASSWORD, Keyboard

RECIPIENT = "5a6d00000000000000000101"
BANK = ToBank("Ada", "4000123412", "us_first_sandbox", "First Sandbox Bank")
WALLET = ToWallet("0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed")
TASKS = "class Task(db.Model):\n    id = db.Column(db.String, primary_key=True)\n    text = db.Column(db.String)\n"

MAILS = "mails = []\ndef send_mail(**mail):\n    mails.append(mail)\n"


def _with_email(source: str) -> str:
    """README's shop, whose orders have an address."""
    source, count = re.subn(
        r"(    paid = .*\n)", r'\1    email = db.Column(db.String, default="ada@example.com")\n', source
    )
    assert count == 1
    return source


def _runs(shop: Any, line: str, *, typed: Any = None, code: int = 0, **words: str) -> Result:
    """Run a command of a page, in which these words have values; it must end with this exit code."""
    command = [words.get(word, word) for word in shlex.split(line)]
    ran: Result = shop.app.test_cli_runner().invoke(args=command[command.index("paycheckout") :], input=typed)
    assert ran.exit_code == code, f"{line}\n{ran.output}"
    return ran


def _pays(shop: Any, sandbox: Sandbox, amount: str | None = None) -> str:
    """Pay the order; gives the checkout's id."""
    checkout_id = str(shop.paycheckout.start("1").checkout_id)
    sandbox.pay(checkout_id, amount)
    shop.paycheckout.settle(checkout_id)
    return checkout_id


def _asks(shop: Any, *references: str, to: Any = BANK, currency: str = "USD", approve: bool = False) -> None:
    for reference in references:
        shop.paycheckout.pay_out(reference, "10.00", currency, to, approve=approve)
    shop.db.session.commit()


def _statuses(shop: Any) -> dict[str, str]:
    shop.db.session.rollback()
    payout = shop.paycheckout.Payout
    return {row.reference: row.status for row in shop.db.session.scalars(shop.db.select(payout))}


def _waits(shop: Any, sandbox: Sandbox, minutes: int = 60) -> None:
    """Time passes, and what is due is sent, followed and delivered."""
    sandbox.advance(minutes=minutes)
    shop.paycheckout.reconcile()


def pays_out(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop(TASKS, scene["payouts.py"], scene["failed.py"])
    _pays(shop, paycheckout_sandbox)
    shop.paycheckout.reconcile()
    [asked] = paycheckout_sandbox.payouts
    assert (f"{asked.amount:f}", asked.currency, asked.to) == ("10.00", "USD", RECIPIENT)
    paycheckout_sandbox.finish(asked, "failed")
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
        assert "1 checkout" in _runs(shop, line, ORDER_ID="1").output


def by_login(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    def no_token(source: str) -> str:
        return source.replace("app.config.from_prefixed_env()", "app.config.from_prefixed_env(); app.config.pop(TOKEN)")

    shop = make_shop(change=lambda source: 'TOKEN = "PAYCHECKOUT_ACCESS_TOKEN"\n' + no_token(source))
    _asks(shop, "maker-1")
    shop.paycheckout.reconcile()
    assert _statuses(shop) == {"maker-1": "ready"}

    def typed() -> Iterator[str]:
        yield EMAIL
        yield PASSWORD
        yield str(paycheckout_sandbox.control("GET", f"mails?to={EMAIL}")[0]["otp"])

    [line] = scene.commands()
    _runs(shop, line, typed=io.BufferedReader(Keyboard(typed())))
    assert _statuses(shop) == {"maker-1": "sent"}


def approving(scene: Scene, make_shop: MakeShop) -> None:
    shop = make_shop()
    _asks(shop, "maker-1", "maker-2", approve=True)
    lists, approves, cancels = scene.commands()
    listed = _runs(shop, lists).output
    assert "maker-1" in listed
    assert "•••• 412" in listed
    _runs(shop, approves, REFERENCE="maker-1")
    _runs(shop, cancels, REFERENCE="maker-2")
    assert _statuses(shop) == {"maker-1": "ready", "maker-2": "cancelled"}


def unknown(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop()
    _asks(shop, "maker-1", "maker-2", to=WALLET, currency="usdc-polygon")
    paycheckout_sandbox.fault("POST /v1/disbursement/crypto", "lose_response")
    paycheckout_sandbox.fault("POST /v1/disbursement/crypto", "drop")
    # A round ends with the first answer that was lost.
    for _ in range(2):
        _waits(shop, paycheckout_sandbox, minutes=1)
    assert _statuses(shop) == {"maker-1": "unknown", "maker-2": "unknown"}
    left, never_left = sorted(_statuses(shop), key=lambda one: one not in str(paycheckout_sandbox.payouts))
    reports, sent, not_sent = scene.commands()
    reported = _runs(shop, reports, code=1).output
    assert reported.count(WALLET.address) == reported.count("service reference maker-") == 2
    _runs(shop, sent, REFERENCE=left)
    _runs(shop, not_sent, REFERENCE=never_left)
    _waits(shop, paycheckout_sandbox)
    assert _statuses(shop) == {"maker-1": "sent", "maker-2": "sent"}
    assert len(paycheckout_sandbox.payouts) == 2


def failed(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop()
    _asks(shop, "maker-1")
    shop.paycheckout.send_payouts()
    paycheckout_sandbox.finish(paycheckout_sandbox.payouts[0], "failed")
    _waits(shop, paycheckout_sandbox)
    lists, retries = scene.commands()
    assert "maker-1" in _runs(shop, lists).output
    _runs(shop, retries, REFERENCE="maker-1")
    shop.paycheckout.send_payouts()
    assert [one.status for one in paycheckout_sandbox.payouts] == ["failed", "pending"]


def corrected(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop()
    _asks(shop, "maker-1")
    shop.paycheckout.send_payouts()
    [corrects] = scene.commands()
    _runs(shop, corrects, REFERENCE="maker-1")
    assert _statuses(shop) == {"maker-1": "failed"}


def after_a_restore(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    """The backup was made before the payout, which the restored shop asks for again."""
    shop = make_shop()
    _asks(shop, "maker-1")
    shop.paycheckout.send_payouts()
    for forgotten in ("payout", "booking", "event"):
        shop.db.session.execute(shop.db.delete(shop.db.metadata.tables[f"paycheckout_{forgotten}"]))
    shop.db.session.commit()
    _asks(shop, "maker-1")
    checks, reads, compares, reports = scene.commands()
    _runs(shop, checks)
    _runs(shop, reads, code=1)
    _runs(shop, compares)
    _runs(shop, reports, code=1)  # the shop of the page listens to no signal of payouts
    assert _statuses(shop) == {"maker-1": "sent"}
    assert len(paycheckout_sandbox.payouts) == 1


def proof(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop()
    _asks(shop, "maker-1")
    shop.paycheckout.send_payouts()
    paycheckout_sandbox.finish(paycheckout_sandbox.payouts[0], "completed")
    _waits(shop, paycheckout_sandbox)
    [line] = scene.commands()
    _runs(shop, line, REFERENCE="maker-1")
    assert Path("proof.pdf").read_bytes().startswith(b"%PDF")


def refunds(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    pages = [scene[name] for name in ("refunds.py", "claimed.py", "told.py", "by_hand.py")]
    shop = make_shop(TASKS, MAILS, *pages, change=_with_email)
    checkout_id = _pays(shop, paycheckout_sandbox)
    shop.record_cash(checkout_id, "1.00")
    assert list(_statuses(shop).values()) == ["completed"]
    makes, lists, approves, sends, proves = scene.commands()
    links = [shop.refund_jar(checkout_id)]
    links += re.findall(r"https?://\S+/refunds/\S+", _runs(shop, makes, CHECKOUT_ID=checkout_id).output)
    assert len(links) == 2
    for link in links:
        assert shop.app.test_client().post(link, data=ACCOUNT).status_code in (200, 303)
    references = sorted(reference for reference, status in _statuses(shop).items() if status == "waiting")
    assert len(references) == 2
    told = [task.text for task in shop.db.session.scalars(shop.db.select(shop.Task))]
    assert len(told) == 2
    assert all("2.50 USD to Ada Lovelace" in text for text in told)
    assert {mail["to"] for mail in shop.mails} == {"ada@example.com"}
    assert all("goes to Ada Lovelace" in mail["text"] for mail in shop.mails)
    assert len({mail["message_id"] for mail in shop.mails}) == len(shop.mails) == 2
    listed = _runs(shop, lists).output
    for reference in references:
        assert reference in listed
        _runs(shop, approves, REFERENCE=reference)
    _runs(shop, sends)
    for asked in paycheckout_sandbox.payouts:
        paycheckout_sandbox.finish(asked, "completed")
    _waits(shop, paycheckout_sandbox)
    assert set(_statuses(shop).values()) == {"completed"}
    _runs(shop, proves, REFERENCE=references[0])
    assert Path("proof.pdf").read_bytes().startswith(b"%PDF")


def refund_held(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop()
    checkout_id = _pays(shop, paycheckout_sandbox, "1.00")
    [line] = scene.commands()
    told = json.loads(_runs(shop, f"{line} --json", CHECKOUT_ID=checkout_id).stdout)
    assert _statuses(shop) == {told["reference"]: "claimable"}
    assert shop.paycheckout.explain("1").attempts[0].status == "rejected"


def marketplace(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop(scene["makers.py"], above=scene["unheard.py"])
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
    assert [(str(one.amount), one.to) for one in paycheckout_sandbox.payouts] == [("5.31", RECIPIENT)]
    [trouble] = session.scalars(shop.db.select(shop.Trouble))
    assert trouble.text.startswith("1-bo is failed: ")
