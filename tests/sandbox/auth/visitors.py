"""Somebody who registers and logs in, and reads the mails in between."""

from __future__ import annotations

import json
from typing import Any

from flask import Flask

from tests.sandbox.actors import Answer, Tester, exact

EMAIL, PASSWORD = "merchant@example.com", "sandbox-password"


class Visitor:
    """Calls the service without a signature."""

    def __init__(self, app: Flask) -> None:
        self._http = app.test_client()
        self._tester = Tester(app)

    def posts(self, path: str, body: Any) -> Answer:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        response = self._http.post(f"/v1/auth/{path}", data=data, content_type="application/json")
        return Answer(response.status_code, exact(response.data))

    def registers(self, email: str = "new@example.com", **fields: Any) -> Answer:
        body = {"email": email, "password": "correct horse", "fullName": "New Person"} | fields
        return self.posts("register", {name: value for name, value in body.items() if value is not ...})

    def logs_in(self, email: Any = EMAIL, password: Any = PASSWORD) -> Answer:
        return self.posts("login", {"email": email, "password": password})

    def begins(self, email: str = EMAIL, password: str = PASSWORD) -> str:
        """Logs in; gives the verification token."""
        token = self.logs_in(email, password).data["verificationToken"]
        assert isinstance(token, str)
        return token

    def mails(self, to: str = EMAIL) -> list[dict[str, Any]]:
        response = self._http.get(f"/_sandbox/mails?to={to}", headers=self._tester._headers)
        found = json.loads(response.data)
        assert isinstance(found, list)
        return found

    def otp(self, to: str = EMAIL) -> str:
        """The newest one-time password in the mailbox."""
        otp = self.mails(to)[0]["otp"]
        assert isinstance(otp, str)
        return otp

    def confirms(self, token: Any, otp: Any, **fields: Any) -> Answer:
        return self.posts("verify-login", {"verificationToken": token, "otp": otp} | fields)

    def gets_token(self, email: str = EMAIL, password: str = PASSWORD, **fields: Any) -> str:
        """The whole login; gives the access token."""
        token = self.confirms(self.begins(email, password), self.otp(email), **fields).data["accessToken"]
        assert isinstance(token, str)
        return token

    def wrong_otp(self, to: str = EMAIL) -> str:
        """As many digits as the right one, and another number."""
        right = self.otp(to)
        return f"{(int(right) + 1) % 10 ** len(right):0{len(right)}d}"
