"""The sandbox as a terminal drives it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

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
        told = _carry_out(lines, capsys)
    assert (tmp_path / "proof.pdf").read_bytes().startswith(b"%PDF")
    assert [line.split()[1:3] for line in told.splitlines()].count(["disbursement", "completed"]) == 2


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
        assert _carry_out(scene.commands(), capsys)


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
        assert _carry_out(scene.commands(), capsys)


def _drive(sandbox: Sandbox, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the commands find this sandbox."""
    monkeypatch.setenv("SANDBOX_URL", address)
    monkeypatch.setenv("SANDBOX_CONTROL_TOKEN", world(sandbox.app).control_token)


def _carry_out(lines: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Carry out commands as a shell would, and give the output of the last one."""
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
    return told
