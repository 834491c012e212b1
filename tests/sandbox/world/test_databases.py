"""Sandboxes side by side, on a file, shared by processes, and with concurrent calls."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from flask_paycheckout.sandbox import sandbox_clock
from tests.sandbox.actors import Merchant, Tester
from tests.sandbox.auth.visitors import EMAIL, PASSWORD, Visitor
from tests.sandbox.databases import open_sandbox

on_each_kind = pytest.mark.parametrize("database", ["memory", "file", "postgresql"], indirect=True)


@pytest.fixture
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database: in memory, or of each kind if the test is marked `on_each_kind`."""
    kind = getattr(request, "param", "memory")
    if kind == "postgresql":
        return str(request.getfixturevalue("postgres_database"))
    return "sqlite://" if kind == "memory" else f"sqlite:///{tmp_path / 'world.db'}"


def test_one_seed_gives_the_same_ids_and_another_does_not() -> None:
    def ids(seed: int) -> list[str]:
        app = open_sandbox(seed=seed)
        merchant, tester = Merchant(app), Tester(app)
        checkouts = [merchant.makes_checkout() for _ in range(3)]
        tester.pays(checkouts[0])
        tester.orders_fault("GET /v1/deposit/{id}", "error", times=100, share=0.5)
        struck = str([merchant.reads_deposit("x").code for _ in range(12)])
        login = Visitor(app).logs_in_fully(EMAIL, PASSWORD)
        return [*checkouts, struck, login["accessToken"], login["user"]["otp_code"], tester.webhooks()[0]["id"]]

    assert ids(1) == ids(1) != ids(2)
    assert len({Merchant(open_sandbox()).makes_checkout() for _ in range(2)}) == 2


def test_a_file_outlives_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    first = open_sandbox("sqlite:///world.db", seed=3)
    paid = Merchant(first).makes_checkout()
    Tester(first).pays(paid)
    Tester(first).advances(hours=2)
    again = open_sandbox(f"sqlite:///{tmp_path / 'world.db'}", seed=3)
    assert (sandbox_clock(again)() - datetime.now(UTC)).total_seconds() > 7000
    assert Merchant(again).reads_deposit(paid).data["status"] == "completed"
    assert Tester(again).offset() == 7200
    assert Merchant(again).makes_checkout() != paid


def at_once(*jobs: Callable[[], Any]) -> list[Any]:
    """The results of all jobs, in threads that start together."""
    barrier = Barrier(len(jobs))

    def run(job: Callable[[], Any]) -> Any:
        barrier.wait()
        return job()

    with ThreadPoolExecutor(len(jobs)) as threads:
        return list(threads.map(run, jobs))
