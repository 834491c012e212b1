"""The command line, as far as it needs no socket."""

from __future__ import annotations

import json

import pytest

from flask_paycheckout.sandbox.command import main
from flask_paycheckout.sandbox.unknowns import UNKNOWNS


def test_list_unknowns_prints_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-unknowns"]) == 0
    printed = capsys.readouterr().out
    for unknown in UNKNOWNS:
        assert unknown.name in printed
        assert unknown.meaning in printed


def test_list_unknowns_is_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-unknowns", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in table] == [unknown.name for unknown in UNKNOWNS]
    assert set(table[0]) == {"name", "default", "alternatives", "meaning"}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        pytest.param(["--unknown", "nothing=1"], "no unknown named 'nothing'", id="unknown-name"),
        pytest.param(["--unknown", "signature=maybe"], "Its values are: on, off", id="unknown-value"),
        pytest.param(["--webhook-url", "ftp://x"], "is no http or https address", id="webhook-url"),
        pytest.param(["--webhook-url", "http://192.0.2.1/"], "is not on this machine", id="remote-webhook"),
        pytest.param(["--database", "nonsense"], "could not start", id="database"),
    ],
)
def test_a_wrong_option_is_one_sentence_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert main(["--port", "0", *arguments]) == 2
    assert told in capsys.readouterr().err


def test_an_unknown_without_a_value_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--unknown", "signature"])
    assert "NAME=VALUE" in capsys.readouterr().err
