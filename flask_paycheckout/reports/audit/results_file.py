"""The file that keeps an audit's findings, so that one that was stopped or killed goes on where it was.

One JSON value a line: first what is audited, then findings, and after each page of them the place that was reached.
Whatever stands behind the last such place was not finished, and is cut off.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from io import BufferedRandom
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from flask_paycheckout.reports.audit.audit import FIRST, LAST, Batch, Place
from flask_paycheckout.reports.audit.findings import Finding

__all__ = ["ResultsFile", "UnusableFile"]

_VERSION = 1
_BEGINNING = b'{"audit"'


class UnusableFile(Exception):
    """The file cannot be used; the message says why."""


class ResultsFile:
    """One audit's file, made when it does not exist.

    :raises UnusableFile: it is something else, or another process writes to it.
    :raises OSError: it cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.place: Place = FIRST
        """The place that was reached."""

        self.compared = 0
        """The number of rows that were compared up to there."""

        self.about: Mapping[str, Any] | None = None
        """What is audited; None in a new file."""

        # It names orders and sums, which are nobody else's business.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self._file: BufferedRandom = os.fdopen(descriptor, "r+b")
        try:
            _lock(descriptor, path)
            self._end = self._read_places()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def finished(self) -> bool:
        """Whether the audit came to its end."""
        return self.place == LAST

    def begin(self, about: Mapping[str, Any]) -> None:
        """Write what is audited into a new file."""
        self._file.truncate(0)
        self._write([{"audit": _VERSION, **about}])
        self.about = about

    def findings(self) -> Iterator[Finding]:
        """The findings up to the place that was reached."""
        self._file.seek(0)
        while self._file.tell() < self._end:
            line = json.loads(self._file.readline())
            if "finding" in line:
                yield replace(Finding.of_dict(line["finding"]), row=line["row"])

    def add(self, batch: Batch) -> None:
        """Keep findings, and the place after them."""
        self.compared += batch.compared
        lines: list[dict[str, Any]] = [{"finding": one.as_dict(), "row": one.row} for one in batch.findings]
        reached = {"step": batch.place.step, "after": batch.place.after, "compared": self.compared}
        self._write([*lines, {"reached": reached}])

    def _write(self, lines: Sequence[Mapping[str, Any]]) -> None:
        self._file.seek(0, os.SEEK_END)
        self._file.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        self._file.flush()
        self._end = self._file.tell()

    def _read_places(self) -> int:
        """Find the last place; the position behind it, where the file is cut off."""
        first = self._file.readline()
        if not first or (first.startswith(_BEGINNING) and not first.endswith(b"\n")):
            # A new file, or one whose first line was not written whole.
            return 0
        try:
            about = json.loads(first)
            version = about.pop("audit")
        except (ValueError, KeyError, AttributeError, TypeError):
            raise self._unusable() from None
        if version != _VERSION or set(about) != {"from", "to", "account", "started"}:
            raise UnusableFile(f"{self._path} was written by another version; give another file.")
        self.about = about
        end = self._file.tell()
        while (line := self._file.readline()).endswith(b"\n"):
            if line.startswith(b'{"reached"'):
                try:
                    reached = json.loads(line)["reached"]
                    self.place, self.compared = Place(reached["step"], reached["after"]), reached["compared"]
                except (ValueError, KeyError, TypeError):
                    # Something else wrote to the file: what stands from here on is not ours.
                    break
                end = self._file.tell()
        self._file.truncate(end)
        return end

    def _unusable(self) -> UnusableFile:
        return UnusableFile(f"{self._path} is no file of an audit, and is left as it is; give another one.")


def _lock(descriptor: int, path: Path) -> None:
    """Take the file for this process, where the system can."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UnusableFile(f"another audit writes to {path} now; wait for it, or give another file.") from None
