"""`POST /v1/auth/login` and `/verify-login`: the mail between both, once, in time, within a few attempts."""

from __future__ import annotations

import re
from datetime import datetime

import pytest
from flask import Flask
from werkzeug.security import check_password_hash

from flask_paycheckout.sandbox.auth import endpoints
from flask_paycheckout.sandbox.auth.tables import AccessToken, Verification
from flask_paycheckout.sandbox.world.database import transaction
from tests.sandbox.actors import Tester
from tests.sandbox.auth.visitors import EMAIL, PASSWORD, Visitor
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.world.test_databases import at_once

pytestmark = pytest.mark.each_database


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


@pytest.mark.parametrize("digits", ["4", "8"])
def test_unknown_otp_digits(make_sandbox: MakeSandbox, digits: str) -> None:
    visitor = Visitor(make_sandbox(otp_digits=digits))
    visitor.logs_in()
    assert re.fullmatch(f"[0-9]{{{digits}}}", visitor.otp())
    assert visitor.gets_token()


def test_the_otp_of_another_login_does_not_fit(visitor: Visitor) -> None:
    first, first_otp = visitor.begins(), visitor.otp()
    visitor.begins()
    # One time in a million both are the same digits.
    if visitor.otp() != first_otp:
        assert visitor.confirms(first, visitor.otp()).code == 401
    assert visitor.confirms(first, first_otp).body["status"] == 200


def test_many_confirmations_at_once_give_one_access_token(sandbox: Flask, visitor: Visitor) -> None:
    token, otp = visitor.begins(), visitor.otp()
    answers = at_once(*[lambda: Visitor(sandbox).confirms(token, otp).http_status] * 4)
    assert sorted(answers) == [200, 401, 401, 401]


def test_many_wrong_attempts_at_once_are_all_counted(sandbox: Flask, visitor: Visitor) -> None:
    token, wrong = visitor.begins(), visitor.wrong_otp()
    at_once(*[lambda: Visitor(sandbox).confirms(token, wrong)] * 5)
    assert visitor.confirms(token, visitor.otp()).code == 401


def test_no_table_holds_a_token(sandbox: Flask, visitor: Visitor) -> None:
    token = visitor.begins()
    access_token = visitor.confirms(token, visitor.otp()).data["accessToken"]
    with sandbox.app_context(), transaction() as session:
        tables = [session.execute(table.__table__.select()).all() for table in (Verification, AccessToken)]
    texts = [str(value) for rows in tables for row in rows for value in row if not isinstance(value, datetime)]
    assert len(texts) >= 4
    # As a word: a digest may hold these six digits.
    otp = re.compile(rf"(?<![0-9a-f]){visitor.otp()}(?![0-9a-f])")
    assert not [text for text in texts if token in text or access_token in text or otp.search(text)]


def test_what_has_expired_is_forgotten(sandbox: Flask, visitor: Visitor, tester: Tester) -> None:
    visitor.gets_token()
    tester.advances(hours=30)
    visitor.gets_token()
    with sandbox.app_context(), transaction() as session:
        assert session.query(Verification).count() == 1
        # The start token never expires.
        assert session.query(AccessToken).count() == 2


@pytest.mark.parametrize("minutes", ["10", "5", "60"])
def test_a_token_expires_by_the_virtual_clock(make_sandbox: MakeSandbox, minutes: str) -> None:
    app = make_sandbox(otp_minutes=minutes)
    visitor = Visitor(app)
    early, late = visitor.begins(), visitor.begins()
    late_otp, early_otp = (mail["otp"] for mail in visitor.mails())
    Tester(app).advances(minutes=int(minutes) - 1)
    assert visitor.confirms(early, early_otp).body["status"] == 200
    Tester(app).advances(minutes=2)
    assert visitor.confirms(late, late_otp).code == 401


@pytest.mark.parametrize("attempts", ["3", "1"])
def test_unknown_otp_attempts(make_sandbox: MakeSandbox, attempts: str) -> None:
    visitor = Visitor(make_sandbox(otp_attempts=attempts))
    token = visitor.begins()
    for _ in range(int(attempts) - 1):
        visitor.confirms(token, visitor.wrong_otp())
    other = visitor.begins()
    last = visitor.mails()[1]["otp"]
    assert visitor.confirms(token, last).body["status"] == 200
    for _ in range(int(attempts)):
        visitor.confirms(other, visitor.wrong_otp())
    assert visitor.confirms(other, visitor.otp()).code == 401


@pytest.mark.parametrize(("value", "works"), [("valid", True), ("revoked", False)])
def test_unknown_earlier_verification_tokens(make_sandbox: MakeSandbox, value: str, works: bool) -> None:
    visitor = Visitor(make_sandbox(earlier_verification_tokens=value))
    first, otp = visitor.begins(), visitor.otp()
    assert visitor.gets_token()
    assert ("status" in visitor.confirms(first, otp).body) is works


def test_unknown_user_credentials_client(make_sandbox: MakeSandbox) -> None:
    app = make_sandbox(user_credentials="client")
    user = Visitor(app).logs_in_fully()["user"]
    assert user["credentials"] == {"clientId": "sandbox-client", "clientSecret": "sandbox-secret-0123456789abcdef"}
    assert "sandbox-secret" not in str(Tester(app).requests())
