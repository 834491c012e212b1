"""README's shop on Flask-SQLAlchemy-Lite and on plain SQLAlchemy, and its migrations by Alembic alone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
import requests

from flask_paycheckout.testing import Sandbox
from tests.docs.merchant import SETTINGS, Merchant, visited
from tests.docs.pages import Scene, snippet

_MAKE_ORDER = """
from shop import *

app.app_context().push()
Model.metadata.create_all(db.engine)
db.session.add(Order(id="1", total="12.50"))
db.session.commit()
"""


def lite_shop(scene: Scene, make_shop: Callable[..., Any], paycheckout_sandbox: Sandbox) -> None:
    shop = make_shop(change=lambda readme: scene.code())
    assert "Pay now" in shop.app.test_client().get("/orders/1").text
    paycheckout_sandbox.pay(shop.paycheckout.start("1").checkout_id)
    shop.paycheckout.reconcile()
    assert "see your receipt" in shop.app.test_client().get("/orders/1").text


plain_shop = lite_shop


def async_views(scene: Scene, make_shop: Callable[..., Any], paycheckout_sandbox: Sandbox) -> None:
    """Behind an ASGI server a view starts two payments, and each way of settling runs the coroutine receiver."""
    pytest.importorskip("a2wsgi")
    shop = make_shop(scene.code())
    shop.paycheckout.session.add(shop.Order(id="2", total="12.50"))
    shop.paycheckout.session.commit()

    async def settle(checkout_id: str) -> str:
        return str(shop.paycheckout.settle(checkout_id).status)

    async def settle_in_thread(checkout_id: str) -> str:
        return str((await asyncio.to_thread(shop.paycheckout.settle, checkout_id)).status)

    shop.app.post("/settle/<checkout_id>")(settle)
    shop.app.post("/settle/<checkout_id>/in-thread")(settle_in_thread)

    async def visit() -> None:
        transport = httpx.ASGITransport(app=shop.asgi)
        async with httpx.AsyncClient(transport=transport, base_url="http://shop.test") as browser:
            foreign = await browser.post("/orders/1/pay", headers={"Origin": "https://evil.example"})
            assert foreign.status_code == 403
            for order_id, how in (("1", ""), ("2", "/in-thread")):
                page = (await browser.post(f"/orders/{order_id}/pay")).headers["Location"]
                checkout_id = page.rsplit("/", 1)[1]
                paycheckout_sandbox.pay(checkout_id)
                assert (await browser.post(f"/settle/{checkout_id}{how}")).text == "paid"
                again = await browser.post(f"/orders/{order_id}/pay")
                assert (again.status_code, "/paycheckout/orders/" in again.headers["Location"]) == (303, True)

    # In a separate thread, because the browser of another scenario may have its event loop in this one.
    with ThreadPoolExecutor(1) as threads:
        threads.submit(asyncio.run, asyncio.wait_for(visit(), 60)).result()
    assert shop.thanked == ["1", "2"]


def lite_on_gevent(scene: Scene, merchant: Merchant) -> None:
    """Customers of the same process all get their page at the same time."""
    pytest.importorskip("gevent")
    merchant.environment |= SETTINGS
    above, line, below = snippet("docs/hosts.md", "lite_shop", "").partition("db = SQLAlchemy(app)\n")
    assert below
    merchant.writes("shop.py", f"{above}{line}{scene.code()}{below}")
    merchant.runs_program(_MAKE_ORDER)
    order = merchant.here("http://127.0.0.1:8000/orders/1")
    with merchant.running("gunicorn --worker-class gevent --bind 127.0.0.1:8000 shop:app", "Booting worker"):
        assert "Pay now" in visited(order).text
        with ThreadPoolExecutor(8) as customers:
            answers = list(customers.map(lambda _: requests.get(order, timeout=60).status_code, range(40)))
    assert answers == [200] * len(answers)


def alembic(scene: Scene, merchant: Merchant) -> None:
    """After the first migration neither shop needs another one, and the payment tables exist."""
    merchant.environment |= SETTINGS
    init, *further = scene.commands()
    for host, source in (("plain_shop", "engine"), ("lite_shop", "app, db")):
        env = scene["env.py"].replace("import Model, engine", f"import Model, {source}")
        if host == "lite_shop":
            env = env.replace("with engine.", "with app.app_context(), db.engine.")
        merchant.folder /= host
        merchant.folder.mkdir()
        merchant.writes("shop.py", snippet("docs/hosts.md", host, ""))
        merchant.runs(init)
        merchant.writes("migrations/env.py", env)
        for command in further:
            merchant.runs(command)
        assert "No new upgrade operations detected" in merchant.runs("alembic check")
        (version,) = (merchant.folder / "migrations" / "versions").glob("*.py")
        assert "paycheckout_payout" in version.read_text()
