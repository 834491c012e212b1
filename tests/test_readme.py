"""Everything that README.md shows is run as it stands there."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests
from werkzeug.serving import make_server

from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.sandbox import create_sandbox

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
TOKEN = "readme-control"
BIN = Path(sys.executable).parent


def snippet(name: str, language: str = "python", page: str = README) -> str:
    """The block below the comment that names it."""
    found = re.search(rf"<!-- {re.escape(name)} -->\n```{language}\n(.*?)```", page, re.DOTALL)
    assert found is not None, f"the page has no snippet {name}"
    return found.group(1)


def commands() -> list[str]:
    """Every line of the console blocks."""
    blocks = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture
def sandbox() -> Iterator[str]:
    """A sandbox on a socket; gives its address."""
    port = free_port()
    base_url = f"http://127.0.0.1:{port}"
    server = make_server("127.0.0.1", port, create_sandbox(base_url=base_url, control_token=TOKEN), threaded=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield base_url
    server.shutdown()
    thread.join()
    server.server_close()


def run(folder: Path, *arguments: str, base_url: str = "", code: int = 0) -> str:
    """A command in an empty folder of a new user's, with README's settings."""
    env = os.environ | {
        "FLASK_PAYCHECKOUT_BASE_URL": base_url,
        "FLASK_PAYCHECKOUT_CLIENT_ID": "sandbox-client",
        "FLASK_PAYCHECKOUT_CLIENT_SECRET": "sandbox-secret-0123456789abcdef",
        "FLASK_DEBUG": "1",
        "PYTEST_ADDOPTS": "",
    }
    done = subprocess.run(
        arguments,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def test_the_shops_own_test_passes(tmp_path: Path) -> None:
    (tmp_path / "test_shop.py").write_text(snippet("test_shop.py"))
    assert "1 passed" in run(tmp_path, sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_shop.py")


def test_the_client_speaks_to_the_sandbox(tmp_path: Path, sandbox: str) -> None:
    source = snippet("client.py").replace("http://127.0.0.1:8790", sandbox)
    assert run(tmp_path, sys.executable, "-c", source) == "nobody has picked a payment method yet\n"


@pytest.fixture
def started_sandbox() -> Iterator[str]:
    """The sandbox as README starts it for paying out, but on a free port; gives its address."""
    (line,) = [line for line in commands() if "--control-token" in line]
    arguments = [sys.executable, *line.split()[1:], "--port", "0", "--json"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["baseUrl"]
        process.terminate()


def pays_out(folder: Path, base_url: str, code: int = 0) -> str:
    (folder / "payout.py").write_text(snippet("payout.py").replace("http://127.0.0.1:8790", base_url))
    return run(folder, sys.executable, "-W", "error", "payout.py", code=code)


def orders_fault(base_url: str, kind: str) -> None:
    fault = {"operation": "POST /v2/disbursement/fiat", "kind": kind, "times": 1}
    headers = {"X-Sandbox-Control": "control"}
    requests.post(f"{base_url}/_sandbox/faults", json=fault, headers=headers, timeout=60).raise_for_status()


def payouts(base_url: str) -> list[tuple[str | None, str]]:
    """Reference and status of every payout that the sandbox knows."""
    with PaymentsClient(
        base_url, client_id="sandbox-client", client_secret="sandbox-secret-0123456789abcdef"
    ) as client:
        return [(found.reference, found.status) for found in client.fiat_disbursements.iterate(limit=100)]


@pytest.mark.parametrize("fault", [None, "lose_response"])
def test_a_batch_is_paid_out_once(tmp_path: Path, started_sandbox: str, fault: str | None) -> None:
    if fault is not None:
        orders_fault(started_sandbox, fault)
    told = pays_out(tmp_path, started_sandbox)
    batch = [f"fee-{number}" for number in range(100)]
    assert sorted(re.findall(r"^(fee-\d+) 12\.50 USD completed$", told, re.MULTILINE)) == sorted(batch)
    assert "Transfer proof" in told
    assert "Reference fee-" in told
    pays_out(tmp_path, started_sandbox, code=1)
    assert sorted(payouts(started_sandbox)) == sorted((reference, "completed") for reference in batch)


def test_a_batch_that_was_not_carried_out_can_be_sent_again(tmp_path: Path, started_sandbox: str) -> None:
    orders_fault(started_sandbox, "drop")
    pays_out(tmp_path, started_sandbox, code=1)
    assert payouts(started_sandbox) == []
    assert "Transfer proof" in pays_out(tmp_path, started_sandbox)
    assert len(payouts(started_sandbox)) == 100


def test_the_unknowns_are_listed(tmp_path: Path) -> None:
    assert "http_status" in run(tmp_path, sys.executable, "-m", "flask_paycheckout.sandbox", "--list-unknowns")


def test_every_command_shown_is_one_that_a_test_runs() -> None:
    """A new line in README wants a test: here, or where the demo and the sandbox are started as processes."""
    run_elsewhere = {
        "python3 -m venv .venv && .venv/bin/pip install -e '.[demo]' && .venv/bin/python -m example_shop",
        "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest",
        "python3 -m venv .venv && . .venv/bin/activate && pip install '../flask_paycheckout[sandbox]'",
        "pip install '../flask_paycheckout[postgres]' gunicorn",
        "celery -A shop:celery_app worker --beat",
        "flask --app shop db init",
        'flask --app shop db migrate -m "Tables of flask_paycheckout"',
        "flask --app shop db upgrade",
        "python -m tests.soak --orders 10000 --kills 500 --minutes 30 --database postgresql",
        "python -m tests.benchmarks.reconcile --database postgresql --stored 10000 100000 1000000 --latency 0",
        "python -m tests.benchmarks --quick",
        "python -m tests.benchmarks --peers --markdown",
    }
    quick_start = {
        "flask paycheckout sandbox --webhook-url http://127.0.0.1:5000/paycheckout/webhook",
        "flask --app shop run",
        "flask --app shop paycheckout reconcile --watch",
        "flask --app shop paycheckout show 1",
        "flask --app shop paycheckout doctor",
    }
    production = {
        "set -a; . ./shop.env; set +a",
        "gunicorn --workers 4 --threads 4 --bind 127.0.0.1:8000 shop:app",
    }
    run_here = {
        "python -m flask_paycheckout.sandbox --list-unknowns",
        "python -m flask_paycheckout.sandbox --control-token control",
        "python payout.py",
    }
    shown = {line for line in commands() if not line.startswith(("export ", "python -c "))}
    assert shown == run_elsewhere | quick_start | production | run_here


def test_every_snippet_has_a_name_and_a_test_that_takes_it() -> None:
    named = re.findall(r"<!-- ([\w.-]+) -->\n```(?:python|ini|nginx)\n", README)
    assert len(named) == len(set(named)) == len(re.findall(r"(?m)^```(?:python|ini|nginx)$", README))
    tests = "\n".join(file.read_text() for file in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in named if not re.search(rf"""["']{re.escape(name)}["']""", tests)] == []
