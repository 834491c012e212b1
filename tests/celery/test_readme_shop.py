"""README's shop with Celery, as it stands there: webhooks become tasks, and beat runs reconcile."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from werkzeug.serving import make_server

from flask_paycheckout.sandbox import create_sandbox
from tests.celery.processes import Redis, Worker, eventually
from tests.test_readme import README, TOKEN, commands, free_port, snippet


@pytest.fixture
def sandbox() -> Iterator[str]:
    """A sandbox on a socket that sends no webhooks by itself; gives its address."""
    port = free_port()
    base_url = f"http://127.0.0.1:{port}"
    server = make_server("127.0.0.1", port, create_sandbox(base_url=base_url, control_token=TOKEN), threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield base_url
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def folder(tmp_path: Path, broker: Redis) -> Path:
    """The shop's folder, with the broker of this test and a faster beat in it."""
    source = snippet("celery").replace("redis://localhost", broker.url).replace('"schedule": 10', '"schedule": 1')
    assert source.count(broker.url) == source.count('"schedule": 1,') == 1
    (tmp_path / "shop.py").write_text(snippet("shop.py") + "\n" + source)
    return tmp_path


@pytest.mark.parametrize("found_by", ["webhook", "reconcile"])
def test_the_shop_with_celery_takes_a_payment(folder: Path, sandbox: str, found_by: str) -> None:
    environment = {
        "FLASK_PAYCHECKOUT_BASE_URL": sandbox,
        "FLASK_PAYCHECKOUT_CLIENT_ID": "sandbox-client",
        "FLASK_PAYCHECKOUT_CLIENT_SECRET": "sandbox-secret-0123456789abcdef",
        "FLASK_PAYCHECKOUT_DEFER_WEBHOOKS": "1",
        "FLASK_DEBUG": "1",
    }

    def python(code: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def story() -> Any:
        told = python(
            "from shop import *; import json; app.app_context().push();"
            " print(json.dumps(paycheckout.explain('1').as_dict()))"
        )
        return json.loads(told)

    make_order = next(line for line in commands() if line.startswith("python -c ")).split('"')[1]
    python(make_order)
    checkout_id = python(
        "from shop import *; app.app_context().push(); print(paycheckout.start('1').checkout_id)"
    ).strip()
    control = {"X-Sandbox-Control": TOKEN}
    paid = f"{sandbox}/_sandbox/checkouts/{checkout_id}/pay"
    requests.post(paid, json={}, headers=control, timeout=60).raise_for_status()
    options = ["--beat"] if found_by == "reconcile" else []
    worker = Worker(folder, "shop:celery_app", environment, *options, cwd=folder)
    try:
        if found_by == "webhook":
            answer = python(
                "from shop import *;"
                f" print(app.test_client().post('/paycheckout/webhook', json={{'orderId': '{checkout_id}'}}).status)"
            )
            assert answer == "200 OK\n"
        eventually(lambda: story()["status"] == "paid")
    finally:
        worker.stops()
    [attempt] = story()["attempts"]
    assert attempt["found_by"] == found_by
    assert [event["name"] for event in story()["events"] if event["delivered_at"]] == ["checkout_created", "order_paid"]


def test_the_command_is_the_one_that_the_worker_is_started_with() -> None:
    shown = re.search(r"^celery -A (\S+) worker --beat$", README, re.MULTILINE)
    assert shown is not None
    assert shown[1] == "shop:celery_app"
