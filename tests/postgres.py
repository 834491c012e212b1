"""PostgreSQL servers for the tests, each made in a temporary folder and removed afterwards.

A worker that runs tests on PostgreSQL starts one server at the first of them. Each test gets an empty database, or an
empty schema of one, which works the same for a shop and is made in a twentieth of the time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import sqlalchemy as sa

from tests.optional_parts import postgresql
from tests.ports import free_port

HOST = "127.0.0.1"
#: PostgreSQL and PgBouncer do not run as root, so they get this user; None if the tests do not run as root.
USER = "postgres" if os.geteuid() == 0 else None
PATIENCE = 60


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that the servers may write to."""
    folder = Path(tempfile.mkdtemp(prefix="tests-pg-"))
    try:
        hand_over(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def hand_over(folder: Path) -> None:
    """Let the servers' user own a folder."""
    if USER is not None:
        shutil.chown(folder, USER)


class Server:
    """A PostgreSQL server on a port of its own.

    :param folder: for its data, its log and its socket.
    :param durable: commits wait for the disk, as in a shop. Tests kill servers, which needs no durability.
    """

    def __init__(self, folder: Path, name: str, *, durable: bool = False) -> None:
        self.port = free_port()
        self._folder = folder
        self._data = folder / name
        self._log = folder / f"{name}.log"
        self._fsync = "on" if durable else "off"

    @contextmanager
    def running(self) -> Iterator[Server]:
        """Create a server, and run it until the end of the `with` block."""
        _run("initdb", "-D", self._data, "-A", "trust", "-U", "postgres", "--no-sync")
        with self.started():
            yield self

    @contextmanager
    def started(self) -> Iterator[None]:
        """Run the server, and stop it at the end, unless it was stopped before."""
        self.start()
        try:
            yield
        finally:
            if (self._data / "postmaster.pid").exists():
                self.stop("immediate")

    @contextmanager
    def replica(self, name: str) -> Iterator[Server]:
        """A replica for which this server's commits wait from now on."""
        other = Server(self._folder, name)
        source = f"host={HOST} port={self.port} user=postgres"
        _run("pg_basebackup", "-d", source, "-D", other._data, "-R", "-c", "fast", "--no-sync")
        with other.started():
            self.execute("ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()")
            yield other

    def start(self) -> None:
        settings = {
            "listen_addresses": HOST,
            "port": self.port,
            "unix_socket_directories": self._folder,
            "fsync": self._fsync,
            "wal_retrieve_retry_interval": "200ms",
        }
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        _run("pg_ctl", "-D", self._data, "-o", options, "-l", self._log, "-w", "start")

    def stop(self, mode: str) -> None:
        """Stop at once: `fast` rolls back open transactions, `immediate` is a crash."""
        _run("pg_ctl", "-D", self._data, "-m", mode, "-w", "stop")

    def promote(self) -> None:
        _run("pg_ctl", "-D", self._data, "-w", "promote")

    def execute(self, *statements: str) -> None:
        with psycopg.connect(self.address("postgresql", "postgres"), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def address(self, driver: str = "postgresql+psycopg", database: str = "shop") -> str:
        return f"{driver}://postgres@{HOST}:{self.port}/{database}"


def _run(program: str, *arguments: object) -> None:
    command = [str(postgresql() / program), *map(str, arguments)]
    # Not to a pipe, which the server would inherit and keep open.
    subprocess.run(command, check=True, user=USER, cwd="/", stdout=subprocess.DEVNULL, timeout=PATIENCE)


@contextmanager
def running_server(*, durable: bool = False) -> Iterator[str]:
    """Run a server with one empty database; yields its address, with the path of a socket."""
    with own_folder() as folder, Server(folder, "data", durable=durable).running() as server:
        yield f"postgresql://postgres@/postgres?host={folder}&port={server.port}"


def as_driver(address: str, driver: str = "psycopg") -> str:
    """This address for a shop's SQLALCHEMY_DATABASE_URI, which names the driver."""
    url = sa.make_url(address).set(drivername=f"postgresql+{driver}")
    if driver == "pg8000":
        # pg8000 takes the path of a socket as an argument only, so the address has host and port.
        url = url.set(host=HOST, port=int(str(url.query["port"])), query={})
    return url.render_as_string(hide_password=False)


@contextmanager
def _made(server: str, kind: str, end: str) -> Iterator[str]:
    """The name of a new database or schema, which is dropped afterwards with `end` after its name."""
    name = f"test_{uuid.uuid4().hex}"
    address = sa.make_url(as_driver(server)).update_query_dict({"options": "-clock_timeout=10s"})
    engine = sa.create_engine(address, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(sa.text(f"CREATE {kind} {name}"))
            try:
                yield name
            finally:
                connection.execute(sa.text(f"DROP {kind} {name} {end}"))
    finally:
        engine.dispose()


@contextmanager
def empty_database(server: str, driver: str = "psycopg") -> Iterator[str]:
    """An empty database on this server, with the driver in its address; dropped afterwards, even while in use."""
    with _made(server, "DATABASE", "WITH (FORCE)") as name:
        yield sa.make_url(as_driver(server, driver)).set(database=name).render_as_string(hide_password=False)


@contextmanager
def empty_schema(server: str) -> Iterator[str]:
    """An empty schema on this server, in which a shop with this address makes its tables; dropped afterwards.

    A transaction that a test left open fails the test when the schema is dropped.
    """
    with _made(server, "SCHEMA", "CASCADE") as name:
        of_schema = sa.make_url(as_driver(server)).update_query_dict({"options": f"-csearch_path={name}"})
        yield of_schema.render_as_string(hide_password=False)
