"""A second merchant account for tests that need only one: half of the orders and payouts belong to it.

Every call is compared with the account whose checkout or payout it is about.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

import httpx
import msgspec

from flask_paycheckout import Account

if TYPE_CHECKING:
    from flask_paycheckout import PayCheckout
    from flask_paycheckout.testing import Sandbox
    from tests.scripted import Shop

SECOND = "second"


def account_of(name: str) -> str:
    """The account of an order or of a payout's reference: the second one if the name ends with an odd digit.

    The name alone decides, so that every process finds the same account.
    """
    return SECOND if name[-1:] in tuple("13579") else ""


def keys_of_second(sandbox: Sandbox | None, client_id: str) -> Account:
    """The second account's keys, in the sandbox, or for a service that accepts any keys.

    :param client_id: the client id of the settings' account.
    """
    client_id, secret, token = f"{client_id}-{SECOND}", f"canary-secret-of-{SECOND}", f"canary-token-of-{SECOND}"
    if sandbox is not None and sandbox.account(SECOND).client_id != client_id:
        keys = {"client_id": client_id, "client_secret": secret, "access_token": token}
        sandbox.control("POST", f"accounts/{SECOND}/keys", **keys)
    return Account(client_id, secret, access_token=token)


def gets_two_accounts(paycheckout: PayCheckout, keys: Account) -> None:
    paycheckout.account_of(account_of)
    paycheckout.account(lambda name: keys if name == SECOND else None)


def signed_by(request: httpx.Request) -> str:
    """The account whose keys or access token signed a request; the second account's contain its name."""
    signed = request.headers.get("X-Client-ID") or request.headers.get("Authorization", "").split()[-1]
    return SECOND if SECOND in signed else ""


class Signatures(httpx.BaseTransport):
    """A transport that records which account made each object, and each call for another account's object."""

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner
        self.made: dict[str, str] = {}
        """The account that made each checkout and disbursement, by id and by reference."""

        self.wrong: list[str] = []
        clock: Callable[[], datetime] | None = getattr(inner, "clock", None)
        if clock is not None:
            self.clock = clock

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        account = signed_by(request)
        sent = request.read()
        if request.method == "GET" and self.made.get(request.url.path.rsplit("/", 1)[1], account) != account:
            self.wrong.append(f"{request.url.path} was read with the keys of {account!r}")
        if request.method == "POST" and "/disbursement/" in request.url.path:
            self.made |= dict.fromkeys(_values(b"reference", sent), account)
        answer = self._inner.handle_request(request)
        if request.method == "POST":
            # If a faulty service repeats an id, the id belongs to the first account.
            self.made = dict.fromkeys(_values(b"(?:id|disbursementId)", answer.read()), account) | self.made
        return answer

    def close(self) -> None:
        self._inner.close()

    def check(self, shop: Shop, sandbox: Sandbox | None) -> None:
        """Compare the stored accounts with the accounts that made the objects."""
        assert self.wrong == []
        stored: dict[str, str] = {}
        models = shop.runtime.models
        with shop.engine.connect() as connection:
            for row in connection.execute(models.checkouts.select()).mappings():
                assert row["account"] == account_of(row["order_id"]), "account_of was asked once, at the start"
                stored[row["checkout_id"]] = row["account"]
            for row in connection.execute(models.payouts.select()).mappings():
                stored[row["service_reference"]] = row["account"]
        assert {name: self.made[name] for name in stored if name in self.made} == {
            name: account for name, account in stored.items() if name in self.made
        }
        for line in sandbox.control("GET", "requests") if sandbox is not None else ():
            owner = stored.get(line["target"].rsplit("/", 1)[1])
            # Without an account, an injected fault answered the call before the signature was checked.
            if owner is not None and line["account"] is not None:
                assert line["account"] == (owner or "default"), line


def _values(name: bytes, body: bytes) -> list[str]:
    """The values of a field anywhere in a body."""
    values: list[Any] = re.findall(rb'"%s"\s*:\s*("(?:[^"\\]|\\.)*")' % name, body)
    return [msgspec.json.decode(value, type=str) for value in values]
