"""Errors of pg8000, which have the server's reply in place of a message."""

from __future__ import annotations

from sqlalchemy.exc import IntegrityError, ProgrammingError

from flask_paycheckout.database.database_errors import cut_row, is_lock_timeout, is_lost_race


class Refused(Exception):
    """Has the fields of a reply, as pg8000 gives them."""


def test_a_lock_time_out_and_a_lost_race_are_told_by_their_code() -> None:
    waited = ProgrammingError("SELECT 1", {}, Refused({"C": "55P03", "M": "canceling statement due to lock timeout"}))
    assert is_lock_timeout(waited)
    assert not is_lost_race(waited)
    assert is_lost_race(ProgrammingError("SELECT 1", {}, Refused({"C": "40001", "M": "could not serialize access"})))


def test_the_row_is_cut_from_an_error() -> None:
    refused = Refused({"C": "23505", "M": "duplicate key", "D": "Key (url)=(canary-url) already exists."})
    error = IntegrityError("INSERT", {}, refused)
    cut_row(error)
    assert refused.args == ("duplicate key",)
    assert "canary" not in str(error)
