"""A merchant's own migrations, written by Flask-Migrate as in docs/production.md, create the tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.merchant import SETTINGS, Merchant, shop_source
from tests.docs.pages import commands, snippet

pytestmark = pytest.mark.slow("programs")

CLEAN = "No new upgrade operations detected"

OWN_COLUMNS = """
from flask_paycheckout import CheckoutMixin, EventMixin

class Checkout(CheckoutMixin, db.Model):
    campaign = db.Column(db.String(40), index=True)

class Event(EventMixin, db.Model):
    exported_at = db.Column(db.DateTime(timezone=True))
"""
PAY = """
from shop import Order, app, db, paycheckout, sandbox

with app.app_context():
    db.session.add(Order(id="1", total="12.50"))
    db.session.commit()
    sandbox.pay(paycheckout.start("1").checkout_id)
    print(paycheckout.reconcile())
    print("paid" if db.session.get(Order, "1").paid else "not paid")
"""


class MigratingMerchant(Merchant):
    """A merchant whose shop is README's with Flask-Migrate; its sandbox is in the process of each command."""

    def __init__(self, folder: Path, database: str, **config: str) -> None:
        config = {f"FLASK_{name}": value for name, value in config.items()}
        super().__init__(folder, **SETTINGS, FLASK_SQLALCHEMY_DATABASE_URI=database, **config)

    def writes_shop(self, own: str = "") -> None:
        """Write the shop, with its own classes before the extension is made."""
        source = shop_source().replace(
            "paycheckout = PayCheckout(app, db)\n",
            f"{own}\nfrom flask_paycheckout.testing import Sandbox\nsandbox = Sandbox()\n"
            "paycheckout = PayCheckout()\npaycheckout.init_app(app, db, transport=sandbox.transport)\n",
        )
        self.writes("shop.py", f"{source}\n{snippet('docs/production.md', 'migrations', 'migrate.py')}")

    def follows_the_recipe(self, *, init: str = "") -> None:
        """Run the commands of the page."""
        for command in commands("docs/production.md", "migrations"):
            self.runs(f"{command} {init}" if command.endswith("db init") else command)

    def is_clean(self) -> bool:
        """Whether Flask-Migrate finds no further change."""
        return CLEAN in self.runs("flask --app shop db check")


def test_the_tables_come_by_the_shops_own_migration(tmp_path: Path, each_database: str) -> None:
    merchant = MigratingMerchant(tmp_path, each_database)
    merchant.writes_shop()
    merchant.follows_the_recipe()
    assert merchant.is_clean()
    (tmp_path / "pay.py").write_text(PAY)
    assert merchant.runs("python pay.py").endswith("paid\n")


def test_own_columns_come_by_a_later_migration(tmp_path: Path) -> None:
    merchant = MigratingMerchant(tmp_path, f"sqlite:///{tmp_path / 'shop.db'}")
    merchant.writes_shop()
    merchant.follows_the_recipe()
    merchant.writes_shop(OWN_COLUMNS)
    output = merchant.runs("flask --app shop db check", code=1)
    assert "campaign" in output
    assert "exported_at" in output
    merchant.runs("flask --app shop db migrate -m 'Own columns'")
    merchant.runs("flask --app shop db upgrade")
    assert merchant.is_clean()
    (tmp_path / "pay.py").write_text(PAY)
    assert merchant.runs("python pay.py").endswith("paid\n")
