"""`POST /v1/auth/login` and `/verify-login`: the mail between both, once, in time, within a few attempts."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from werkzeug.security import check_password_hash

from flask_paycheckout.sandbox.auth import endpoints
from flask_paycheckout.sandbox.auth.tables import AccessToken, Verification
from flask_paycheckout.sandbox.world.database import transaction
from tests.sandbox.auth.visitors import EMAIL, PASSWORD, Visitor
from tests.sandbox.world.test_databases import at_once


def test_both_steps_answer_status_in_place_of_status_code_and_mail_the_password(visitor: Visitor) -> None:
    login = visitor.logs_in()
    confirmed = visitor.confirms(login.data["verificationToken"], visitor.otp())
    for answer, fields in ((login, {"verificationToken"}), (confirmed, {"accessToken", "user"})):
        assert (answer.http_status, answer.body["status"]) == (200, 200)
        assert set(answer.data) == fields
    (mail,) = visitor.mails()
    assert set(mail) == {"to", "subject", "text", "otp", "sentAt"}
    assert mail["to"] == EMAIL
    assert re.fullmatch("[0-9]{6}", mail["otp"])
    assert mail["otp"] in mail["text"]
    assert mail["otp"] not in mail["subject"]


def test_a_wrong_password_and_an_unknown_address_get_the_same_answer(visitor: Visitor) -> None:
    wrong, stranger = visitor.logs_in(password="guessed"), visitor.logs_in("stranger@example.com")
    assert (wrong.code, wrong.body["error"]) == (401, "Unauthorized")
    assert wrong == stranger
    assert visitor.mails("stranger@example.com") == []
    # Unknown addresses are compared with the hash of the start user, so that the comparison is a real one.
    assert visitor.logs_in("stranger@example.com", PASSWORD) == wrong
    assert visitor.logs_in("Merchant@Example.COM").body["status"] == 200


def test_a_wrong_password_and_an_unknown_address_cost_the_same_work(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []

    def counts(pwhash: str, password: str) -> bool:
        hashed.append(pwhash.split("$")[0])
        return check_password_hash(pwhash, password)

    monkeypatch.setattr(endpoints, "check_password_hash", counts)
    visitor.registers("other@example.com")
    for email, password in (("other@example.com", "guessed"), ("stranger@example.com", "guessed")):
        visitor.logs_in(email, password)
    assert len(hashed) == 2
    assert hashed[0] == hashed[1]


@pytest.mark.on_each_database
def test_many_confirmations_at_once_give_one_access_token(sandbox: Flask, visitor: Visitor) -> None:
    token, otp = visitor.begins(), visitor.otp()
    answers = at_once(*[lambda: Visitor(sandbox).confirms(token, otp).http_status] * 4)
    assert sorted(answers) == [200, 401, 401, 401]


def test_no_table_holds_a_token(sandbox: Flask, visitor: Visitor) -> None:
    token = visitor.begins()
    access_token = visitor.confirms(token, visitor.otp()).data["accessToken"]
    with sandbox.app_context(), transaction() as session:
        found = [session.execute(table.__table__.select()).all() for table in (Verification, AccessToken)]
    assert all(found)
    assert token not in str(found)
    assert access_token not in str(found)
    # As a word: a digest may hold these six digits, and a time too.
    assert f"'{visitor.otp()}'" not in str(found)
