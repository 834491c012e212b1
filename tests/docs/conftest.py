"""Fixtures of the scenarios: README's shop with a page's additions, in this process."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from blinker import ANY

from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.signals import BY_NAME
from flask_paycheckout.testing import Sandbox
from tests.celery.conftest import broker
from tests.conftest import NewDatabase
from tests.docs.merchant import SETTINGS, Merchant, shop_source
from tests.serving import served

__all__ = ["broker", "make_shop", "merchant", "merchant_with_shop", "sandbox_in_terminal"]

MakeShop = Callable[..., Any]
MAKES_EXTENSION = re.compile(r"^paycheckout = PayCheckout\((app, .*)\)\n", re.MULTILINE)


@pytest.fixture
def merchant(tmp_path: Path) -> Merchant:
    """A merchant in an empty folder, with a terminal in which nothing is set."""
    return Merchant(tmp_path)


@pytest.fixture
def merchant_with_shop(tmp_path: Path) -> Merchant:
    """A merchant with README's shop and the settings of its sandbox."""
    merchant = Merchant(tmp_path, **SETTINGS)
    merchant.writes("shop.py", shop_source())
    return merchant


@pytest.fixture
def sandbox_in_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paycheckout_sandbox: Sandbox
) -> Iterator[Path]:
    """An empty folder, in which the sandbox's commands use the test's sandbox."""
    monkeypatch.chdir(tmp_path)
    with served(paycheckout_sandbox.app) as address:
        monkeypatch.setenv("SANDBOX_URL", address)
        monkeypatch.setenv("SANDBOX_CONTROL_TOKEN", world(paycheckout_sandbox.app).control_token)
        yield tmp_path


@pytest.fixture
def make_shop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, paycheckout_sandbox: Sandbox, new_database: NewDatabase
) -> Iterator[MakeShop]:
    """Makes README's shop, as a module with these additions, and the order "1" for 12.50 in it.

    Its sandbox is in this process. `above` goes above the line that makes the extension; `change` may edit the source.
    The orders have these `columns` too. Any kind of database is set up through the extension's session.
    """
    monkeypatch.chdir(tmp_path)
    database = new_database("s")
    places = {"SQLALCHEMY_DATABASE_URI": database, "SQLALCHEMY_ENGINES": json.dumps({"default": database})}
    for key, value in {**paycheckout_sandbox.config, **places, "DATABASE": database, "SECRET_KEY": "test"}.items():
        monkeypatch.setenv(f"FLASK_{key}", value)
    monkeypatch.setenv("FLASK_DEBUG", "1")
    with ExitStack() as opened:

        def make(
            *additions: str,
            above: str = "",
            transport: Any = None,
            change: Callable[[str], str] = str,
            columns: tuple[str, ...] = (),
            **order: Any,
        ) -> Any:
            source = change("\n".join([shop_source(*columns), *additions]))
            in_process = r"paycheckout = PayCheckout()\npaycheckout.init_app(\1, transport=TRANSPORT)\n"
            source, count = MAKES_EXTENSION.subn(above + in_process, source)
            assert count == 1
            (tmp_path / "shop.py").write_text(source)
            specification = importlib.util.spec_from_file_location("page_shop", tmp_path / "shop.py")
            assert specification is not None
            assert specification.loader is not None
            shop: Any = importlib.util.module_from_spec(specification)
            shop.TRANSPORT = transport or paycheckout_sandbox.transport
            opened.callback(_disconnect)
            specification.loader.exec_module(shop)
            opened.enter_context(shop.app.app_context())
            session = shop.paycheckout.session
            engine = session.get_bind(shop.Order)
            opened.callback(engine.dispose)
            opened.callback(session.close)
            shop.Order.metadata.create_all(engine)
            session.add(shop.Order(id="1", total="12.50", **order))
            session.commit()
            return shop

        yield make


def _disconnect() -> None:
    for signal in BY_NAME.values():
        for receiver in list(signal.receivers_for(ANY)):
            if receiver.__module__ == "page_shop":
                signal.disconnect(receiver)
