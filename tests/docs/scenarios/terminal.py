"""The sandbox as a terminal drives it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import requests

from flask_paycheckout.sandbox import create_sandbox
from flask_paycheckout.sandbox.terminal.commands import main
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.testing import Sandbox
from tests.docs.pages import Scene
from tests.serving import served

_START = "python -m flask_paycheckout.sandbox --control-token control"
_PROGRAM = "python -m flask_paycheckout.sandbox "


def from_a_terminal(
    scene: Scene,
    paycheckout_sandbox: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The commands one after the other, in this process; the shell's variables are kept here."""
    start, url, token, *lines = scene.commands()
    assert (start, url.partition("=")[0], token.partition("=")[0]) == (
        _START,
        "export SANDBOX_URL",
        "export SANDBOX_CONTROL_TOKEN",
    )
    monkeypatch.chdir(tmp_path)
    with served(paycheckout_sandbox.app) as address:
        _drive(paycheckout_sandbox, address, monkeypatch)
        variables, told = _carry_out(lines, capsys)
    assert (tmp_path / "proof.pdf").read_bytes().startswith(b"%PDF")
    events = [line.split() for line in told.splitlines()]
    assert [(words[1], words[2]) for words in events if words[1] == "deposit"] == [
        ("deposit", "pending"),
        ("deposit", "completed"),
    ]
    assert [words[3] for words in events if words[1:3] == ["disbursement", "completed"]] == [
        variables["REFUND"],
        variables["PAYOUT"],
    ]


def snapshots(
    scene: Scene,
    paycheckout_sandbox: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    with served(paycheckout_sandbox.app) as address:
        _drive(paycheckout_sandbox, address, monkeypatch)
        _, told = _carry_out(scene.commands(), capsys)
    moves = [line.split()[1:3] for line in told.splitlines()]
    assert moves == [["deposit", "pending"], ["deposit", "completed"], ["webhook", "no"]]


def steps(
    scene: Scene,
    paycheckout_sandbox: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "state.json").write_text(scene["state.json"])
    with served(paycheckout_sandbox.app) as address:
        _drive(paycheckout_sandbox, address, monkeypatch)
        _, told = _carry_out(scene.commands(), capsys)
    moves = [line.split()[1:3] for line in told.splitlines() if " webhook " not in line]
    assert moves == [
        *(["deposit", "pending"], ["deposit", "completed"]),
        *(["disbursement", "pending"], ["disbursement", "pending"], ["deposit", "pending"]),
    ]


def _drive(sandbox: Sandbox, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commands find this sandbox."""
    monkeypatch.setenv("SANDBOX_URL", address)
    monkeypatch.setenv("SANDBOX_CONTROL_TOKEN", world(sandbox.app).control_token)


def _carry_out(lines: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, str], str]:
    """Carry out commands as a shell would; gives its variables, and the output of the last command."""
    variables: dict[str, str] = {}
    told = ""
    for line in lines:
        kept = re.fullmatch(r"([A-Z]+)=\$\((.*)\)", line)
        command = kept[2] if kept else line
        command = re.sub(r"\$([A-Z]+)", lambda found: variables[found[1]], command.removeprefix(_PROGRAM))
        assert main(shlex.split(command)) == 0, line
        told = capsys.readouterr().out
        if kept:
            variables[kept[1]] = told.strip()
    return variables, told


def worlds(scene: Scene) -> None:
    start, call = scene.commands()
    assert start == _START
    words = shlex.split(call)
    with served(create_sandbox(control_token="control", base_url="http://127.0.0.1:8790")) as address:
        headers = dict(words[place + 1].split(": ") for place, word in enumerate(words) if word == "-H")
        url = words[-1].replace("http://127.0.0.1:8790", address)
        made = requests.post(url, words[words.index("-d") + 1], headers=headers, timeout=30)
    assert made.status_code == 201
    assert made.json()["baseUrl"] == "http://127.0.0.1:8790/w/anna"
