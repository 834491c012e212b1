"""Switches that are changed while a sandbox runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.control.sender import run_due
from flask_paycheckout.sandbox.world.context import assumption, world
from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.databases import disconnect, open_sandbox


def values(switches: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """The current value and the start value of each switch, by name."""
    return {switch["name"]: (switch["value"], switch["startValue"]) for switch in switches}


@pytest.mark.on_each_database
def test_a_change_counts_from_the_next_call_on_until_it_is_taken_back(make_sandbox: MakeSandbox) -> None:
    sandbox = make_sandbox(recipient_not_found="400")
    merchant, tester = Merchant(sandbox), Tester(sandbox)

    def answered() -> list[int]:
        return [merchant.calls("GET", path).http_status for path in ("/v1/deposit/none", "/v1/recipient/none")]

    changed = tester.does("POST", "unknowns", {"http_status": "always_200"})
    assert values(changed) == values(tester.does("GET", "unknowns"))
    assert answered() == [200, 200]
    changed = tester.does("POST", "unknowns", {"recipient_not_found": "404", "http_status": None})
    assert values(changed)["recipient_not_found"] == ("404", "400")
    assert answered() == [404, 404]
    assert values(tester.does("DELETE", "unknowns"))["recipient_not_found"] == ("400", "400")
    assert answered() == [404, 400]


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"http_status": "mirror", "nothing": "on"}, "nothing"),
        ({"signature": "off", "http_status": "sometimes"}, "http_status"),
        ([], "body"),
    ],
)
def test_an_unknown_switch_or_value_is_refused_and_nothing_is_changed(tester: Tester, sent: Any, field: str) -> None:
    assert tester.refuses("POST", "unknowns", sent) == (400, field)
    assert all(value == start for value, start in values(tester.does("GET", "unknowns")).values())


def test_processes_on_one_database_and_those_that_start_later_agree(tmp_path: Path) -> None:
    def starts() -> Flask:
        return open_sandbox(f"sqlite:///{tmp_path}/s.db", seed=1)

    here, there = starts(), starts()
    Tester(here).does("POST", "unknowns", {"checkout_status_code": "201"})
    assert Merchant(there).asks_checkout().code == 201
    Tester(there).does("POST", "unknowns", {"register_status_code": "201"})
    with here.app_context():
        run_due()
        assert assumption("register_status_code") == "201"
    later = starts()
    assert world(later).unknowns["checkout_status_code"] == "201"
    Tester(later).does("POST", "reset")
    assert Merchant(here).asks_checkout().code == 200
    for app in (here, there, later):
        disconnect(app)
