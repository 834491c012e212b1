"""Mails are listed for the tester, so many of them."""

from __future__ import annotations

from flask import Flask

from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.outgoing.mails import KEPT, Mail, store_mail
from flask_paycheckout.sandbox.world.database import transaction
from tests.sandbox.actors import Tester
from tests.sandbox.auth.visitors import EMAIL, Visitor


def test_mails_are_listed_for_one_address_or_all_newest_first(sandbox: Flask, tester: Tester) -> None:
    visitor = Visitor(sandbox)
    visitor.registers("other@example.com")
    visitor.begins()
    assert [mail["to"] for mail in visitor.mails("OTHER@example.com")] == ["other@example.com"]
    assert visitor.mails("nobody@example.com") == []
    assert [mail["to"] for mail in tester.does("GET", "mails")] == [EMAIL, "other@example.com"]


def test_the_mailbox_is_bounded(sandbox: Flask) -> None:
    with sandbox.app_context(), transaction() as session:
        for number in range(KEPT + 150):
            store_mail(session, USER_ID, "a@example.com", f"Mail {number}", "text")
        assert session.query(Mail).count() <= KEPT + 100
    assert Visitor(sandbox).mails("a@example.com")[0]["subject"] == f"Mail {KEPT + 149}"
