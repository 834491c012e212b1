"""README's shop sends payment requests without an order, and reminders of unpaid orders."""

from __future__ import annotations

from flask_paycheckout import Pay
from flask_paycheckout.testing import Sandbox
from tests.docs.conftest import MakeShop
from tests.docs.merchant import with_models
from tests.docs.pages import Scene
from tests.docs.scenarios.money_out import _runs, mailbox


def asks(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    parts = [scene[name] for name in ("ask.py", "receiver.py", "withdraw.py")]
    shop = make_shop(*parts, change=with_models)
    assert "250.00" in shop.app.test_client().get(shop.ask_for_logo()).text
    makes, lists = scene.commands()
    _runs(shop, makes)
    assert _runs(shop, lists).output.count("Logo, two drafts") == 2
    paid, other = shop.db.session.scalars(shop.db.select(shop.paycheckout.Request)).all()
    shop.withdraw(other.reference)
    shop.db.session.rollback()
    paycheckout_sandbox.pay(shop.paycheckout.start(paid.order_id).checkout_id)
    shop.db.session.rollback()
    paycheckout_sandbox.reconcile(shop.paycheckout)
    assert [task.text for task in shop.db.session.scalars(shop.db.select(shop.Task))] == ["Paid: Logo, two drafts"]


def reminds(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    settings, opens = scene["settings.py"], "db = SQLAlchemy(app)\n"
    shop = make_shop(scene["remind.py"], change=lambda source: with_models(source).replace(opens, settings + opens, 1))
    mails = mailbox(shop)
    shop.paycheckout.start("1")
    shop.paycheckout.request(Pay("250.00", "USD"), title="A logo")
    shop.db.session.commit()
    for _ in range(2):
        paycheckout_sandbox.advance(minutes=24 * 60)
        assert paycheckout_sandbox.reconcile(shop.paycheckout).failed == 0
    [mail] = mails
    assert mail["to"] == "ada@example.com"
    assert "/paycheckout/orders/" in mail["text"]
