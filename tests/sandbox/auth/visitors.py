"""An actor who registers and logs in, and reads the mails in between."""

from __future__ import annotations

from typing import Any

from flask import Flask

from tests.sandbox.actors import Answer, Tester, call, without_gaps

EMAIL, PASSWORD = "merchant@example.com", "sandbox-password"


class Visitor:
    """Calls the service without a signature."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    def posts(self, path: str, body: Any) -> Answer:
        return call(self._app, "POST", f"/v1/auth/{path}", body)

    def registers(self, email: Any = "new@example.com", **fields: Any) -> Answer:
        body = {"email": email, "password": "correct horse", "fullName": "New Person"} | fields
        return self.posts("register", without_gaps(body))

    def logs_in(self, email: Any = EMAIL, password: Any = PASSWORD) -> Answer:
        return self.posts("login", {"email": email, "password": password})

    def begins(self, email: str = EMAIL, password: str = PASSWORD) -> str:
        """Begin a login; returns the verification token."""
        return str(self.logs_in(email, password).data["verificationToken"])

    def mails(self, to: str = EMAIL) -> Any:
        return Tester(self._app).does("GET", f"mails?to={to}")

    def otp(self, to: str = EMAIL) -> str:
        """The newest one-time password in the mailbox."""
        return str(self.mails(to)[0]["otp"])

    def confirms(self, token: Any, otp: Any, **fields: Any) -> Answer:
        return self.posts("verify-login", {"verificationToken": token, "otp": otp} | fields)

    def logs_in_fully(self, email: str = EMAIL, password: str = PASSWORD, **fields: Any) -> Any:
        """Do both steps of a login; returns access token and user."""
        return self.confirms(self.begins(email, password), self.otp(email), **fields).data

    def gets_token(self, email: str = EMAIL, **fields: Any) -> str:
        return str(self.logs_in_fully(email, **fields)["accessToken"])

    def wrong_otp(self, to: str = EMAIL) -> str:
        """A wrong one-time password with the right number of digits."""
        right = self.otp(to)
        return f"{(int(right) + 1) % 10 ** len(right):0{len(right)}d}"
