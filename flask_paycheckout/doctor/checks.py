"""One thing that `flask paycheckout doctor` looked at, and how it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from flask_paycheckout.rules.text import visible

__all__ = ["Check", "Level", "failure", "ok", "warning"]


class Level(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"
    """Works, but not as well or as safely as it could."""

    FAILURE = "failure"
    """Does not work, or may lose a payment."""


@dataclass(frozen=True)
class Check:
    """What was found. Never holds a secret."""

    about: str
    level: Level
    found: str
    remedy: str | None = None
    """What to do about it; None when it is well."""

    def __str__(self) -> str:
        told = visible(f"{self.level:8} {self.about}: {self.found}")
        return told if self.remedy is None else f"{told}\n{'':9}-> {visible(self.remedy)}"


def ok(about: str, found: str) -> Check:
    return Check(about, Level.OK, found)


def warning(about: str, found: str, remedy: str) -> Check:
    return Check(about, Level.WARNING, found, remedy)


def failure(about: str, found: str, remedy: str) -> Check:
    return Check(about, Level.FAILURE, found, remedy)
