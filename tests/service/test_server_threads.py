"""The number of the web server's threads is read only from options that state it plainly."""

from __future__ import annotations

import pytest

from flask_paycheckout.service.server_threads import threads_told


@pytest.mark.parametrize(
    ("command", "variable", "threads"),
    [
        ("/srv/.venv/bin/gunicorn --workers 2 --threads 8 shop:app", "", 8),
        ("gunicorn --threads=6 shop:app", "", 6),
        ("gunicorn shop:app", "--threads 4 --workers 2", 4),
        ("gunicorn --threads 3 shop:app", "--threads 4", 3),
        ("gunicorn --threads 3 --threads 5 shop:app", "", 5),
        ("waitress-serve --threads=12 shop:app", "--threads 4", 12),
        ("gunicorn shop:app", "", None),
        ("gunicorn --threads many shop:app", "", None),
        ("gunicorn --threads-of-mine 9 shop:app", "", None),
        ("flask run --threads 9", "--threads 9", None),
        ("", "--threads 4", None),
    ],
)
def test_threads_are_those_of_the_servers_own_option(command: str, variable: str, threads: int | None) -> None:
    assert threads_told(command.split(), {"GUNICORN_CMD_ARGS": variable}) == threads
