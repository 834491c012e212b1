"""A shop with two sellers, and a service that accepts valid keys only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from flask_paycheckout import Account
from tests.conftest import OpenShop
from tests.payouts.books import Books, Pages
from tests.scripted import Answer, Service, Shop, garbage, given, refusal

# The client id of the account that an access token belongs to; "token-ada" belongs to "id-ada".
OWNERS = {"token-of-the-platform": "shop-1"}
SECRET = "canary-secret-of-sellers"


def signer_of(request: httpx.Request) -> str:
    """The client id of a request, or its token if it creates a disbursement, which the token alone authorizes."""
    return request.headers.get("X-Client-ID") or request.headers["Authorization"].removeprefix("Bearer ")


class SigningService(Service):
    """Records who signed each call, and refuses keys that are no longer valid."""

    def __init__(self) -> None:
        super().__init__()
        self.signed: list[tuple[str, str]] = []
        self.refused: set[str] = set()
        self.down: Answer | None = None
        self.keeps_answers = False
        self.books: dict[str, Books] = {}
        """The books of each account, by client id: only the keys of the account that paid can read a payout."""

        self.before: Callable[[str], object] = lambda client_id: None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        client_id = signer_of(request)
        self.before(client_id)
        self.signed.append((client_id, request.url.path.rsplit("/", 1)[1]))
        if self.down is not None:
            return given(self.down)
        return refusal(401, "Unknown client") if client_id in self.refused else super().__call__(request)

    @property
    def paid_out(self) -> list[str]:
        """The reference of each payout."""
        return [payout.reference for books in self.books.values() for payout in books.paid]

    def _create(self, request: httpx.Request) -> Answer:
        if "disbursement" not in request.url.path:
            return super()._create(request)
        answer = self._written(request)
        return garbage() if self.keeps_answers else answer

    def _read(self, request: httpx.Request) -> Answer:
        if "disbursement" not in request.url.path:
            return super()._read(request)
        if request.url.path.endswith("/report"):
            return httpx.Response(200, content=b"%PDF-1.4 proof", headers={"Content-Type": "application/pdf"})
        return self._written(request)

    def _written(self, request: httpx.Request) -> Answer:
        """The answer of an account's books, whose transfers are completed at once."""
        signer = signer_of(request)
        books = self.books.setdefault(OWNERS.get(signer, signer.replace("token-", "id-")), Books(Pages()))
        answer = books.answers(request.method, str(request.url), request.content)
        books.finish()
        return answer


@pytest.fixture
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own retries take time and are tested elsewhere."""
    monkeypatch.setattr("flask_paycheckout.client.waiting._WORTH_REPEATING", ())


@pytest.fixture
def service() -> SigningService:
    return SigningService()


class Sellers:
    """The shop's sellers: the seller of each order, and the sellers' present client ids."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.of: dict[str, str] = {"o-1": "ada", "o-2": "bo"}
        self.client_ids: dict[str, str | None] = {"ada": "id-ada", "bo": "id-bo"}
        self.tokens: dict[str, Any] = {"ada": "token-ada", "bo": "token-bo"}
        shop.paycheckout.account_of(lambda order_id: self.of.get(order_id, ""))
        shop.paycheckout.account(self.keys)

    def keys(self, name: str) -> Account | None:
        client_id = self.client_ids.get(name)
        return None if client_id is None else Account(client_id, SECRET, access_token=self.tokens.get(name))

    def add(self, name: str, order_id: str) -> None:
        self.of[order_id] = name
        self.client_ids[name] = f"id-{name}"
        self.shop.costs("12.50", order_id)


@pytest.fixture
def market(open_shop: OpenShop) -> Sellers:
    return Sellers(open_shop())
