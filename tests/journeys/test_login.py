"""`flask paycheckout login`: from e-mail and password to an access token, leaving neither in a shell."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import Result

from flask_paycheckout.testing import Sandbox
from tests.scripted import Shop

EMAIL, PASSWORD = "merchant@example.com", "sandbox-password"


class Keyboard(io.RawIOBase):
    """Types each line only when it is asked for: the one-time password comes by mail after the password."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        line = (next(self._lines, "") + "\n").encode()
        buffer[: len(line)] = line
        return len(line)


@pytest.fixture
def logs_in(shop: Shop, paycheckout_sandbox: Sandbox) -> Callable[..., Result]:
    def log_in(*options: str, password: str = PASSWORD, otp: str | None = None) -> Result:
        def typed() -> Iterator[str]:
            yield password
            yield otp or str(paycheckout_sandbox.control("GET", f"mails?to={EMAIL}")[0]["otp"])

        keyboard = io.BufferedReader(Keyboard(typed()))
        runner = shop.app.test_cli_runner()
        return runner.invoke(args=["paycheckout", "login", "--email", EMAIL, *options], input=keyboard)

    return log_in


@pytest.mark.parametrize("options", [(), ("--never-expires",)], ids=["expiring", "never-expiring"])
def test_a_person_logs_in(options: tuple[str, ...], logs_in: Callable[..., Result]) -> None:
    result = logs_in(*options)
    assert result.exit_code == 0, result.output
    assert len(result.stdout.split()) == 1, "the token alone, so that a script can take it"
    assert PASSWORD not in result.output


@pytest.mark.parametrize(
    ("typed", "path"),
    [({"password": "wrong-password"}, "/v1/auth/login"), ({"otp": "000000"}, "/v1/auth/verify-login")],
    ids=["password", "one-time password"],
)
def test_what_is_wrong_is_said_in_a_sentence(typed: dict[str, str], path: str, logs_in: Callable[..., Result]) -> None:
    result = logs_in(**typed)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1].startswith(f"Error: POST {path}")
    assert "wrong-password" not in result.output
