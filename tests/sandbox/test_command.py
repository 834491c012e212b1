"""The parts of the command line that need no socket."""

from __future__ import annotations

import json
import sys

import pytest

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.command import address_of, greeting
from flask_paycheckout.sandbox.terminal.commands import main


@pytest.mark.slow("programs")
def test_a_command_runs_under_each_value_of_a_switch(capsys: pytest.CaptureFixture[str]) -> None:
    """The command stands for a shop's tests: it fails if its sandbox sends the whole deposit."""
    tests = """
import sys
from flask_paycheckout.sandbox import create_sandbox
app = create_sandbox(unknowns={"payment_progress": "failed"})
sys.exit(app.extensions["paycheckout_sandbox"].unknowns["webhook_payload"] == "full")
"""
    assert main(["try-unknowns", "--only", "webhook_payload", "--", sys.executable, "-c", tests]) == 1
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["defaults", "passed"], ["webhook_payload=full", "failed"]]
    assert main(["try-unknowns", "--", "no-such-command"]) == 2
    capsys.readouterr()
    assert main(["try-unknowns", "--only", "webhook_paylod", "--", "x"]) == 2
    assert "Did you mean webhook_payload" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--unknown", "signature=maybe"], "Its values are: on, off"),
        (["--webhook-url", "http://192.0.2.1/"], "webhook_url must be an http or https address"),
        (["--trusted-proxies", "6"], "proxies must be from 0 to 5"),
        (["--worlds", "-1"], "'--worlds': -1 is not in the range"),
        (["--port", "65536"], "'--port': 65536 is not in the range"),
        (["--clock", "frozen@2026-01-01"], "clock cannot be 'frozen@2026-01-01'"),
        (["--clock", "frozen", "--database", "sqlite:///s.db"], "say at what time"),
        ([], "could not start"),
    ],
    ids=str,
)
def test_a_wrong_option_is_one_sentence_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    # The database is also unusable, so that a wrongly accepted option ends there instead of serving for ever.
    assert main(["--port", "0", "--database", "nonsense", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_greeting_has_the_lines_that_a_shop_needs() -> None:
    app = create_sandbox(control_token="known-token")
    lines = greeting(app, as_json=False).splitlines()
    assert [line.partition("=")[2] for line in lines if line.startswith("export ")] == [
        *("http://127.0.0.1:8790", "sandbox-client", "sandbox-secret-0123456789abcdef")
    ]
    assert json.loads(greeting(app, as_json=True))["controlToken"] == "known-token"
    assert "http://127.0.0.1:8790/?token=known-token" in greeting(app, as_json=False)


@pytest.mark.parametrize(
    ("host", "base"),
    [("127.0.0.1", "http://127.0.0.1:"), ("::", "http://127.0.0.1:"), ("::1", "http://[::1]:")],
)
def test_the_base_address_is_one_that_can_be_called(host: str, base: str) -> None:
    assert address_of(host, 8790) == f"{base}8790"
