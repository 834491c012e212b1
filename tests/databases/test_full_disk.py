"""A full disk: webhooks are answered so that they are sent again, messages name the reason, and nothing is lost."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import OpenShop
from tests.databases.conftest import Outage, outage_of
from tests.postgres import as_driver, hand_over
from tests.views.pages import presses_pay

_NOTE = "BEGIN INSERT INTO audit VALUES (repeat('x', 3000)); RETURN NULL; END"
# A trigger of the shop, so that every change needs space; a page would have space for one or two changes.
AUDIT = (
    "CREATE TABLE audit (change text)",
    "ALTER TABLE audit ALTER change SET STORAGE PLAIN",
    f"CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$ {_NOTE} $$",
    "CREATE TRIGGER noted AFTER INSERT OR UPDATE ON paycheckout_checkout EXECUTE FUNCTION noted()",
)
# An empty PostgreSQL database takes eight megabytes.
_MEGABYTES = 24


@contextmanager
def small_disk() -> Iterator[Path]:
    """A separate disk in memory, which only root can create."""
    folder = Path(tempfile.mkdtemp(prefix="tests-disk-"))
    try:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={_MEGABYTES}m", "tmpfs", str(folder)]
        if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
            pytest.skip("a small disk can only be made by root, where it may mount")
        try:
            yield folder
        finally:
            # The server may still hold a file of a database that was just dropped.
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
    finally:
        folder.rmdir()


def fill(disk: Path) -> Path:
    """Fill all the free space."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                continue
    return filler


def test_postgresql_on_a_full_disk(open_shop: OpenShop, postgres_server: str) -> None:
    admin = open_shop("admin", SQLALCHEMY_DATABASE_URI=as_driver(postgres_server)).engine
    admin = admin.execution_options(isolation_level="AUTOCOMMIT")
    with small_disk() as disk:
        data = disk / "tables"
        data.mkdir()
        hand_over(data)
        disk.chmod(0o755)
        with admin.connect() as connection:
            connection.exec_driver_sql(f"CREATE TABLESPACE small LOCATION '{data}'")
            connection.exec_driver_sql("CREATE DATABASE small TABLESPACE small")
            try:
                shop = open_shop(SQLALCHEMY_DATABASE_URI=as_driver(postgres_server).replace("/postgres?", "/small?"))
                for outage in outage_of(shop):
                    with outage.beside() as own:
                        for statement in AUDIT:
                            own.execute(statement)
                    filler = fill(disk)
                    told_full(outage)
                    filler.unlink()
                    outage.heals()
            finally:
                connection.exec_driver_sql("DROP DATABASE small WITH (FORCE)")
                connection.exec_driver_sql("DROP TABLESPACE small")


def told_full(outage: Outage) -> None:
    # The last page of a table has space for a few more rows.
    outage.shop.service.says(outage.checkout_id, "pending")
    for _ in range(10):
        if outage.hook().status_code == 503:
            break
        outage.shop.waits(minutes=1)
    outage.shop.service.says(outage.checkout_id, "completed")
    assert outage.hook().status_code == 503
    assert "cannot record payments at the moment" in outage.status().text
    code, output = outage.says("doctor")
    assert code == 1
    assert "the disk of the database is full, so no payment can be recorded" in output
    assert "Make room on it" in output
    for number in range(20):
        outage.shop.costs("12.50", f"more-{number}")
        if presses_pay(outage.shop, f"more-{number}").status_code == 503:
            break
    assert outage.pays().status_code == 503
