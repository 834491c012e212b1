"""The shop's books: whether the service agrees with them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

from click.testing import Result

from flask_paycheckout.testing import Sandbox
from tests.docs.conftest import MakeShop
from tests.docs.pages import Scene


def auditing(scene: Scene, make_shop: MakeShop, paycheckout_sandbox: Sandbox) -> None:
    """Both agree, until money comes that nobody here notices."""
    period, kept, all_of_it = scene.commands()
    shop = make_shop()
    checkout_id = str(shop.paycheckout.start("1").checkout_id)
    assert _runs(shop, period).stdout.startswith("compared 0: agreed 0, differs 0")
    assert _runs(shop, kept).exit_code == 0
    assert Path("october.jsonl").read_text().count("\n") > 1
    assert _runs(shop, all_of_it).exit_code == 0
    paycheckout_sandbox.pay(checkout_id)
    ran = _runs(shop, all_of_it)
    (finding,) = json.loads(ran.stdout)
    assert (ran.exit_code, finding["verdict"], finding["here"]["status"]) == (1, "differs", "created")
    assert "flask paycheckout reconcile" in finding["remedy"]


def _runs(shop: Any, line: str) -> Result:
    command = shlex.split(line)
    ran: Result = shop.app.test_cli_runner().invoke(args=command[command.index("paycheckout") :])
    return ran
