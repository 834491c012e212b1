"""The sandbox, controlled from a terminal."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from flask_paycheckout.sandbox.terminal.commands import main
from tests.docs.pages import Scene

_START = "python -m flask_paycheckout.sandbox --control-token control"
_PROGRAM = "python -m flask_paycheckout.sandbox "


def from_a_terminal(scene: Scene, sandbox_in_terminal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run the commands one after the other in this process, which keeps the shell's variables."""
    start, url, token, *lines = scene.commands()
    assert (start, url.partition("=")[0], token.partition("=")[0]) == (
        _START,
        "export SANDBOX_URL",
        "export SANDBOX_CONTROL_TOKEN",
    )
    output = _carry_out(lines, capsys)
    assert (sandbox_in_terminal / "proof.pdf").read_bytes().startswith(b"%PDF")
    assert [line.split()[1:3] for line in output.splitlines()].count(["disbursement", "completed"]) == 2


def snapshots(scene: Scene, sandbox_in_terminal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _carry_out(scene.commands(), capsys)


def steps(scene: Scene, sandbox_in_terminal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sandbox_in_terminal / "state.json").write_text(scene["state.json"])
    assert _carry_out(scene.commands(), capsys)


def _carry_out(lines: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Run commands like a shell; returns the output of the last one."""
    variables: dict[str, str] = {}
    output = ""
    for line in lines:
        kept = re.fullmatch(r"([A-Z]+)=\$\((.*)\)", line)
        command = kept[2] if kept else line
        command = re.sub(r"\$([A-Z]+)", lambda match: variables[match[1]], command.removeprefix(_PROGRAM))
        assert main(shlex.split(command)) == 0, line
        output = capsys.readouterr().out
        if kept:
            variables[kept[1]] = output.strip()
    return output
