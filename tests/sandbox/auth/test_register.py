"""`POST /v1/auth/register`: each field, the new account, and refusals."""

from __future__ import annotations

import json

import pytest
from flask import Flask

from tests.sandbox.actors import Tester
from tests.sandbox.auth.visitors import Visitor


def test_the_registered_details_are_in_the_user_who_logs_in(visitor: Visitor) -> None:
    token = visitor.registers(country="Norway", countryCode="NO", nationalID="0101").data["verificationToken"]
    user = visitor.confirms(token, visitor.otp("new@example.com")).data["user"]
    assert user["name"] == user["legalFullName"] == "New Person"
    assert (user["email"], user["country"], user["countryCode"]) == ("new@example.com", "Norway", "NO")
    assert user["is_active"] is True
    assert user["iskyc"] is False
    assert user["kyc_url"].startswith("http")
    again = visitor.logs_in_fully("new@example.com", "correct horse")["user"]
    assert again | {"otp_code": user["otp_code"]} == user
    assert visitor.logs_in("new@example.com", "battery staple").code == 401


def test_the_request_log_masks_what_registering_and_logging_in_carry(sandbox: Flask, visitor: Visitor) -> None:
    visitor.registers(password="hunter2-hunter2", nationalID="P-900-X")
    token = visitor.begins()
    otp = visitor.otp()
    access_token = visitor.confirms(token, otp).data["accessToken"]
    visitor.posts("verify-login", b'{"verificationToken": "x", "otp": 99887766}')
    log = json.dumps(Tester(sandbox).requests())
    assert len(log) > 500
    assert not [secret for secret in ("hunter2", "P-900-X", token, access_token, "99887766") if secret in log]
    assert f'"{otp}"' not in log


@pytest.mark.on_each_database
def test_an_address_that_is_registered_is_refused(visitor: Visitor) -> None:
    visitor.registers()
    refused = visitor.registers("NEW@example.com", password="another one")
    assert (refused.code, refused.body["error"]) == (409, "Conflict")
    assert len(visitor.mails("new@example.com")) == 1
    assert visitor.logs_in("new@example.com", "another one").code == 401
