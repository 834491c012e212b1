"""Who may use the pages and the control interface of a shared sandbox: its operator, and teams with own accounts.

People give a password, programs a control token. Teams stand in a file, whose sections are their names:

    [anna]
    password = "at least eight characters"
    control_token = "at least sixteen characters"
    accounts = ["anna", "anna-staging"]

A team without `accounts` has the account of its own name.
"""

from __future__ import annotations

import hmac
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any

from flask import g, has_app_context

OPERATOR = "operator"
"""The name with which the operator signs in."""
MIN_PASSWORD, MIN_TOKEN, MAX_SECRET = 8, 16, 200
"""The fewest characters of a password and of a control token, and the most of both."""
MAX_TEAMS = 100
LIMITS = "limits_of_team"
"""The name in `flask.g` of what a team's request is limited to; see `access/visibility.py`."""
_MAX_FILE = 256 * 1024
_FIELDS = {"password", "control_token", "accounts"}


class AccessError(ValueError):
    """The passwords, tokens or teams of a shared sandbox cannot be used."""


@dataclass(frozen=True, repr=False)
class Team:
    """A team: what its people and programs show, and the names of its accounts. It has no repr: it holds secrets."""

    name: str
    password: str | None
    control_token: str | None
    accounts: tuple[str, ...]


@dataclass(frozen=True, repr=False)
class Access:
    """Access to a shared sandbox. It has no repr, because it holds secrets."""

    password: str
    """The operator's."""
    teams: Mapping[str, Team]

    def password_of(self, name: str) -> str | None:
        """The password of the operator or of a team; None when there is none."""
        if name == OPERATOR:
            return self.password
        team = self.teams.get(name)
        return None if team is None else team.password

    def team_with_token(self, token: str) -> Team | None:
        """The team whose control token this is."""
        found = None
        # All of them are compared, so that the time tells nothing.
        for team in self.teams.values():
            if team.control_token is not None and is_same(token, team.control_token):
                found = team
        return found


def is_limited() -> bool:
    """Whether the current request is a team's, and limited to its accounts."""
    return has_app_context() and LIMITS in g


def is_same(presented: str, secret: str) -> bool:
    """Whether a secret was presented, in a time that tells nothing about it."""
    digests = (sha256(text.encode("utf-8", "surrogatepass")).digest() for text in (presented, secret))
    return hmac.compare_digest(*digests)


def read_access(password: str | None, control_token: str | None, teams: str | PathLike[str] | None) -> Access | None:
    """The access that these options give; None for a sandbox that is not shared.

    :param password: the operator's.
    :param control_token: that of the operator's programs, which several processes must have in common.
    :param teams: the path of a file of teams.
    :raises AccessError: says what is missing or wrong, without the secret.
    """
    if password is None:
        if teams is not None:
            raise AccessError("Teams need a sandbox with a password for its operator.")
        return None
    _check_secret("The password", password, MIN_PASSWORD)
    if control_token is None:
        raise AccessError("A sandbox with a password needs a control token too, the same for all of its processes.")
    _check_secret("The control token", control_token, MIN_TOKEN)
    found = {} if teams is None else _read_teams(Path(teams))
    tokens = [control_token, *(team.control_token for team in found.values() if team.control_token is not None)]
    if len(set(tokens)) < len(tokens):
        raise AccessError("Two teams have the same control token, or a team has the operator's.")
    return Access(password, found)


def _check_secret(named: str, secret: str, least: int) -> None:
    if not least <= len(secret) <= MAX_SECRET or not secret.isprintable():
        raise AccessError(f"{named} must have {least} to {MAX_SECRET} printable characters.")


def _read_teams(file: Path) -> dict[str, Team]:
    try:
        with file.open("rb") as opened:
            sections = tomllib.loads(opened.read(_MAX_FILE).decode())
    except OSError as wrong:
        raise AccessError(f"The file of teams {str(file)!r} cannot be read: {wrong.strerror}.") from None
    except ValueError:
        # Without the parser's message, which may quote the file.
        raise AccessError(f"The file of teams {str(file)!r} is no TOML in UTF-8.") from None
    if len(sections) > MAX_TEAMS:
        raise AccessError(f"There are more than {MAX_TEAMS} teams.")
    teams = {name: _read_team(name, section) for name, section in sections.items()}
    _refuse_shared(account for team in teams.values() for account in team.accounts)
    return teams


def _read_team(name: str, section: Any) -> Team:
    named = f"The team {name[:60]!r}"
    if name == OPERATOR or not isinstance(section, dict) or section.keys() - _FIELDS:
        raise AccessError(f"{named} must be a section with {', '.join(sorted(_FIELDS))}, and not named {OPERATOR}.")
    password, token, accounts = section.get("password"), section.get("control_token"), section.get("accounts", [name])
    if password is None and token is None:
        raise AccessError(f"{named} has neither password nor control_token.")
    for field, secret, least in (("password", password, MIN_PASSWORD), ("control_token", token, MIN_TOKEN)):
        if secret is not None:
            _check_secret(f"{named}: {field}", secret if isinstance(secret, str) else "", least)
    if token is not None and not token.isascii():
        raise AccessError(f"{named}: control_token is sent in a header, so it must be ASCII.")
    if not isinstance(accounts, list) or not accounts or not all(isinstance(one, str) for one in accounts):
        raise AccessError(f"{named}: accounts must be a list of names.")
    return Team(name, password, token, tuple(dict.fromkeys(accounts)))


def _refuse_shared(accounts: Iterable[str]) -> None:
    seen: set[str] = set()
    for account in accounts:
        if account in seen:
            raise AccessError(f"The account {account[:60]!r} belongs to two teams.")
        seen.add(account)
