"""docs/held-payments.md: its receiver hears of a decision, its commands run, and its table knows every reason."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flask_paycheckout import payment_resolved
from tests.scripted import Shop
from tests.test_cli import runs

PAGE = (Path(__file__).parent.parent / "docs" / "held-payments.md").read_text()


def commands() -> list[list[str]]:
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    return [shlex.split(line)[2:] for block in blocks for line in block.splitlines()]


def test_the_receiver_of_the_page_hears_of_a_decision(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    (source,) = re.findall(r"<!-- held/decided.py -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    order = SimpleNamespace(note="")
    db = SimpleNamespace(session=SimpleNamespace(get=lambda model, order_id: order))
    names: dict[str, Any] = {"payment_resolved": payment_resolved, "db": db, "Order": None}
    exec(source, names)  # noqa: S102 - the page's own code
    try:
        shop.resolves(shop.has_held(), accept=False)
    finally:
        payment_resolved.disconnect(names["note_decision"])
    assert order.note == "Ada rejected a payment: seen on the statement"


def test_the_commands_of_the_page_run(shop: Shop) -> None:
    done, kept, fill = commands()
    first, second = shop.has_held("o-1"), shop.has_held("o-2")
    for command, checkout_id in ((done, first), (kept, second)):
        shop.resolves(checkout_id, accept=False)
        ran = runs(shop, *(checkout_id if word == "CHECKOUT_ID" else word for word in command))
        assert ran.exit_code == 0, ran.output
    assert [shop.attempt(checkout_id).payback for checkout_id in (first, second)] == ["paid_back", "kept"]
    assert runs(shop, *fill).exit_code == 0
