"""A PgBouncer in front of a PostgreSQL server, which ends with its `with` block."""

from __future__ import annotations

import configparser
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from tests.docs.pages import snippet
from tests.optional_parts import pgbouncer
from tests.ports import free_port
from tests.postgres import HOST, PATIENCE, USER, Server, hand_over
from tests.waiting import eventually

#: Through a pooler in transaction mode no statement may be prepared.
POOLED = {"connect_args": {"prepare_threshold": None}}


class Pooler:
    """PgBouncer as docs/outages.md sets it up, with fewer connections to the server than the shop has to PgBouncer."""

    def __init__(self, folder: Path, to: Server) -> None:
        self.port = free_port()
        self._file = folder / "pgbouncer.ini"
        self._log = folder / "pgbouncer.log"
        self._write(to)

    @contextmanager
    def running(self) -> Iterator[Pooler]:
        with self._log.open("wb") as log:
            process = subprocess.Popen([pgbouncer(), str(self._file)], user=USER, stdout=log, stderr=log)
            self._process = process
            try:
                eventually(self._answers, PATIENCE)
                yield self
            finally:
                process.terminate()
                process.wait(PATIENCE)

    def point_to(self, server: Server) -> None:
        """Send the shop to another server, as an operator does after a failover."""
        self._write(server)
        self._process.send_signal(signal.SIGHUP)

    def address(self, driver: str = "postgresql+psycopg") -> str:
        return f"{driver}://postgres@{HOST}:{self.port}/shop"

    def _write(self, server: Server) -> None:
        config = configparser.ConfigParser(interpolation=None)
        config.read_string(snippet("docs/outages.md", "pooler", "pgbouncer.ini"))
        config["databases"]["shop"] = f"host={HOST} port={server.port} dbname=shop user=postgres"
        config["pgbouncer"].pop("auth_file")
        config["pgbouncer"].update(
            {"listen_port": str(self.port), "unix_socket_dir": "", "auth_type": "any", "default_pool_size": "4"}
        )
        with self._file.open("w") as file:
            config.write(file)
        hand_over(self._file)

    def _answers(self) -> bool:
        assert self._process.poll() is None, self._log.read_text()
        try:
            psycopg.connect(self.address("postgresql"), prepare_threshold=None).close()
        except psycopg.OperationalError:
            return False
        return True
