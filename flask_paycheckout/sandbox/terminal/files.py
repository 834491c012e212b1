"""Commands that need the user's own machine: files of snapshots, proofs and steps, and a shop's tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from flask_paycheckout.sandbox.terminal.connection import (
    WRONG_USE,
    Arguments,
    CommandFailed,
    Connection,
    Result,
    fields,
    plain,
    segment,
    table,
    value_of,
)
from flask_paycheckout.sandbox.world.assumptions import ASSUMPTIONS, UNKNOWNS_VARIABLE, did_you_mean
from flask_paycheckout.sandbox.world.exact_json import read_json, write_json

MAX_STEPS = 10_000
"""The most steps of a file that is run."""
_KEPT = re.compile(r"\$(\w+)\.([\w.]+)")


def save_proof(sandbox: Connection, arguments: Arguments) -> Result:
    id_ = segment(arguments["id"])
    content = sandbox.fetch("GET", f"disbursements/{id_}/proof")
    return _saved("proof", Path(arguments["output"] or f"disbursement-{id_}.pdf"), content)


def save_snapshot(sandbox: Connection, arguments: Arguments) -> Result:
    return _saved("snapshot", Path(arguments["file"]), sandbox.fetch("GET", "snapshot"))


def _saved(what: str, path: Path, content: bytes) -> Result:
    half = path.with_name(f"{path.name}.part")
    try:
        # Readable by this user only, since a snapshot holds secrets; replaced as a whole, so that no half file remains.
        half.unlink(missing_ok=True)
        with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(content)
        half.replace(path)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise CommandFailed(f"The {what} cannot be written: {error}.", WRONG_USE) from None
    return {"file": str(path), "bytes": len(content)}, plain(str(path))


def restore_snapshot(sandbox: Connection, arguments: Arguments) -> Result:
    restored = sandbox.call("POST", "restore", _content("snapshot", arguments["file"]))
    return restored, fields(restored)


def _content(what: str, file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise CommandFailed(f"The {what} cannot be read: {error}.", WRONG_USE) from None


def run_file(sandbox: Connection, arguments: Arguments) -> Result:
    """Carry out the steps of a file: triggers, such as `{"event": "paid", "amount": 5, "as": "order"}`, and calls.

    A call is `{"call": "POST checkouts/$order.id/pick", ...}` with the fields of its body. `as` keeps an answer, and
    `$order.id` stands for a field of it.
    """
    answers_by_name: dict[str, Any] = {}
    answers = []
    for number, step in enumerate(_steps(_content("file", arguments["file"])), start=1):
        try:
            values = _filled(step, answers_by_name)
            name, call = values.pop("as", None), values.pop("call", "POST trigger")
            method, _, path = call.partition(" ")
            answers.append(sandbox.call(method, path.lstrip("/"), values))
        except CommandFailed as error:
            raise CommandFailed(f"Step {number}: {error}", error.code) from None
        if name is not None:
            answers_by_name[name] = answers[-1]
    return answers, "\n".join(plain(write_json(answer)) for answer in answers)


def _steps(content: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a JSON array, or of lines of JSON."""
    try:
        lines = [line for line in content.splitlines() if line.strip()]
        steps = read_json(content if content.lstrip().startswith(b"[") else b"[%s]" % b",".join(lines))
    except ValueError as error:
        raise CommandFailed(f"The file is no JSON array and no JSON lines: {error}.", WRONG_USE) from None
    if len(steps) > MAX_STEPS or not all(isinstance(step, dict) for step in steps):
        raise CommandFailed(f"The file must have at most {MAX_STEPS} objects.", WRONG_USE)
    yield from steps


def _filled(value: Any, answers_by_name: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(item, answers_by_name) for name, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, answers_by_name) for item in value]
    return (
        _KEPT.sub(lambda match: value_of(answers_by_name.get(match[1]), match[2]), value)
        if isinstance(value, str)
        else value
    )


_SHOWN_LINES = 20


def try_unknowns(program: Sequence[str], only: Sequence[str]) -> int:
    """Run a shop's tests under the defaults and each other value, and print a table; 1 when they failed under any.

    Each run is a process of its own, with the switch in an environment variable. Every sandbox in that process uses it,
    such as the one of the fixture `paycheckout_sandbox`.

    :raises CommandFailed: there is no such switch, or no such program.
    """
    names = [unknown.name for unknown in ASSUMPTIONS]
    for name in only:
        if name not in names:
            raise CommandFailed(f"There is no unknown named {name!r}.{did_you_mean(name, names)}", WRONG_USE)
    unknowns = [unknown for unknown in ASSUMPTIONS if unknown.name in (only or names)]
    changes = ["", *(f"{unknown.name}={value}" for unknown in unknowns for value in unknown.alternatives)]
    try:
        rows = [_run_under(program, change) for change in changes]
    except OSError as error:
        raise CommandFailed(f"The command cannot be run: {error}.", WRONG_USE) from None
    print(table(rows, ("switch", "result", "seconds")))  # noqa: T201
    return int(any(row["result"] != "passed" for row in rows))


def _run_under(command: Sequence[str], change: str) -> dict[str, Any]:
    start = monotonic()
    environ = os.environ | {UNKNOWNS_VARIABLE: change}
    process = subprocess.run(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)  # noqa: S603
    result = "passed" if process.returncode == 0 else f"failed ({process.returncode})"
    row = {"switch": change or "defaults", "result": result, "seconds": f"{monotonic() - start:.1f}"}
    if process.returncode != 0:
        lines = process.stdout.decode(errors="replace").splitlines()[-_SHOWN_LINES:]
        print(f"{row['switch']}: {result}", *lines, sep="\n", file=sys.stderr)  # noqa: T201
    return row
