"""Run by itself: somebody buys a jar, and the owner looks at every page and pays whom there is to pay.

`python buying.py FOLDER ...` tries the `example_shop` in each folder, in a process each; prints a line for each with
the shop's path and what was seen of it. What they have in common is imported once, before the processes part.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from pathlib import Path

import requests  # noqa: F401 - early, for all of them
from flask import Flask
from flask_sqlalchemy import SQLAlchemy

from flask_paycheckout import PayCheckout
from flask_paycheckout.sandbox import sandbox_clock
from flask_paycheckout.testing import Sandbox

JARS = ("northern-lights", "first-snow", "small-rainbow")


def main(folders: list[str]) -> int:
    warm_up()
    failed = 0
    for folder in folders:
        child = os.fork()
        if not child:
            sys.path.insert(0, folder)
            buy(f"{folder}/shop.sqlite")
            sys.exit(0)
        failed += os.waitpid(child, 0)[1] != 0
    return 1 if failed else 0


def warm_up() -> None:
    """What every process would load and make for itself."""
    sandbox, app, db = Sandbox(), Flask("warm"), SQLAlchemy()
    app.config.update(sandbox.config, TESTING=True, SECRET_KEY="warm", SQLALCHEMY_DATABASE_URI="sqlite://")
    db.init_app(app)
    PayCheckout().init_app(app, db, transport=sandbox.transport)


def buy(database: str) -> None:
    example_shop = importlib.import_module("example_shop")
    paycheckout: PayCheckout = importlib.import_module("example_shop.payments").paycheckout
    sandbox = Sandbox()
    settings = {
        "TESTING": True,
        "SECRET_KEY": "a key for tests only",
        "OWNER_PASSWORD": "a fair wind",
        "SQLALCHEMY_DATABASE_URI": f"sqlite:///{database}",
        "PAYCHECKOUT_PUBLIC_URL": "http://localhost",
    }
    shop = example_shop.create_app(
        settings | sandbox.config, transport=sandbox.transport, clock=sandbox_clock(sandbox.app)
    )
    browser = shop.test_client()
    pages: list[str] = []
    order = ""

    def see(path: str) -> str:
        answer = browser.get(path, follow_redirects=True)
        assert answer.status_code == 200, f"{path}: {answer.status}"
        pages.append(path.replace(order, "/orders/ID") if order else path)
        return str(answer.text)

    def send(path: str, **fields: str) -> str:
        token = re.search(r'name="csrf" value="([^"]+)"', see("/jars/first-snow"))
        assert token
        answer = browser.post(path, data=fields | {"csrf": token[1]})
        assert answer.status_code == 303, f"{path}: {answer.status} {answer.text}"
        return str(answer.location)

    for jar in JARS:
        send("/basket/add", slug=jar, quantity="2")
    order = send("/orders/", name="Ada", email="ada@example.com")
    button = re.search(r'action="([^"]*paycheckout/orders/[^"]+)"', see(order))
    assert button
    paid = browser.post(button[1], headers={"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"})
    sandbox.pay(paid.location.rsplit("/", 1)[1])
    sandbox.deliver_to(browser)
    assert "Paid, thank you!" in see(order)
    with shop.app_context():
        assert paycheckout.order_status(order.rsplit("/", 1)[1]) == "paid"

    send("/owner/login", password="a fair wind")
    for rule in sorted(rule.rule for rule in shop.url_map.iter_rules() if not rule.arguments):
        if rule.startswith("/owner/") and rule.endswith(("/", "/payments")):
            see(rule)
    for act in ("/owner/payouts/pay", "/owner/payouts/pay"):
        if any(rule.rule == act for rule in shop.url_map.iter_rules()):
            send(act)
            pages.append(act)
            see(act.removesuffix("pay"))
    for path in ("/", "/basket/", "/jars/north-wind"):
        see(path)
    if "shop" in shop.cli.commands:
        pages.append("flask_shop_payout")
        assert shop.test_cli_runner().invoke(args=["shop", "payout"]).exit_code == 0
    print(Path(str(example_shop.__file__)).parent, *pages)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
