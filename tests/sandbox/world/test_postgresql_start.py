"""A database that cannot be used: one line with the remedy, exit code 2, and never the password."""

from __future__ import annotations

from pathlib import Path

import pytest
import sqlalchemy as sa

from flask_paycheckout.sandbox.terminal.commands import main
from tests.ports import free_port

PASSWORD = "hunter2-of-the-database"
SERVER = "postgresql://somebody:{password}@127.0.0.1"


def told(capsys: pytest.CaptureFixture[str], database: str) -> str:
    """The output of starting a sandbox on that database."""
    assert main(["--port", "0", "--database", database]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("The sandbox could not start: ")
    assert printed.err.count("\n") == 1
    assert PASSWORD not in printed.err
    return printed.err


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("somebody:{password}", "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"),
        (f"{SERVER}:{{port}}/shop", "127.0.0.1"),
        (f"{SERVER}/shop?sslmode={{password}}", 'invalid sslmode value: "***"'),
        ("sqlite:///{folder}/no/world.db", "unable to open database file"),
        (f"sqlite:///{__file__}", "file is not a database"),
    ],
    ids=lambda text: text[:24],
)
def test_a_database_that_cannot_be_used(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, address: str, words: str
) -> None:
    assert words in told(capsys, address.format(password=PASSWORD, port=free_port(), folder=tmp_path))


def test_tables_of_another_version(capsys: pytest.CaptureFixture[str], postgres_database: str) -> None:
    engine = sa.create_engine(postgres_database)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE world_settings (id integer PRIMARY KEY)"))
    engine.dispose()
    assert "column world_settings.seed does not exist" in told(capsys, postgres_database)
