"""The tables come to a merchant's shop by its own migrations, written by Flask-Migrate as docs/production.md says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout.store.models import make_models
from tests.docs.merchant import SETTINGS, Merchant, shop_source
from tests.docs.pages import commands, snippet
from tests.scripted import make_app

pytestmark = pytest.mark.slow("programs")

TABLES = ("paycheckout_checkout", "paycheckout_event", "paycheckout_service")
CLEAN = "No new upgrade operations detected"

OWN_COLUMNS = """
from flask_paycheckout import CheckoutMixin, EventMixin

class Checkout(CheckoutMixin, db.Model):
    campaign = db.Column(db.String(40), index=True)

class Event(EventMixin, db.Model):
    exported_at = db.Column(db.DateTime(timezone=True))
"""
SECOND_BIND = """
from flask_paycheckout import CheckoutMixin, EventMixin

class Checkout(CheckoutMixin, db.Model):
    __bind_key__ = "payments"

class Event(EventMixin, db.Model):
    __bind_key__ = "payments"
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
        """Write the shop, with own classes before the extension is made."""
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
        """Whether no migration is wanted."""
        return CLEAN in self.runs("flask --app shop db check")


def shape(database: str) -> Any:
    """What the database itself says of both tables: columns, unique columns and indexes."""
    engine = sa.create_engine(database)
    inspector = sa.inspect(engine)
    found = {
        name: (
            sorted((one["name"], str(one["type"]), one["nullable"]) for one in inspector.get_columns(name)),
            inspector.get_pk_constraint(name)["constrained_columns"],
            sorted(one["column_names"] for one in inspector.get_unique_constraints(name)),
            sorted((one["name"], one["column_names"], bool(one["unique"])) for one in inspector.get_indexes(name)),
        )
        for name in TABLES
    }
    engine.dispose()
    return found


def made_at_once(database: str) -> Any:
    """The same for the tables that `db.create_all()` makes, in place of those that are there."""
    app = make_app(SQLALCHEMY_DATABASE_URI=database)
    db = SQLAlchemy(app)
    make_models(db)
    with app.app_context():
        db.drop_all()
        db.create_all()
        db.engine.dispose()
    return shape(database)


def test_the_tables_come_by_the_shops_own_migration(tmp_path: Path, each_database: str) -> None:
    merchant = MigratingMerchant(tmp_path, each_database)
    merchant.writes_shop()
    merchant.follows_the_recipe()
    assert merchant.is_clean()
    (tmp_path / "pay.py").write_text(PAY)
    assert merchant.runs("python pay.py").endswith("paid\n")
    migrated = shape(each_database)
    assert migrated == made_at_once(each_database)


def test_own_columns_come_by_a_later_migration(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'shop.db'}"
    merchant = MigratingMerchant(tmp_path, database)
    merchant.writes_shop()
    merchant.follows_the_recipe()
    merchant.writes_shop(OWN_COLUMNS)
    assert "campaign" in merchant.runs("flask --app shop db check", code=1)
    merchant.runs("flask --app shop db migrate -m 'Own columns'")
    merchant.runs("flask --app shop db upgrade")
    assert merchant.is_clean()
    (tmp_path / "pay.py").write_text(PAY)
    assert merchant.runs("python pay.py").endswith("paid\n")
    assert {"campaign"} < {name for name, *_ in shape(database)["paycheckout_checkout"][0]}
    assert {"exported_at"} < {name for name, *_ in shape(database)["paycheckout_event"][0]}


def test_tables_in_a_second_database_come_by_migrations_too(tmp_path: Path) -> None:
    payments = f"sqlite:///{tmp_path / 'payments.db'}"
    binds = f'{{"payments": "{payments}"}}'
    shop = f"sqlite:///{tmp_path / 'shop.db'}"
    merchant = MigratingMerchant(tmp_path, shop, SQLALCHEMY_BINDS=binds, PAYCHECKOUT_SEPARATE_DATABASE="true")
    merchant.writes_shop(SECOND_BIND)
    merchant.follows_the_recipe(init="--multidb")
    assert merchant.is_clean()
    (tmp_path / "pay.py").write_text(PAY)
    assert merchant.runs("python pay.py").endswith("paid\n")
    assert set(shape(payments)) == set(TABLES)
