"""The result of one check of `flask paycheckout doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from flask_paycheckout.text import visible


class Level(StrEnum):
    """The severity of a check's result."""

    OK = "ok"
    WARNING = "warning"
    """It works, but less well or less safely than it could."""

    FAILURE = "failure"
    """It does not work, or may lose a payment."""


@dataclass(frozen=True)
class Check:
    """One result of a check: its subject, the finding and the remedy. Never holds a secret."""

    about: str
    level: Level
    found: str
    remedy: str | None = None
    """The instructions that resolve the finding, one per line; None when all is well."""

    account: str | None = None
    """The name of the merchant account that it is about; None if it is not about a single one."""

    def __str__(self) -> str:
        line = visible(f"{self.level:8} {self.about}: {self.found}")
        remedies = (self.remedy or "").splitlines()
        return "\n".join([line, *(f"{'':9}-> {visible(remedy)}" for remedy in remedies)])


def ok(about: str, found: str, account: str | None = None) -> Check:
    return Check(about, Level.OK, found, account=account)


def warning(about: str, found: str, remedy: str) -> Check:
    return Check(about, Level.WARNING, found, remedy)


def failure(about: str, found: str, remedy: str, account: str | None = None) -> Check:
    return Check(about, Level.FAILURE, found, remedy, account)
