"""Storefronts and apps that call the shop with JSON."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from flask import Flask
from playwright.sync_api import Page, expect

from flask_paycheckout.testing import Sandbox
from tests.docs.conftest import MakeShop
from tests.docs.pages import Scene
from tests.scripted import SAME_SITE
from tests.serving import served

# Calls the page's function like an app, with the test in place of the system's browser.
APP = 'import { pay } from "./pay.mjs";\nconsole.log(await pay(process.argv[2], async (url) => console.log(url)));\n'


def headless(
    scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    """A browser on another site and a program buy, without the shop's pages and its debug mode."""
    store = Flask("store")
    with ExitStack() as stack:
        # A host name that a browser does not treat as this machine.
        address = stack.enter_context(served(store)).replace("127.0.0.1", "store.test")
        listed = scene["settings.py"].replace("https://store.example", address)
        shop = make_shop(scene["api.py"], scene["till.py"], above=listed)
        shop.app.debug = False
        till = shop.app.test_client().post("/till/1", headers=SAME_SITE).text
        assert "<svg" in till
        assert shop.app.test_client().post("/till/1").status_code == 403
        paycheckout_sandbox.pay(shop.paycheckout.start("1").checkout_id)
        paycheckout_sandbox.reconcile(shop.paycheckout)
        paid = shop.app.test_client().post("/till/1", headers=SAME_SITE)
        assert (paid.status_code, paid.text) == (409, "The order is paid.")
        shop.db.session.remove()
        api = stack.enter_context(served(shop.app))
        store.add_url_rule("/", view_func=lambda: scene["index.html"].replace("https://shop.example", api))
        _buys_in_a_browser(new_page(), address, paycheckout_sandbox)
        (tmp_path / "pay.mjs").write_text(scene["pay.mjs"])
        _buys_in_an_app(api, paycheckout_sandbox, tmp_path)


def _checkout_id(url: str | None) -> str:
    return str(url).rpartition("/")[2]


def _buys_in_a_browser(page: Page, address: str, sandbox: Sandbox) -> None:
    page.goto(address)
    page.get_by_role("button", name="Buy").click()
    status = page.get_by_role("status")
    expect(status).to_contain_text("Waiting for your payment. Pay until")
    link = page.get_by_role("link", name="Pay now").get_attribute("href")
    page.reload()
    page.get_by_role("button", name="Buy").click()
    expect(page.get_by_role("link", name="Pay now")).to_have_attribute("href", str(link))
    sandbox.pay(_checkout_id(link))
    sandbox.advance(minutes=1)
    expect(status).to_have_text("Paid, thank you.")


def _buys_in_an_app(api: str, sandbox: Sandbox, folder: Path) -> None:
    if shutil.which("node") is None:
        pytest.skip("node is not installed")
    (folder / "app.mjs").write_text(APP)
    with urlopen(Request(f"{api}/api/orders", method="POST")) as answer:  # noqa: S310 - the shop of this test
        pay_url = json.load(answer)["payUrl"]
    with subprocess.Popen(["node", folder / "app.mjs", pay_url], stdout=subprocess.PIPE, text=True) as app:
        assert app.stdout is not None
        sandbox.pay(_checkout_id(app.stdout.readline().strip()))
        sandbox.advance(minutes=1)
        assert app.stdout.read().strip() == "paid"
