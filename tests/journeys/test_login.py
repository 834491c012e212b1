"""`flask paycheckout login`: from e-mail and password to an access token, without any of them in a shell's history."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from click.testing import Result

from flask_paycheckout.testing import Sandbox
from tests.scripted import Shop

EMAIL, PASSWORD = "merchant@example.com", "sandbox-password"


class Keyboard(io.RawIOBase):
    """Types each line only when the program reads it: the one-time password comes by mail after the password."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        line = (next(self._lines, "") + "\n").encode()
        buffer[: len(line)] = line
        return len(line)


def logs_in(
    shop: Shop,
    sandbox: Sandbox,
    *command: str,
    first: Sequence[str] = (),
    password: str = PASSWORD,
    otp: str | None = None,
) -> Result:
    """Run a command as a person who types these lines, and then the one-time password from a mail."""

    def typed() -> Iterator[str]:
        yield from first
        yield password
        yield otp or str(sandbox.control("GET", f"mails?to={EMAIL}")[0]["otp"])

    return shop.runs(*command, input=io.BufferedReader(Keyboard(typed())))


@pytest.mark.parametrize("options", [(), ("--never-expires",)], ids=["expiring", "never-expiring"])
def test_a_person_logs_in(options: tuple[str, ...], shop: Shop, paycheckout_sandbox: Sandbox) -> None:
    result = logs_in(shop, paycheckout_sandbox, "login", *options, first=[EMAIL])
    assert result.exit_code == 0, result.output
    assert len(result.stdout.split()) == 1, "the token alone, so that a script can take it"
    assert PASSWORD not in result.output


@pytest.mark.parametrize(
    ("typed", "path"),
    [({"password": "wrong-password"}, "/v1/auth/login"), ({"otp": "000000"}, "/v1/auth/verify-login")],
    ids=["password", "one-time password"],
)
def test_a_failed_login_is_explained_in_a_sentence(
    typed: dict[str, str], path: str, shop: Shop, paycheckout_sandbox: Sandbox
) -> None:
    result = logs_in(shop, paycheckout_sandbox, "login", "--email", EMAIL, **typed)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith(f"Error: POST {path}")
    assert "wrong-password" not in result.output
