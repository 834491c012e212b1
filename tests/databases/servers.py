"""PostgreSQL servers that a test stops, promotes and fills up, and a PgBouncer before them; gone after their `with`."""

from __future__ import annotations

import configparser
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.docs.pages import snippet
from tests.optional_parts import pgbouncer, postgresql
from tests.ports import free_port

HOST = "127.0.0.1"
#: Through a pooler in transaction mode no statement may be prepared.
POOLED = {"connect_args": {"prepare_threshold": None}}
# Neither PostgreSQL nor PgBouncer runs as root.
_USER = "postgres" if os.geteuid() == 0 else None
_PATIENCE = 60


@contextmanager
def own_folder() -> Iterator[Path]:
    """A folder that the servers may write to."""
    folder = Path(tempfile.mkdtemp(prefix="tests-databases-"))
    try:
        hand_over(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def hand_over(folder: Path) -> None:
    """Let the servers' user own a folder."""
    if _USER is not None:
        shutil.chown(folder, _USER)


class Server:
    """A PostgreSQL server on a port of its own.

    :param folder: for its data, its log and its socket.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.port = free_port()
        self._folder = folder
        self._data = folder / name
        self._log = folder / f"{name}.log"

    @contextmanager
    def running(self) -> Iterator[Server]:
        """A new server, until the end of the `with` block."""
        _run("initdb", "-D", self._data, "-A", "trust", "-U", "postgres", "--no-sync")
        with self.started():
            yield self

    @contextmanager
    def started(self) -> Iterator[None]:
        """Started, and stopped at the end unless it is already."""
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
            # The tests kill servers, never the machine.
            "fsync": "off",
            "wal_retrieve_retry_interval": "200ms",
        }
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        _run("pg_ctl", "-D", self._data, "-o", options, "-l", self._log, "-w", "start")

    def stop(self, mode: str) -> None:
        """Stop at once: `fast` rolls back what is open, `immediate` is a crash."""
        _run("pg_ctl", "-D", self._data, "-m", mode, "-w", "stop")

    def promote(self) -> None:
        _run("pg_ctl", "-D", self._data, "-w", "promote")

    def execute(self, *statements: str) -> None:
        with psycopg.connect(self.address("postgresql", "postgres"), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def address(self, driver: str = "postgresql+psycopg", database: str = "shop") -> str:
        return f"{driver}://postgres@{HOST}:{self.port}/{database}"


class Pooler:
    """PgBouncer as docs/production.md sets it up, with fewer connections to the server than the shop has to it."""

    def __init__(self, folder: Path, to: Server) -> None:
        self.port = free_port()
        self._file = folder / "pgbouncer.ini"
        self._log = folder / "pgbouncer.log"
        self._write(to)

    @contextmanager
    def running(self) -> Iterator[Pooler]:
        with self._log.open("wb") as log:
            process = subprocess.Popen([pgbouncer(), str(self._file)], user=_USER, stdout=log, stderr=log)
            self._process = process
            try:
                self._wait()
                yield self
            finally:
                process.terminate()
                process.wait(_PATIENCE)

    def point_to(self, server: Server) -> None:
        """Send the shop to another server, as an operator does after a failover."""
        self._write(server)
        self._process.send_signal(signal.SIGHUP)

    def address(self, driver: str = "postgresql+psycopg") -> str:
        return f"{driver}://postgres@{HOST}:{self.port}/shop"

    def _write(self, server: Server) -> None:
        config = configparser.ConfigParser(interpolation=None)
        config.read_string(snippet("docs/production.md", "pooler", "pgbouncer.ini"))
        config["databases"]["shop"] = f"host={HOST} port={server.port} dbname=shop user=postgres"
        config["pgbouncer"].pop("auth_file")
        config["pgbouncer"].update(
            {
                "listen_port": str(self.port),
                "unix_socket_dir": "",
                "auth_type": "any",
                "default_pool_size": "4",
            }
        )
        with self._file.open("w") as file:
            config.write(file)
        hand_over(self._file)

    def _wait(self) -> None:
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                psycopg.connect(self.address("postgresql"), prepare_threshold=None).close()
                return
            except psycopg.OperationalError:
                assert self._process.poll() is None, self._log.read_text()
                assert time.monotonic() < until, "nobody answers"
                time.sleep(0.05)


def _run(program: str, *arguments: object) -> None:
    command = [str(postgresql() / program), *map(str, arguments)]
    # To a file nobody reads: a server keeps what it inherits open.
    subprocess.run(command, check=True, user=_USER, cwd="/", stdout=subprocess.DEVNULL, timeout=_PATIENCE)
