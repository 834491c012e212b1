"""A shop with two sellers, and a service that knows which keys are good."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from flask_paycheckout import Account, Pay
from tests.conftest import OpenShop
from tests.scripted import Service, Shop, refusal

SECRETS = {"ada": "canary-secret-of-ada", "bo": "canary-secret-of-bo"}


class SigningService(Service):
    """Remembers who signed each call, and refuses keys that are not good any more."""

    def __init__(self) -> None:
        super().__init__()
        self.signed: list[tuple[str, str]] = []
        self.refused: set[str] = set()
        self.before: Callable[[str], None] = lambda client_id: None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        client_id = request.headers["X-Client-ID"]
        self.before(client_id)
        self.signed.append((client_id, request.url.path.rsplit("/", 1)[1]))
        return refusal(401, "Unknown client") if client_id in self.refused else super().__call__(request)


@pytest.fixture
def service() -> SigningService:
    return SigningService()


class Sellers:
    """The shop's sellers: whose order is whose, and their present client ids."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.of: dict[str, str] = {"o-1": "ada", "o-2": "bo"}
        self.client_ids: dict[str, str] = {name: f"id-{name}" for name in SECRETS}
        self.asked: list[str] = []
        shop.paycheckout.account_of(lambda order_id: self.of.get(order_id, ""))
        shop.paycheckout.account(self.keys)

    def keys(self, name: str) -> Account | None:
        self.asked.append(name)
        client_id = self.client_ids.get(name)
        return Account(client_id, SECRETS.get(name, f"canary-secret-of-{name}")) if client_id else None

    def add(self, name: str, order_id: str) -> None:
        self.of[order_id] = name
        self.client_ids[name] = f"id-{name}"
        self.shop.totals[order_id] = Pay("12.50", "USD")


@pytest.fixture
def market(open_shop: OpenShop) -> Sellers:
    return Sellers(open_shop())
