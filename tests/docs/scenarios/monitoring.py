"""Metrics with the page's set-up, in one process and in several."""

from __future__ import annotations

import re
from typing import Any
from unittest.mock import MagicMock

import pytest
import requests

from flask_paycheckout.testing import Sandbox
from tests.docs.conftest import MakeShop
from tests.docs.merchant import PATIENCE, Merchant, visited
from tests.docs.pages import Scene
from tests.docs.scenarios.operation import SANDBOX, START_TWO
from tests.scripted import Shop
from tests.test_metrics import figures
from tests.waiting import eventually

TOKEN = "a-long-random-text-of-the-shop"


def monitoring(scene: Scene, make_shop: MakeShop, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the page's lines, a request with Prometheus's token gets the shop's figures."""
    [install] = scene.commands()
    assert install.endswith("[metrics]'")
    monkeypatch.setenv("FLASK_PAYCHECKOUT_METRICS_TOKEN", TOKEN)
    shop = make_shop(scene["metrics.py"])
    path = re.search(r"metrics_path: (\S+)", scene["prometheus.yml"])
    assert path is not None
    browser = shop.app.test_client()
    assert browser.get(path[1]).status_code == 401
    answer = browser.get(path[1], headers={"Authorization": f"Bearer {TOKEN}"})
    assert "paycheckout_database_up 1.0" in answer.text


def tell_owner(
    scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner gets a mail about a held payment, and one about its decision."""
    server = MagicMock()
    monkeypatch.setattr("smtplib.SMTP", server)
    shop = make_shop(scene["tell.py"])
    held_id = shop.paycheckout.start("1").checkout_id
    paycheckout_sandbox.pay(held_id, "1.00")
    shop.paycheckout.settle(held_id)
    shop.paycheckout.reconcile()
    shop.paycheckout.resolve(held_id, True, by="Ada", why="close enough")
    shop.paycheckout.reconcile()
    server.assert_called_with("localhost", timeout=10)
    sent = [call.args[0] for call in server.return_value.__enter__.return_value.send_message.call_args_list]
    began, over = (f"{message['Subject']}\n{message.get_content()}" for message in sent)
    assert "1 new, 0 over\nTODAY: 1 held payment waits for your decision. Look into one" in began
    assert over == "Payments: 0 new, 1 over\nOver: 1 held payment waits for your decision.\n"


def metrics_processes(scene: Scene, merchant_with_shop: Merchant) -> None:
    """Each of two workers answers a scrape with the sum of all processes' counts, including reconcile's."""
    merchant = merchant_with_shop
    export, empty, serve, reconcile = scene.commands()
    merchant.writes("gunicorn.conf.py", scene["gunicorn.conf.py"])
    source = (merchant.folder / "shop.py").read_text()
    merchant.writes("shop.py", f"{source}\nfrom flask_paycheckout import metrics\nmetrics.init_app(app, cache=0)\n")
    merchant.environment["FLASK_PAYCHECKOUT_METRICS_TOKEN"] = TOKEN
    with merchant.running(SANDBOX, "Ctrl-C"):
        merchant.runs_program(START_TWO)
        merchant.runs(export)
        merchant.runs(empty)
        with merchant.running(serve, "Booting worker"), merchant.running(f"{reconcile} --interval 1", None):
            address = merchant.here("http://127.0.0.1:8000/paycheckout")
            visited(address)
            for _ in range(20):
                requests.post(f"{address}/webhook", data="no JSON", timeout=60)
            read = 'paycheckout_reads_total{outcome="unchanged",via="reconcile"}'
            eventually(lambda: _scraped(address)[read], PATIENCE)
            scraped = [_scraped(address) for _ in range(10)]
            assert {answer['paycheckout_webhooks_total{outcome="malformed"}'] for answer in scraped} == {20}
            assert {answer['paycheckout_checkouts{account="",status="created"}'] for answer in scraped} == {2}
    counting = {file.name for file in (merchant.folder / "metrics-of-shop").glob("counter_*.db")}
    assert len(counting) == 3, "two workers and reconcile"


def _scraped(address: str) -> dict[str, float]:
    answer = requests.get(f"{address}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60)
    assert answer.status_code == 200
    return figures(answer.text)


def observations(scene: Scene, shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"paycheckout": shop.paycheckout, "app": shop.app}
    exec(scene.code(), names)  # noqa: S102 - the page's own code
    shop.starts()
    assert capsys.readouterr().out.startswith("call POST /v1/checkout answered 0.")
