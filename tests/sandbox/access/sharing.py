"""A shared sandbox with two teams, and people who sign in to it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from flask import Flask
from werkzeug.test import TestResponse

from flask_paycheckout.sandbox import create_sandbox
from tests.sandbox.actors import CONTROL_TOKEN, Receiver

OPERATORS_PASSWORD = "canary-operator"
#: What the people and the programs of each team show.
TEAMS = {
    "anna": ("canary-anna-people", "canary-anna-programs"),
    "zebra": ("canary-zebra-people", "canary-zebra-programs"),
}
ELSEWHERE = {"REMOTE_ADDR": "192.0.2.7"}


def teams_file(folder: Path) -> Path:
    """The file of both teams; `zebra` has two accounts."""
    file = folder / "teams.toml"
    written = [
        f'[{name}]\npassword = "{password}"\ncontrol_token = "{token}"\n' for name, (password, token) in TEAMS.items()
    ]
    file.write_text("".join([*written, 'accounts = ["zebra", "zebra-staging"]\n']))
    return file


def shared_sandbox(folder: Path, database: str = "sqlite://", **options: Any) -> Flask:
    given: dict[str, Any] = {
        **{"database": database, "control_token": CONTROL_TOKEN, "password": OPERATORS_PASSWORD, "seed": 1},
        **{"teams": teams_file(folder), "send_webhook": Receiver()},
    }
    return create_sandbox(**given | options)


class Person:
    """Somebody with a browser, at an address of their own."""

    def __init__(self, app: Flask, address: str = "192.0.2.7") -> None:
        self.app, self.http = app, app.test_client()
        self.from_here = {"REMOTE_ADDR": address}

    def opens(self, path: str = "/", **headers: str) -> TestResponse:
        return self.http.get(path, headers=headers, environ_overrides=self.from_here)

    def sends(self, path: str, headers: dict[str, str] | None = None, /, **form: str) -> TestResponse:
        return self.http.post(path, data=form, headers=headers, environ_overrides=self.from_here)

    def token(self, path: str) -> str:
        """The token in the forms of a page."""
        return str(re.findall(r'name="token" value="(\w+)"', self.opens(path).text)[0])

    def signs_in(self, password: str, name: str = "operator", **form: str) -> TestResponse:
        given = {"token": self.token("/inspector/sign-in"), "name": name, "password": password} | form
        return self.sends("/inspector/sign-in", **given)

    def presses(self, path: str, /, **form: str) -> TestResponse:
        """Send a form of the inspector."""
        return self.sends(path, token=self.token("/inspector/levers"), **form)


def operator(app: Flask) -> Person:
    person = Person(app)
    assert person.signs_in(OPERATORS_PASSWORD).status_code == 303
    return person


def member(app: Flask, team: str) -> Person:
    """Somebody of a team, signed in."""
    person = Person(app)
    assert person.signs_in(TEAMS[team][0], team).status_code == 303
    return person
