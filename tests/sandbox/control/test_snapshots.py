"""Snapshots: the whole state as a file, and back."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import Table, tables_of_world
from tests.sandbox.actors import ACCOUNTS_URL, CONTROL_TOKEN, Merchant, Receiver, Tester
from tests.sandbox.auth.visitors import Visitor
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.databases import UsualSandbox, disconnect
from tests.sandbox.disbursements.payers import Payer

HIGH = 1_000_000
HEADERS = {"X-Sandbox-Control": CONTROL_TOKEN}


def taken(app: Flask) -> bytes:
    answer = app.test_client().get("/_sandbox/snapshot", headers=HEADERS)
    assert answer.status_code == 200, answer.text
    return bytes(answer.data)


def restores(app: Flask, content: bytes, status: int = 200) -> Any:
    answer = app.test_client().post("/_sandbox/restore", data=content, headers=HEADERS)
    assert answer.status_code == status, answer.text
    body: Any = answer.json
    return body if status == 200 else body["error"]["fault"]


def rows_of(content: bytes) -> Any:
    return json.loads(content)["state"]["tables"]


def lived_in(app: Flask, receiver: Receiver) -> str:
    """Make objects of every kind, with a waiting webhook; returns the id of an open deposit."""
    merchant, tester = Merchant(app), Tester(app)
    tester.makes_account("anna", webhookUrl=ACCOUNTS_URL)
    tester.advances(hours=3)
    receiver.answers = [500]
    tester.pays(merchant.makes_checkout())
    picked = merchant.makes_checkout(20)
    tester.picks(picked, "us_qr", reference="r/1")
    Payer(app).pays_one()
    Visitor(app).registers()
    tester.orders_fault("GET /v1/recipient", "error", times=1, statusCode=503, account="anna", share=0.5)
    off = {"inputCurrency": "USD", "outputCurrency": "EUR", "enabled": False}
    tester.does(
        "POST",
        "accounts/default/switches",
        {"conversions": [off], "paymentMethods": [{"code": "us_wire", "enabled": True}]},
    )
    tester.does("POST", "unknowns", {"checkout_status_code": "201"})
    return picked


@pytest.mark.on_each_database
def test_a_restore_brings_everything_back_and_life_goes_on(sandbox: Flask, receiver: Receiver) -> None:
    picked = lived_in(sandbox, receiver)
    merchant, tester = Merchant(sandbox), Tester(sandbox)
    before, content = tester.offset(), taken(sandbox)
    assert all(rows_of(content)[table.name] for table in tables_of_world() if table.name not in EMPTY)
    tester.pays(picked)
    tester.advances(hours=1)
    tester.does("POST", "reset")
    assert before - 60 < restores(sandbox, content)["offsetSeconds"] <= before
    assert without_time(taken(sandbox)) == without_time(content)
    assert merchant.asks_checkout().code == 201
    assert merchant.reads_deposit("r/1").data["status"] == "pending"
    (waiting,) = [webhook for webhook in tester.webhooks() if webhook["state"] == "waiting"]
    tester.advances(minutes=1)
    assert receiver.order_ids[-1] == waiting["orderId"]
    # New rows get numbers that no restored row has.
    assert tester.pays(picked)["status"] == "completed"
    Payer(sandbox).pays_one()
    Visitor(sandbox).registers(email="second@example.com")
    tester.orders_fault("webhook", "drop")
    merchant.calls("GET", "/v1/recipient")


#: Tables that no test here fills.
EMPTY = {"access_token", "payment"}


def test_a_snapshot_moves_between_sqlite_and_postgresql(
    usual_in_memory: UsualSandbox, usual_on_postgresql: UsualSandbox, receiver: Receiver
) -> None:
    here, there = (each.reset(receiver) for each in (usual_in_memory, usual_on_postgresql))
    picked = lived_in(here, receiver)
    # Numbers beyond PostgreSQL's sequence.
    content = edited(taken(here), raise_numbers)
    restores(there, content)
    assert Tester(there).pays(picked)["status"] == "completed"
    again = taken(there)
    raised = [row[0] for row in rows_of(content)["activity"]]
    assert [row[0] for row in rows_of(again)["activity"]] == [*raised, raised[-1] + 1, raised[-1] + 2]
    restores(here, again)
    assert without_time(taken(here)) == without_time(again)


def raise_numbers(state: Any) -> None:
    for name, rows in state["tables"].items():
        if Table.metadata.tables[name].columns.keys()[0] == "number":
            rows[:] = [[HIGH + place, *row[1:]] for place, row in enumerate(rows)]


def test_a_sandbox_that_was_started_otherwise_takes_seed_switches_faults_and_time_over(
    make_sandbox: MakeSandbox,
) -> None:
    source = make_sandbox()
    Tester(source).orders_fault("POST /v1/checkout", "error", times=1)
    Tester(source).advances(hours=5)
    other = create_sandbox(control_token=CONTROL_TOKEN, unknowns={"signature": "off"}, clock="frozen")
    assert restores(other, taken(source))["offsetSeconds"] > 5 * 3600 - 60
    assert world(other).unknowns["signature"] == "on"
    assert Merchant(other).asks_checkout().code == 500
    # The next identifier of the seed is the same in both.
    restores(source, taken(other))
    assert Merchant(other).makes_checkout() == Merchant(source).makes_checkout()
    Tester(other).does("POST", "reset")
    assert world(other).unknowns["signature"] == "off"
    disconnect(other)


def edited(content: bytes, edit: Callable[[Any], object]) -> bytes:
    """The snapshot with a changed state and the right digest."""
    snapshot = json.loads(content)
    edit(snapshot["state"])
    state = json.dumps(snapshot.pop("state"))
    head = json.dumps(snapshot | {"digest": sha256(state.encode()).hexdigest()})
    return f'{head[:-1]}, "state": {state}}}'.encode()


def without_time(content: bytes) -> Any:
    """The rows, without the time that has passed in between."""
    return rows_of(content) | {"world_settings": None}


@pytest.mark.parametrize(
    "spoil", [(b"payments-sandbox", b"someone-else"), (b'"version":"', b'"version":"x'), (b"}", b"")]
)
def test_a_damaged_snapshot_or_one_of_another_version_changes_nothing(
    sandbox: Flask, receiver: Receiver, spoil: tuple[bytes, bytes]
) -> None:
    lived_in(sandbox, receiver)
    content = taken(sandbox)
    assert restores(sandbox, content.replace(*spoil), status=400).startswith("is ")
    assert rows_of(taken(sandbox)) == rows_of(content)
