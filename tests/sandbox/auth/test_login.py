"""`POST /v1/auth/login`: the first step, its mail, and what a wrong guess learns."""

from __future__ import annotations

import re

import pytest
from werkzeug.security import check_password_hash

from flask_paycheckout.sandbox.auth import rules
from tests.sandbox.auth.visitors import EMAIL, PASSWORD, Visitor
from tests.sandbox.conftest import MakeSandbox

pytestmark = pytest.mark.each_database


@pytest.mark.rule("A login answers a verification token, with its number under status.")
def test_a_login_answers_status_in_place_of_status_code(visitor: Visitor) -> None:
    answer = visitor.logs_in()
    assert set(answer.body) == {"status", "message", "data"}
    assert (answer.http_status, answer.body["status"]) == (200, 200)
    assert set(answer.data) == {"verificationToken"}


@pytest.mark.rule("The one-time password goes to the user's e-mail address.")
def test_the_one_time_password_is_mailed(visitor: Visitor) -> None:
    visitor.logs_in()
    (mail,) = visitor.mails()
    assert set(mail) == {"to", "subject", "text", "otp", "sentAt"}
    assert mail["to"] == EMAIL
    assert re.fullmatch("[0-9]{6}", mail["otp"])
    assert mail["otp"] in mail["text"]
    assert mail["otp"] not in mail["subject"]


@pytest.mark.rule("A login needs e-mail address and password.")
@pytest.mark.parametrize("field", ["email", "password"])
def test_email_and_password_are_required_strings(visitor: Visitor, field: str) -> None:
    for value in (None, 5):
        refused = visitor.logs_in(**{field: value})
        assert refused.code == 400
        assert refused.message.startswith(f"{field} "), value


@pytest.mark.rule("How wrong passwords and wrong one-time passwords are answered is open.")
def test_a_wrong_password_and_an_unknown_address_get_the_same_answer(visitor: Visitor) -> None:
    wrong, stranger = visitor.logs_in(password="guessed"), visitor.logs_in("stranger@example.com")
    assert (wrong.code, wrong.body["error"]) == (401, "Unauthorized")
    assert wrong == stranger
    assert visitor.mails("stranger@example.com") == []


def test_a_wrong_password_and_an_unknown_address_cost_the_same_work(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed: list[str] = []

    def counts(pwhash: str, password: str) -> bool:
        hashed.append(pwhash.split("$")[0])
        return check_password_hash(pwhash, password)

    monkeypatch.setattr(rules, "check_password_hash", counts)
    visitor.registers("other@example.com")
    for email, password in (("other@example.com", "guessed"), ("stranger@example.com", "guessed")):
        visitor.logs_in(email, password)
    assert len(hashed) == 2
    assert hashed[0] == hashed[1]


def test_the_start_users_password_does_not_open_other_addresses(visitor: Visitor) -> None:
    # Unknown addresses are compared with its hash, so that the comparison is a real one.
    assert visitor.logs_in("stranger@example.com", PASSWORD).code == 401


def test_capital_letters_in_the_address_do_not_matter(visitor: Visitor) -> None:
    assert visitor.logs_in("Merchant@Example.COM").body["status"] == 200


@pytest.mark.parametrize("digits", ["4", "8"])
def test_unknown_otp_digits(make_sandbox: MakeSandbox, digits: str) -> None:
    visitor = Visitor(make_sandbox(otp_digits=digits))
    visitor.logs_in()
    assert re.fullmatch(f"[0-9]{{{digits}}}", visitor.otp())
    assert visitor.gets_token()
