"""The terminal's commands against a running sandbox: their effects, output and exit codes."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from flask_paycheckout.sandbox.terminal.commands import main
from flask_paycheckout.sandbox.terminal.connection import Connection, event, follow
from tests.sandbox.actors import CONTROL_TOKEN, Merchant, Tester
from tests.serving import served

Run = Callable[..., Any]


@pytest.fixture
def address(sandbox: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the sandbox, which the environment has together with the token."""
    with served(sandbox) as url:
        monkeypatch.setenv("SANDBOX_URL", url)
        monkeypatch.setenv("SANDBOX_CONTROL_TOKEN", CONTROL_TOKEN)
        yield url


@pytest.fixture
def run(address: str, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command, and returns its JSON output."""

    def carry_out(*arguments: str, code: int = 0) -> Any:
        assert main([*arguments, "--json"]) == code
        output = capsys.readouterr()
        assert (output.err == "") == (code == 0)
        return json.loads(output.out) if code == 0 else output.err

    return carry_out


def test_a_customer_picks_pays_fails_and_leaves(run: Run, merchant: Merchant) -> None:
    paid, failed, left = (merchant.makes_checkout() for _ in range(3))
    assert run("pick", paid, "--method", "us_qr", "--reference", "r/1")["paymentMethod"] == "us_qr"
    assert run("pay", paid, "--amount", "12.49")["deposit"]["inputAmount"] == 12.49
    run("pick", failed)
    assert run("fail", failed)["deposit"]["status"] == "failed"
    assert run("abandon", left)["offsetSeconds"] > 890
    assert run("advance", "1.5h")["offsetSeconds"] > 890 + 5400
    assert run("reset") == {"reset": True}
    assert (run("requests"), run("clock")["offsetSeconds"]) == ([], 0)


def test_accounts_faults_and_lists(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    account = run("accounts", "make", "anna", "--webhook-url", "http://127.0.0.1:9/anna")
    assert run("accounts", "show", "anna") == account
    assert run("accounts", "keys", "anna")["clientSecret"] != account["clientSecret"]
    armed = run("fault", "GET /v1/deposit/{id}", "error", "--status-code", "503", "--share", "0.5", "--account", "anna")
    assert run("fault") == [armed]
    assert (armed["statusCode"], armed["share"], armed["account"]) == (503, 0.5, "anna")
    assert run("fault", "--clear") == run("mails", "--to", "nobody@example.com") == []
    payout = run("trigger", "payout", "--account", "anna")["id"]
    assert "has no proof" in run("proof", payout, code=1)
    run("finish", payout, "completed")
    assert main(["disbursements", "--account", "anna"]) == 0
    assert "completed" in capsys.readouterr().out
    run("accounts", "remove", "anna")
    assert len(run("accounts")) == 1


def test_switches_are_changed_and_returned(run: Run) -> None:
    changed = run("unknowns", "http_status=always_200", "signature=off")
    assert [(one["name"], one["value"]) for one in changed] == [("http_status", "always_200"), ("signature", "off")]
    assert "no value 'x'" in run("unknowns", "http_status=x", code=1)
    assert all(switch["value"] == switch["startValue"] for switch in run("unknowns", "--clear"))


def test_state_and_calls_are_saved_as_files_and_restored(run: Run, merchant: Merchant, tmp_path: Path) -> None:
    paid, file = run("trigger", "paid")["id"], tmp_path / "state.json"
    file.write_text("an earlier one")
    assert run("snapshot", str(file))["bytes"] == file.stat().st_size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    run("reset")
    run("restore", str(file))
    assert merchant.reads_deposit(paid).data["status"] == "completed"
    file.write_bytes(file.read_bytes()[:-1000])
    assert "cut off" in run("restore", str(file), code=1)
    assert "cannot be read" in run("restore", str(tmp_path / "none"), code=2)
    assert "cannot be written" in run("snapshot", str(tmp_path / "none" / "state.json"), code=2)
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_of_triggers_and_calls_brings_a_sandbox_into_a_state(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text(
        """
        {"event": "checkout", "amount": 40.10, "as": "order"}

        {"call": "POST checkouts/$order.id/pick", "paymentMethod": "us_qr"}
        {"event": "paid", "id": "$order.id"}
        """
    )
    order, picked, paid = run("run", str(file))
    assert picked["deposit"]["inputAmount"] == 40.1
    assert (paid["id"], paid["status"]) == (order["id"], "completed")
    file.write_text('[{"event": "paid"}, {"event": "paid", "id": "$nobody.id"}, {"event": "paid"}]')
    assert "Step 2: " in run("run", str(file), code=2)
    assert len(run("webhooks")) == 2, "what comes after a refusal is not done"


def test_amounts_keep_their_digits_and_an_answer_is_one_line_of_ascii(
    address: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "state.json"
    file.write_text(
        """
        {"event": "checkout", "amount": 1.000000000000000001, "currency": "eth-ethereum", "as": "order"}
        {"call": "POST checkouts/$order.id/pick"}
        {"call": "POST faults", "operation": "webhook", "kind": "drop", "message": "später"}
        """
    )
    assert main(["run", str(file)]) == 0
    _, picked, armed = capsys.readouterr().out.splitlines()
    assert '"inputAmount": 1.000000000000000001, ' in picked
    assert armed == '{"id": 1, "operation": "webhook", "kind": "drop", "times": 1, "message": "sp\\u00e4ter"}'


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["pay", "nothing?x"], 1, "checkout does not exist"),
        (["clock", "--control-token", "wrong"], 4, "SANDBOX_CONTROL_TOKEN"),
        (["clock", "--url", "http://127.0.0.1:9"], 3, "No sandbox answers"),
        (["trigger", "paied"], 1, "Did you mean paid"),
        (["pay", "x", "--amount", "much"], 1, "amount must be a positive number"),
        (["fault", "webhook", "drop", "--share", "nan"], 1, "share must be a number"),
    ],
    ids=lambda argument: argument if isinstance(argument, str) else "",
)
def test_a_failing_command_prints_one_sentence_and_has_an_exit_code(
    address: str, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, message: str
) -> None:
    assert main(arguments) == code
    output = capsys.readouterr()
    assert message in output.err
    assert (output.out, output.err.count("\n"), CONTROL_TOKEN in output.err) == ("", 1, False)
    assert main([*arguments, "--json"]) == code
    problem = json.loads(capsys.readouterr().err)
    assert (problem["exitCode"], message in problem["error"]) == (code, True)


def test_a_call_is_signed_by_an_account_and_its_answer_printed(
    address: str, tester: Tester, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    tester.makes_account("anna")
    order = ("--data", '{"inputCurrency": "USD", "inputAmount": 12.50}')
    assert main(["call", "POST", "/v1/checkout", "--account", "anna", *order]) == 0
    assert json.loads(capsysbinary.readouterr().out)["statusCode"] == 200
    assert [request["account"] for request in tester.requests()] == ["anna"]
    assert main(["call", "GET", "/v1/deposit/nothing"]) == 1
    assert b'"Deposit not found"' in capsysbinary.readouterr().out


@pytest.mark.parametrize(
    "switches",
    [
        ("signature_formula=request_base64", "timestamp_unit=milliseconds", "authorization_format=raw"),
        ("signature_formula=timestamp_and_body", "timestamp_unit=iso8601"),
    ],
)
def test_a_call_is_signed_as_the_switches_say(run: Run, switches: tuple[str, ...]) -> None:
    run("unknowns", *switches)
    assert main(["call", "GET", "/v1/recipient"]) == 0
    assert main(["call", "GET", "/v1/disbursement/fiat/payment-method"]) == 0


def test_tail_is_filtered(run: Run, tester: Tester, merchant: Merchant, capsys: pytest.CaptureFixture[str]) -> None:
    tester.does("PUT", "webhook-endpoint", {"url": None})
    merchant.reads_deposit("nothing")
    tester.pays(merchant.makes_checkout())
    for option, value, expected in (
        ("--kind", "deposit", ["pending", "completed"]),
        ("--path", "/v1/deposit", ["404"]),
        ("--kind", "webhook", ["no_endpoint"]),
    ):
        assert main(["tail", "--seconds", "0", "--json", option, value]) == 0
        assert [json.loads(line)["outcome"] for line in capsys.readouterr().out.splitlines()] == expected


def test_tail_tells_every_event_once_and_goes_on_after_a_reset(
    address: str, merchant: Merchant, tester: Tester
) -> None:
    first = merchant.makes_checkout()
    payout = partial(tester.does, "POST", "trigger", {"event": "payout"})
    things: list[Callable[[], object]] = [
        partial(tester.pays, first),
        lambda: None,
        payout,
        *[lambda: None] * 2,
        # Between two polls, so that the numbers are the same as before.
        lambda: (tester.does("POST", "reset"), payout()),
        lambda: None,
    ]

    def sleep(seconds: float) -> None:
        if things:
            things.pop(0)()

    followed = follow(Connection(address, CONTROL_TOKEN), 10, sleep=sleep)
    events = [(row["kind"], row["outcome"], event(row)) for row in islice(followed, 8)]
    assert "POST /v1/checkout" in events[0][2]
    assert [shown[:2] for shown in events] == [
        *(("call", "200"), ("deposit", "pending"), ("deposit", "completed"), ("webhook", "200")),
        *[("disbursement", "pending")] * 4,
    ]
