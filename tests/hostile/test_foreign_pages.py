"""Requests to the sandbox from pages of another origin: they have no effect, leave no record and show nothing."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from tests.hostile.test_sandbox import doors, knock, sandbox, world_of
from tests.sandbox.actors import Tester
from tests.sandbox.inspector.developer import Developer

__all__ = ["sandbox"]

PARTS = (
    *("auth", "checkouts", "deposits", "recipients", "fiat_disbursements", "crypto_disbursements"),
    *("disbursements", "payments", "references", "hosted_page", "inspector"),
)
CROSS = {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
FOREIGN = {
    "fetch": CROSS | {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "empty", "Content-Type": "text/plain"},
    "frame": {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
    "other-port": {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
    "unheard-of": {"Sec-Fetch-Site": "elsewhere"},
}
# The headers of browsers without Sec-Fetch-Site, or that consider the sandbox's host insecure.
OLD = {
    "origin": {"Origin": "https://evil.example"},
    "sandboxed": {"Origin": "null"},
    "broken": {"Origin": "http://[::1"},
}
LINK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
QUOTES = ("GET", "/v2/payment/quote")
REGISTERS = b'{"email": "evil@example.com", "password": "long-enough-1", "fullName": "Evil"}'


def everything(app: Flask) -> tuple[Any, ...]:
    return *world_of(app), Tester(app).does("GET", "mails")


def is_refused(answer: Any) -> bool:
    if answer.status_code != 403:
        return False
    if "statusCode" in answer.json:
        return bool(answer.json["statusCode"] == 403 and answer.json["message"].startswith("page is of another origin"))
    return bool(answer.json["error"]["field"] == "page")


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_a_foreign_page_reaches_no_operation_and_no_page(sandbox: Flask, headers: dict[str, str]) -> None:
    Tester(sandbox).does("POST", "faults", {"operation": "POST /v1/auth/register", "kind": "drop"})
    before, tried = everything(sandbox), doors(sandbox, *PARTS)
    if "Sec-Fetch-Mode" not in headers:
        # Scripts of every page may request quotes, but with a client id.
        tried.remove(QUOTES)
        assert knock(sandbox, *QUOTES, headers).status_code == 401
    assert [door for door in tried if not is_refused(knock(sandbox, *door, headers, body=REGISTERS))] == []
    assert everything(sandbox) == before
    assert len(tried) >= 40


@pytest.mark.parametrize("headers", OLD.values(), ids=OLD)
def test_by_its_origin_alone_nothing_is_changed(sandbox: Flask, headers: dict[str, str]) -> None:
    before = everything(sandbox)
    for verb, path in doors(sandbox, *PARTS):
        if verb != "GET":
            assert is_refused(knock(sandbox, verb, path, headers, body=REGISTERS)), path
    assert everything(sandbox) == before


def test_a_foreign_page_pays_no_checkout(sandbox: Flask) -> None:
    """The page may know the checkout's address from a link."""
    checkout = Tester(sandbox).requests()[0]["answerBody"].split('"id":"')[1][:24]
    for act, form in (("method", b"method=us_qr"), ("payment", b"")):
        typed = {"Content-Type": "application/x-www-form-urlencoded"}
        assert is_refused(knock(sandbox, "POST", f"/checkout/{checkout}/{act}", CROSS | typed, body=form))
    assert 'name="method"' in knock(sandbox, "GET", f"/checkout/{checkout}", LINK).text


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_a_link_opens_a_page(sandbox: Flask, site: str) -> None:
    """Shops send their customers here, and people type addresses."""
    link = LINK | {"Sec-Fetch-Site": site}
    developer = Developer(sandbox)
    for path in ("/", "/inspector/mails", "/v1/reference/currencies"):
        assert developer.http.get(path, headers=link).status_code == 200


def test_no_answer_can_be_run_framed_or_loaded_elsewhere(sandbox: Flask) -> None:
    for verb, path in (*doors(sandbox, *PARTS, "control"), ("GET", "/nothing"), ("GET", "/v1/nothing")):
        headers = knock(sandbox, verb, path, {}).headers
        assert headers["X-Content-Type-Options"] == "nosniff", path
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"], path
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin", path
