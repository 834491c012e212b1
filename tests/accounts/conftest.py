"""A shop with two sellers, and a service that knows which keys are good."""

from __future__ import annotations

from collections.abc import Callable
from json import loads
from typing import Any

import httpx
import pytest

from flask_paycheckout import Account, Pay
from tests.conftest import OpenShop
from tests.scripted import Answer, Service, Shop, garbage, refusal, success

# The client id of the account that each access token belongs to.
OWNERS = {"token-ada": "id-ada", "token-bo": "id-bo", "token-of-the-platform": "shop-1"}
SECRETS = {"ada": "canary-secret-of-ada", "bo": "canary-secret-of-bo"}


class SigningService(Service):
    """Remembers who signed each call, and refuses keys that are not good any more."""

    def __init__(self) -> None:
        super().__init__()
        self.signed: list[tuple[str, str]] = []
        self.refused: set[str] = set()
        self.down: Answer | None = None
        self.keeps_answers = False
        self.paid_out: dict[str, str] = {}
        """The token by each reference of a disbursement: only the keys of the token's account can read it."""

        self.before: Callable[[str], object] = lambda client_id: None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        # Creating a disbursement is authorized by a token alone.
        client_id = request.headers.get("X-Client-ID") or request.headers["Authorization"].removeprefix("Bearer ")
        self.before(client_id)
        self.signed.append((client_id, request.url.path.rsplit("/", 1)[1]))
        if isinstance(self.down, Exception):
            raise self.down
        if isinstance(self.down, httpx.Response):
            return httpx.Response(self.down.status_code, headers=self.down.headers, content=self.down.content)
        return refusal(401, "Unknown client") if client_id in self.refused else super().__call__(request)

    def _create(self, request: httpx.Request) -> Answer:
        if "disbursement" not in request.url.path:
            return super()._create(request)
        body = loads(request.content)
        token = request.headers["Authorization"].removeprefix("Bearer ")
        self.paid_out |= {item["reference"]: token for item in body["disburseData"]}
        if self.keeps_answers:
            return garbage()
        made = [
            {"disbursementId": f"of-{item['reference']}", "status": "pending", "reference": item["reference"]}
            for item in body["disburseData"]
        ]
        return success({"disburseData": made}, 201)

    def _read(self, request: httpx.Request) -> Answer:
        found = request.url.path.rsplit("/", 1)[1]
        if "disbursement" not in request.url.path:
            return super()._read(request)
        reader = request.headers["X-Client-ID"]
        if found == "report":
            reference = request.url.path.rsplit("/", 2)[1].removeprefix("of-")
            if OWNERS.get(self.paid_out[reference]) != reader:
                return refusal(404, "Disbursement not found")
            return httpx.Response(200, content=b"%PDF-1.4 proof", headers={"Content-Type": "application/pdf"})
        if found == "fiat":
            known = [made for made, token in self.paid_out.items() if OWNERS.get(token) == reader]
            return success([{"disbursementId": f"of-{made}", "status": "pending", "reference": made} for made in known])
        if OWNERS.get(self.paid_out.get(found.removeprefix("of-"), "")) not in (None, reader):
            return refusal(404, "Disbursement not found")
        return success({"disbursementId": found, "status": "completed", "reference": found.removeprefix("of-")})


@pytest.fixture
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own repetitions take time and are tested elsewhere."""
    monkeypatch.setattr("flask_paycheckout.client.retries._WORTH_REPEATING", ())


@pytest.fixture
def service() -> SigningService:
    return SigningService()


class Sellers:
    """The shop's sellers: whose order is whose, and their present client ids."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.of: dict[str, str] = {"o-1": "ada", "o-2": "bo"}
        self.client_ids: dict[str, str] = {name: f"id-{name}" for name in SECRETS}
        self.tokens: dict[str, Any] = {name: f"token-{name}" for name in SECRETS}
        self.asked: list[str] = []
        shop.paycheckout.account_of(lambda order_id: self.of.get(order_id, ""))
        shop.paycheckout.account(self.keys)

    def keys(self, name: str) -> Account | None:
        self.asked.append(name)
        client_id = self.client_ids.get(name)
        if client_id is None:
            return None
        secret = SECRETS.get(name, f"canary-secret-of-{name}")
        return Account(client_id, secret, access_token=self.tokens.get(name))

    def add(self, name: str, order_id: str) -> None:
        self.of[order_id] = name
        self.client_ids[name] = f"id-{name}"
        self.shop.totals[order_id] = Pay("12.50", "USD")


@pytest.fixture
def market(open_shop: OpenShop) -> Sellers:
    return Sellers(open_shop())
