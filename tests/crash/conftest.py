"""Starts a nursery and reads what it found; opens a shop beside the sandbox."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import Pay, PayCheckout
from flask_paycheckout.testing import Sandbox
from tests.crash.nursery import Found
from tests.scripted import Clock, Service, Shop, make_app

Try = Callable[..., Found]

_ROOT = Path(__file__).parents[2]
_SOAK_SECONDS = 12 * 3600


@pytest.fixture
def sqlite_database(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'shop.db'}"


@pytest.fixture
def tries(tmp_path: Path) -> Try:
    """Has a nursery try an order; what is not said is the order's own default."""

    def run(address: str, **order: Any) -> Found:
        told = json.dumps({"address": address, "folder": str(tmp_path), **order})
        # Its children never come to write down what they ran.
        calm = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
        nursery = subprocess.run(
            [sys.executable, "-W", "error", "-m", "tests.crash.nursery", told],
            cwd=_ROOT,
            env=calm,
            capture_output=True,
            text=True,
            timeout=_SOAK_SECONDS,
        )
        assert nursery.returncode == 0, nursery.stderr
        found = Found(**json.loads(nursery.stdout))
        print(f"{sum(found.points.values())} points in {found.seconds} s: {found.points}; left: {found.left_behind}")
        return found

    return run


@pytest.fixture
def sandbox_shop(tmp_path: Path, paycheckout_sandbox: Sandbox) -> Iterator[Shop]:
    """A shop whose payments service is the sandbox, which also tells the time; it has 200 orders of 12.50 USD."""
    app = make_app(SQLALCHEMY_DATABASE_URI=f"sqlite:///{tmp_path / 'shop.db'}", **paycheckout_sandbox.config)
    db = SQLAlchemy(app)
    paycheckout = PayCheckout()
    paycheckout.init_app(app, db, transport=paycheckout_sandbox.transport)
    orders: dict[str, Any] = {f"o-{number}": Pay("12.50", "USD") for number in range(1, 201)}
    paycheckout.order_total(orders.get)
    with app.app_context():
        db.create_all()
    yield Shop(app, db, paycheckout, Service(), Clock(), orders)
    with app.app_context():
        db.engine.dispose()
