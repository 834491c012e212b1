"""A database that takes no changes: a replica after a failover, or closed for writing by a person or a provider."""

from __future__ import annotations

from tests.databases.conftest import Outage


def test_a_read_only_database_is_told_in_clear_words_and_heals_by_itself(outage: Outage) -> None:
    with outage.beside() as admin:
        (name,) = admin.execute("SELECT current_database()").fetchone() or ("",)
        admin.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
        # As after a failover: the shop's connections are broken, and new ones go to a replica.
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        told_read_only(outage)
        # The pool keeps a read-only connection; it must drop it when the database accepts changes again.
        assert outage.status("/status").status_code == 200
        admin.execute("SET default_transaction_read_only = off")
        admin.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
    outage.heals()
    assert "read-only" not in outage.says("report")[1]
    assert "rows can be written and rolled back" in outage.says("doctor")[1]


def told_read_only(outage: Outage) -> None:
    # The first call after the restart may find a broken connection; later calls get new connections.
    assert [outage.hook().status_code for _ in range(3)] == [503] * 3
    assert "cannot record payments at the moment" in outage.status().text
    assert outage.status("/status").get_json()["status"] == "created"
    assert outage.pays().status_code == 503
    code, output = outage.says("doctor")
    assert code == 1
    assert "the database is read-only, so no payment can be recorded" in output
    assert "Send the shop to the primary" in output
    code, output = outage.says("report")
    assert code == 2
    assert "The database is read-only" in output
    assert "The database is read-only" in outage.owner().text
    code, output = outage.says("reconcile")
    assert code == 1
    assert "the database is read-only, so no payment can be recorded" in output
    assert outage.told == []
