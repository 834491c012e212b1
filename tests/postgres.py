"""A PostgreSQL server of the tests' own: made in a temporary folder, reached by a socket in it, gone afterwards.

A worker that runs tests on PostgreSQL starts one server, when the first of them asks; each test gets an empty database,
or an empty schema of one, which is as much to a shop and made in a twentieth of the time.
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

import sqlalchemy as sa

from tests.optional_parts import postgresql


@contextmanager
def running_server(*, durable: bool = False) -> Iterator[str]:
    """A server with one empty database; gives its address.

    :param durable: commits wait for the disk, as a shop's do; tests have no use for that.
    """
    bin_folder = postgresql()
    # The server refuses to run as root, and pytest's own folders are closed to everybody else.
    user = "postgres" if os.geteuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="tests-pg-"))
    if user is not None:
        shutil.chown(folder, user)

    def run(program: str, *arguments: str) -> None:
        command = [str(bin_folder / program), *arguments]
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, timeout=60)

    data = str(folder / "data")
    settings = f"-k {folder} -c listen_addresses= -c fsync={'on' if durable else 'off'}"
    try:
        run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync")
        run("pg_ctl", "-D", data, "-o", settings, "-l", str(folder / "log"), "-w", "start")
        try:
            yield f"postgresql://postgres@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def as_driver(address: str) -> str:
    """The same address for a shop's SQLALCHEMY_DATABASE_URI, which names the driver."""
    return sa.make_url(address).set(drivername="postgresql+psycopg").render_as_string(hide_password=False)


@contextmanager
def empty_database(server: str) -> Iterator[str]:
    """An empty database on this server, with the driver in its address; gone afterwards, whoever still uses it."""
    name = f"test_{uuid.uuid4().hex}"
    engine = sa.create_engine(as_driver(server), isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {name}"))
            try:
                yield sa.make_url(as_driver(server)).set(database=name).render_as_string(hide_password=False)
            finally:
                connection.execute(sa.text(f"DROP DATABASE {name} WITH (FORCE)"))
    finally:
        engine.dispose()


@contextmanager
def empty_schema(server: str) -> Iterator[str]:
    """An empty schema on this server, where a shop that is given the address makes its tables; gone afterwards.

    A transaction that a test left open fails the test when the schema is dropped.
    """
    name = f"test_{uuid.uuid4().hex}"
    address = sa.make_url(as_driver(server))
    engine = sa.create_engine(
        address.update_query_dict({"options": "-clock_timeout=10s"}), isolation_level="AUTOCOMMIT"
    )
    try:
        with engine.connect() as connection:
            connection.execute(sa.text(f"CREATE SCHEMA {name}"))
            try:
                of_schema = address.update_query_dict({"options": f"-csearch_path={name}"})
                yield of_schema.render_as_string(hide_password=False)
            finally:
                connection.execute(sa.text(f"DROP SCHEMA {name} CASCADE"))
    finally:
        engine.dispose()
