"""A database that cannot be used: one line with the remedy, exit code 2, and never the password."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from flask_paycheckout.sandbox.command import main
from tests.postgres import as_driver
from tests.sandbox.wire.test_sockets import ROOT

pytestmark = pytest.mark.slow("PostgreSQL")

PASSWORD = "hunter2-of-the-database"


@pytest.fixture(scope="module")
def guarded(postgres_server: str) -> Iterator[sa.URL]:
    """The address of a database, and of a user who must give a password."""
    name = f"guarded_{uuid.uuid4().hex}"
    engine = sa.create_engine(as_driver(postgres_server), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE ROLE {name} LOGIN PASSWORD '{PASSWORD}'"))
        rules = Path(connection.execute(sa.text("SHOW hba_file")).scalar_one())
        usual = rules.read_text()
        rules.write_text(f"local all {name} scram-sha-256\n{usual}")
        connection.execute(sa.text("SELECT pg_reload_conf()"))
        address = sa.make_url(postgres_server).set(username=name, password=PASSWORD)
        wait_until_guarded(address)
        yield address
        rules.write_text(usual)
        connection.execute(sa.text("SELECT pg_reload_conf()"))
        connection.execute(sa.text(f"DROP ROLE {name}"))
    engine.dispose()


def wait_until_guarded(address: sa.URL) -> None:
    """The server reads its rules a moment after it was asked to."""
    give_up = time.monotonic() + 60
    while True:
        assert time.monotonic() < give_up
        try:
            psycopg.connect(address.set(password="wrong").render_as_string(hide_password=False)).close()
        except psycopg.OperationalError:
            return


def told(capsys: pytest.CaptureFixture[str], address: sa.URL | str) -> str:
    """The output of starting a sandbox on that database."""
    database = address if isinstance(address, str) else address.render_as_string(hide_password=False)
    assert main(["--port", "0", "--database", database]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("The sandbox could not start: ")
    assert printed.err.count("\n") == 1
    assert PASSWORD not in printed.err
    return printed.err


def free_port() -> int:
    with closing(socket.socket()) as line:
        line.bind(("127.0.0.1", 0))
        return int(line.getsockname()[1])


def test_a_server_that_is_down(capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, f"postgresql://somebody:{PASSWORD}@127.0.0.1:{free_port()}/shop")
    assert "Connection refused" in said
    assert said.endswith("Start the server, or correct host and port in the address.\n")


def test_a_socket_that_is_not_there(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "Start the server" in told(capsys, f"postgresql://somebody:{PASSWORD}@/shop?host={tmp_path}")


def test_a_host_that_does_not_exist(capsys: pytest.CaptureFixture[str]) -> None:
    assert "Correct the host" in told(capsys, f"postgresql://somebody:{PASSWORD}@no-such-host.invalid/shop")


def test_a_wrong_password(capsys: pytest.CaptureFixture[str], guarded: sa.URL) -> None:
    wrong = guarded.set(password=f"not-{PASSWORD}")
    assert "Correct the user or the password" in told(capsys, wrong)


def test_no_password(capsys: pytest.CaptureFixture[str], guarded: sa.URL, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    without = sa.URL.create("postgresql", guarded.username, database=guarded.database, query=guarded.query)
    assert "Put the password into the address" in told(capsys, without)


def test_a_user_who_may_not_make_tables(capsys: pytest.CaptureFixture[str], guarded: sa.URL) -> None:
    assert "permission denied" in told(capsys, guarded)


def test_a_user_and_a_database_that_do_not_exist(capsys: pytest.CaptureFixture[str], postgres_server: str) -> None:
    address = sa.make_url(postgres_server)
    assert "createuser" in told(capsys, address.set(username="nobody-here"))
    assert "createdb" in told(capsys, address.set(database="no-such-database"))


def test_tables_of_another_version(capsys: pytest.CaptureFixture[str], postgres_database: str) -> None:
    engine = sa.create_engine(postgres_database)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE world_settings (id integer PRIMARY KEY)"))
    engine.dispose()
    assert told(capsys, postgres_database).endswith("take an empty database.\n")


def test_a_missing_driver(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    said = told(capsys, f"postgresql://somebody:{PASSWORD}@127.0.0.1/shop")
    assert "'psycopg'" in said
    assert "Install flask-paycheckout[postgres]" in said


@pytest.mark.parametrize(
    ("address", "fault"),
    [
        (f"postgresql://somebody:{PASSWORD}@127.0.0.1:{PASSWORD}/shop", "cannot be read"),
        (f"somebody:{PASSWORD}", "cannot be read"),
        (f"mysql://somebody:{PASSWORD}@127.0.0.1/shop", "of the kind 'mysql'"),
        (f"nonsense://somebody:{PASSWORD}@127.0.0.1/shop", "of the kind 'nonsense'"),
    ],
    ids=["port", "no-address", "another-database", "nonsense"],
)
def test_an_address_that_is_none(capsys: pytest.CaptureFixture[str], address: str, fault: str) -> None:
    said = told(capsys, address)
    assert fault in said
    assert "postgresql://USER:PASSWORD@HOST:PORT/DATABASE" in said


def test_an_option_that_holds_the_password(capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, f"postgresql://somebody:{PASSWORD}@127.0.0.1/shop?sslmode={PASSWORD}")
    assert 'invalid sslmode value: "***"' in said


@pytest.mark.parametrize(
    ("path", "remedy"), [("no/folder/world.db", "Make its directory first"), (__file__, "Name another file")]
)
def test_a_file_that_is_no_database(capsys: pytest.CaptureFixture[str], tmp_path: Path, path: str, remedy: str) -> None:
    assert remedy in told(capsys, f"sqlite:///{tmp_path / path}")


def test_the_process_says_the_same_and_shows_no_traceback() -> None:
    address = f"postgresql://somebody:{PASSWORD}@127.0.0.1:{free_port()}/shop"
    command = [sys.executable, "-m", "flask_paycheckout.sandbox", "--port", "0", "--database", address]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("\n") == 1
    assert PASSWORD not in ended.stderr
