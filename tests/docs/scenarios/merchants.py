"""A marketplace: README's shop with orders of sellers that have their own accounts."""

from __future__ import annotations

import importlib
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from flask_paycheckout.testing import Sandbox
from tests.docs.conftest import MakeShop
from tests.docs.merchant import Merchant, shop_source
from tests.docs.pages import Scene, snippet
from tests.test_migrations import MigratingMerchant

_SELLER = "seller = db.Column(db.String)"


def _sealing_key(scene: Scene) -> tuple[str, str]:
    """The environment variable that the page's commands set, with the key that they print."""
    makes, sets = (shlex.split(line) for line in scene.commands())
    key = subprocess.run([sys.executable, *makes[1:]], capture_output=True, text=True, check=True).stdout.strip()
    name, value = sets[1].split("=", 1)
    return name, value.replace("the key", key)


def several_merchants(
    scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sellers are paid into their own accounts, keys are replaced, and the database shows no key."""
    (tmp_path / "sealed.py").write_text(scene["sealed.py"])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "sealed", raising=False)
    importlib.invalidate_caches()
    monkeypatch.setenv(*_sealing_key(scene))
    blocks = ("sellers.py", "rotation.py", "payout.py", "reseal.py")
    shop = make_shop(*(scene[name] for name in blocks), columns=(_SELLER,))
    names = ["anna", "bo"]
    accounts = {name: paycheckout_sandbox.account(name) for name in names}
    for name, keys in accounts.items():
        seller = shop.Seller(name=name, client_id=keys.client_id, client_secret=keys.client_secret)
        seller.access_token = keys.access_token
        shop.db.session.add_all([seller, shop.Order(id=name, total="12.50", seller=name)])
    shop.db.session.commit()
    before = str(shop.db.session.execute(shop.db.text("SELECT * FROM seller")).all())
    assert not any(keys.client_secret in before or keys.access_token in before for keys in accounts.values())
    shop.app.config["SELLER_KEYS"] = [Fernet.generate_key(), *shop.app.config["SELLER_KEYS"]]
    shop.encrypt_again()
    shop.app.config["SELLER_KEYS"].pop()
    shop.db.session.expire_all()
    checkouts = {order_id: shop.paycheckout.start(order_id) for order_id in ("1", *names)}
    assert {order_id: checkout.account for order_id, checkout in checkouts.items()} == {
        "1": "",
        "anna": "anna",
        "bo": "bo",
    }
    for checkout in checkouts.values():
        paycheckout_sandbox.pay(checkout.checkout_id)
    new = paycheckout_sandbox.control("POST", "accounts/anna/keys")
    shop.replace_keys("anna", new["clientId"], new["clientSecret"])
    shop.db.session.get(shop.Seller, "anna").access_token = new["accessToken"]
    shop.db.session.commit()
    for checkout in checkouts.values():
        assert shop.paycheckout.settle(checkout.checkout_id).status == "paid"

    shop.pay_baker("anna", "anna")
    shop.paycheckout.send_payouts()
    assert [f"{paid.amount:f}" for paid in paycheckout_sandbox.account("anna").payouts] == ["4.00"]


def sealed_migration(scene: Scene, merchant: Merchant) -> None:
    """A migration with a sealed column runs."""
    migrating = MigratingMerchant(merchant.folder, f"sqlite:///{merchant.folder / 'shop.db'}")
    several = partial(snippet, "docs/several-merchants.md", "several_merchants")
    migrating.writes("sealed.py", several("sealed.py"))
    migrate = snippet("docs/production.md", "migrations", "migrate.py")
    migrating.writes("shop.py", "\n".join([shop_source(_SELLER), several("sellers.py"), migrate]))
    (imports,) = scene.commands()
    for line in ("flask --app shop db init", imports, "flask --app shop db migrate", "flask --app shop db upgrade"):
        migrating.runs(line)
    assert migrating.is_clean()
