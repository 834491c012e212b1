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
    CommandFailed,
    Connection,
    Given,
    Shown,
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


def save_proof(sandbox: Connection, given: Given) -> Shown:
    id_ = segment(given["id"])
    content = sandbox.fetch("GET", f"disbursements/{id_}/proof")
    return _saved("proof", Path(given["output"] or f"disbursement-{id_}.pdf"), content)


def save_snapshot(sandbox: Connection, given: Given) -> Shown:
    return _saved("snapshot", Path(given["file"]), sandbox.fetch("GET", "snapshot"))


def _saved(what: str, path: Path, content: bytes) -> Shown:
    half = path.with_name(f"{path.name}.part")
    try:
        # Readable by this user only, since a snapshot holds secrets; replaced as a whole, so that no half file remains.
        half.unlink(missing_ok=True)
        with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
            opened.write(content)
        half.replace(path)
    except OSError as wrong:
        half.unlink(missing_ok=True)
        raise CommandFailed(f"The {what} cannot be written: {wrong}.", WRONG_USE) from None
    return {"file": str(path), "bytes": len(content)}, plain(str(path))


def restore_snapshot(sandbox: Connection, given: Given) -> Shown:
    restored = sandbox.call("POST", "restore", _content("snapshot", given["file"]))
    return restored, fields(restored)


def _content(what: str, file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as wrong:
        raise CommandFailed(f"The {what} cannot be read: {wrong}.", WRONG_USE) from None


def run_file(sandbox: Connection, given: Given) -> Shown:
    """Carry out the steps of a file: triggers, such as `{"event": "paid", "amount": 5, "as": "order"}`, and calls.

    A call is `{"call": "POST checkouts/$order.id/pick", ...}` with the fields of its body. `as` keeps an answer, and
    `$order.id` stands for a field of it.
    """
    kept: dict[str, Any] = {}
    answers = []
    for number, step in enumerate(_steps(_content("file", given["file"])), start=1):
        try:
            sent = _filled(step, kept)
            name, call = sent.pop("as", None), sent.pop("call", "POST trigger")
            method, _, path = call.partition(" ")
            answers.append(sandbox.call(method, path.lstrip("/"), sent))
        except CommandFailed as failed:
            raise CommandFailed(f"Step {number}: {failed}", failed.code) from None
        if name is not None:
            kept[name] = answers[-1]
    return answers, "\n".join(plain(write_json(answer)) for answer in answers)


def _steps(content: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a JSON array, or of lines of JSON."""
    try:
        lines = [line for line in content.splitlines() if line.strip()]
        whole = read_json(content if content.lstrip().startswith(b"[") else b"[%s]" % b",".join(lines))
    except ValueError as wrong:
        raise CommandFailed(f"The file is no JSON array and no JSON lines: {wrong}.", WRONG_USE) from None
    if len(whole) > MAX_STEPS or not all(isinstance(step, dict) for step in whole):
        raise CommandFailed(f"The file must have at most {MAX_STEPS} objects.", WRONG_USE)
    yield from whole


def _filled(value: Any, kept: Mapping[str, Any]) -> Any:
    if isinstance(value, dict):
        return {name: _filled(one, kept) for name, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, kept) for one in value]
    return _KEPT.sub(lambda found: value_of(kept.get(found[1]), found[2]), value) if isinstance(value, str) else value


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
    wanted = [unknown for unknown in ASSUMPTIONS if unknown.name in (only or names)]
    changes = ["", *(f"{unknown.name}={value}" for unknown in wanted for value in unknown.alternatives)]
    try:
        rows = [_run_under(program, change) for change in changes]
    except OSError as wrong:
        raise CommandFailed(f"The command cannot be run: {wrong}.", WRONG_USE) from None
    print(table(rows, ("switch", "result", "seconds")))  # noqa: T201
    return int(any(row["result"] != "passed" for row in rows))


def _run_under(command: Sequence[str], change: str) -> dict[str, Any]:
    begun = monotonic()
    environ = os.environ | {UNKNOWNS_VARIABLE: change}
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)  # noqa: S603
    result = "passed" if done.returncode == 0 else f"failed ({done.returncode})"
    row = {"switch": change or "defaults", "result": result, "seconds": f"{monotonic() - begun:.1f}"}
    if done.returncode != 0:
        shown = done.stdout.decode(errors="replace").splitlines()[-_SHOWN_LINES:]
        print(f"{row['switch']}: {result}", *shown, sep="\n", file=sys.stderr)  # noqa: T201
    return row
