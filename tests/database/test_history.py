"""The history of a checkout: appended by the database itself, limited in length, and readable with any content."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy import Column, MetaData, String, Table, create_engine, select

from flask_paycheckout.database.state_table import Entry, appended, line, lines

NOW = datetime(2026, 1, 1, 12, 0, 0, 123456, tzinfo=UTC)


@pytest.mark.parametrize("fact", ["two\nlines", "\u2028", "\x1c\x85", "\x00", "\ud800", '"}', "é"])
def test_a_fact_with_any_text_stays_one_line(fact: str) -> None:
    text = line(NOW, Entry.RESOLVED, why=fact)
    assert text.isascii()
    assert [entry["why"] for entry in lines(text * 2)] == [fact, fact]


@pytest.mark.parametrize(
    "written",
    ["no JSON", "[1]", "7", "null", "{}", '{"at": 5, "what": "read"}', '{"at": "noon", "what": "read"}', "[" * 100_000],
    ids=lambda written: written[:20],
)
def test_a_line_that_is_none_hides_no_other(written: str) -> None:
    entries = lines(f"{line(NOW, Entry.CREATED)}{written}\n{line(NOW, Entry.WEBHOOK)}")
    assert [entry["what"] for entry in entries] == ["created", "unreadable", "webhook"]
    assert entries[1] == {"what": "unreadable", "line": written[:200]}


@pytest.mark.parametrize(("always", "grows"), [(False, False), (True, True)], ids=["reads", "moves"])
def test_a_full_story_takes_moves_but_no_more_reads(always: bool, grows: bool) -> None:
    table = Table("story", MetaData(), Column("history", String))
    engine = create_engine("sqlite://")
    with engine.begin() as connection:
        table.metadata.create_all(connection)
        connection.execute(table.insert().values(history="x" * 39_999))
        for _ in range(2):
            connection.execute(table.update().values(history=appended(table.c.history, "y" * 10, always=always)))
        kept = connection.execute(select(table.c.history)).scalar_one()
    engine.dispose()
    assert len(kept) == 39_999 + (20 if grows else 10)
