"""Mails are listed for the tester, so many of them."""

from __future__ import annotations

from flask import Flask

from flask_paycheckout.sandbox.auth.start_state import USER_ID
from flask_paycheckout.sandbox.outgoing.mails import Mail, store_mail
from flask_paycheckout.sandbox.world.database import KEPT, transaction
from tests.sandbox.auth.visitors import Visitor


def test_the_mailbox_is_bounded(sandbox: Flask) -> None:
    with sandbox.app_context(), transaction() as session:
        for number in range(KEPT + 150):
            store_mail(session, USER_ID, "a@example.com", f"Mail {number}", "text")
        assert session.query(Mail).count() <= KEPT + 100
    assert Visitor(sandbox).mails("a@example.com")[0]["subject"] == f"Mail {KEPT + 149}"
