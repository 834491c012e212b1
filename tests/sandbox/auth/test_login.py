"""`POST /v1/auth/login` and `/verify-login`: a mailed password that works once, in time, with few attempts."""

from __future__ import annotations

import re

from tests.sandbox.auth.visitors import EMAIL, PASSWORD, Visitor


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
    assert visitor.logs_in("stranger@example.com", PASSWORD) == wrong
    assert visitor.logs_in("Merchant@Example.COM").body["status"] == 200


def test_five_wrong_guesses_end_a_login(visitor: Visitor) -> None:
    token = visitor.begins()
    guesses = [visitor.confirms(token, otp).code for otp in [visitor.wrong_otp()] * 5 + [visitor.otp()]]
    assert guesses == [401] * 6
