"""The user in the answer of a confirmed login: each field, an invitation, and the page that verifies the user."""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import urlsplit

from flask import Flask

from tests.sandbox.actors import Tester
from tests.sandbox.auth.visitors import EMAIL, Visitor
from tests.sandbox.disbursements.payers import Payer

INVITED = "invited@example.com"
MAY_BE_UNKNOWN = {"invitation_date", "invitation_expiration_date", "otp_code", "kyc_url"}


def test_every_field_is_shown_whoever_logs_in(visitor: Visitor) -> None:
    visitor.registers()
    token, otp = visitor.begins("new@example.com", "correct horse"), visitor.otp("new@example.com")
    registered = visitor.confirms(token, otp).data["user"]
    for user in (registered, visitor.logs_in_fully(EMAIL)["user"], visitor.logs_in_fully(INVITED)["user"]):
        assert set(user) > MAY_BE_UNKNOWN
        assert [name for name, value in user.items() if value is None] == []
        dates = [datetime.fromisoformat(user[name]) for name in ("invitation_date", "invitation_expiration_date")]
        assert dates[1] - dates[0] == timedelta(days=7)
    assert registered["otp_code"] == otp
    assert (registered["country"], registered["invitation_date"]) == ("", registered["createdAt"])


def test_the_invited_user_acts_for_the_account_that_invited_them(sandbox: Flask, visitor: Visitor) -> None:
    payer = Payer(sandbox)
    payer.access_token = visitor.gets_token(INVITED)
    assert payer.sees(payer.pays_one())["status"] == "pending"
    assert [account["email"] for account in Tester(sandbox).does("GET", "accounts")] == [EMAIL]
    # The address is taken, although nobody has logged in with it.
    assert visitor.registers(INVITED).code == 409


def test_the_address_of_the_identity_check_leads_to_its_page(sandbox: Flask, visitor: Visitor) -> None:
    user = visitor.logs_in_fully(INVITED)["user"]
    assert user["iskyc"] is False
    page, browser = urlsplit(user["kyc_url"]).path, sandbox.test_client()
    assert "Confirm my identity" in browser.get(page).text
    assert browser.post(page, headers={"Origin": "https://evil.example"}).status_code == 403
    verified = browser.post(page, follow_redirects=True)
    assert "Invited Colleague has been verified" in verified.text
    assert visitor.logs_in_fully(INVITED)["user"]["iskyc"] is True
    assert browser.get("/identity/nobody").status_code == 404
