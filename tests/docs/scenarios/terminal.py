"""The sandbox as a terminal drives it."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from flask_paycheckout.sandbox.command import main
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
    start, *lines = scene.commands()
    assert start == _START
    monkeypatch.chdir(tmp_path)
    variables: dict[str, str] = {}
    told = ""
    with served(paycheckout_sandbox.app) as address:
        for line in lines:
            if line.startswith("export "):
                name, _, _ = line.removeprefix("export ").partition("=")
                own = {"SANDBOX_URL": address, "SANDBOX_CONTROL_TOKEN": world(paycheckout_sandbox.app).control_token}
                monkeypatch.setenv(name, own[name])
                continue
            kept = re.fullmatch(r"([A-Z]+)=\$\((.*)\)", line)
            command = kept[2] if kept else line
            command = re.sub(r"\$([A-Z]+)", lambda found: variables[found[1]], command.removeprefix(_PROGRAM))
            assert main(shlex.split(command)) == 0, line
            told = capsys.readouterr().out
            if kept:
                variables[kept[1]] = told.strip()
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
