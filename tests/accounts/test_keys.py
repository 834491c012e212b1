"""The keys of merchant accounts: read from the shop, cached for a while, and read again at once when refused."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import flask_paycheckout
from flask_paycheckout import Account, ConfigurationError
from flask_paycheckout.client import PaymentsClient
from flask_paycheckout.service.accounts import Accounts, AccountUnavailable
from flask_paycheckout.text import require_account_name
from tests.conftest import OpenShop

SECRET = "canary-account-secret-55"
PACKAGE = str(Path(flask_paycheckout.__file__).parent)


class Shop:
    """A shop with some sellers' keys, which counts the lookups."""

    def __init__(self, *names: str) -> None:
        self.keys: dict[str, Any] = {name: Account(f"id-{name}", f"{SECRET}-{name}") for name in names}
        self.asked: list[str] = []

    def __call__(self, name: str) -> Any:
        self.asked.append(name)
        account = self.keys.get(name)
        if isinstance(account, Exception):
            raise account
        return account

    def make(self, account: Account) -> PaymentsClient:
        return PaymentsClient("http://127.0.0.1:1", client_id=account.client_id, client_secret=account.client_secret)


def accounts_of(shop: Shop, now: Callable[[], float] = lambda: 0.0) -> Accounts:
    default = PaymentsClient("http://127.0.0.1:1", client_id="d", client_secret="default-secret")
    return Accounts(default, shop.make, shop, 60.0, now)


def test_the_shop_is_asked_once_for_a_while_and_its_client_is_kept() -> None:
    shop, time = Shop("ada"), [0.0]
    accounts = accounts_of(shop, lambda: time[0])
    first = accounts.client_of("ada")
    time[0] = 59.0
    assert accounts.client_of("ada") is first
    time[0] = 60.0
    assert accounts.client_of("ada") is first, "the keys are the same"
    assert shop.asked == ["ada", "ada"]
    assert accounts.client_of("") is not first


def test_new_keys_get_a_new_client_once_the_old_ones_are_refused() -> None:
    shop = Shop("ada")
    accounts = accounts_of(shop)
    first = accounts.client_of("ada")
    shop.keys["ada"] = Account("id-ada", "rotated")
    assert accounts.client_of("ada") is first
    accounts.refused("ada", first)
    second = accounts.client_of("ada")
    assert second is not first
    accounts.refused("ada", first)
    assert accounts.client_of("ada") is second
    assert len(shop.asked) == 2, "a late refusal of the old keys says nothing about the new ones"


@pytest.mark.parametrize("address", ["http://service.example", "http://127.0.0.1:8790"])
def test_an_address_that_the_settings_may_not_have_is_none_of_an_account(open_shop: OpenShop, address: str) -> None:
    shop = open_shop(TESTING=False, PAYCHECKOUT_PUBLIC_URL="https://shop.example")
    shop.paycheckout.account(lambda name: Account("id-ada", SECRET, base_url=address))
    with shop.app.app_context(), pytest.raises(AccountUnavailable, match="'ada': its base_url is"):
        shop.paycheckout.client_of("ada")


def test_the_least_used_clients_go(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = Shop("a", "b", "c")
    monkeypatch.setattr("flask_paycheckout.service.accounts._MOST_CLIENTS", 2)
    accounts = accounts_of(shop)
    for name in ("a", "b", "a", "c", "b"):
        accounts.client_of(name)
    assert shop.asked == ["a", "b", "c", "b"]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "knows no such account"),
        (("id", SECRET), "gave a tuple and no Account"),
        ({"client_secret": SECRET}, "gave a dict and no Account"),
        (SECRET, "gave a str and no Account"),
        ([SECRET], "gave a list and no Account"),
        (RuntimeError(f"keys are {SECRET}"), "raised RuntimeError"),
    ],
)
def test_an_account_that_is_gone_is_told_without_secrets(answer: Any, why: str) -> None:
    shop = Shop()
    shop.keys["ada"] = answer
    with pytest.raises(AccountUnavailable, match=why) as failed:
        accounts_of(shop).client_of("ada")
    assert [text for text in [str(failed.value), *variables_of(failed.value)] if SECRET in text] == []
    assert (failed.value.carried_out, failed.value.retryable) == ("no", True)


def variables_of(error: BaseException | None) -> Iterator[str]:
    """Everything that an error tracker receives: the error, its causes, and the variables of their frames."""
    while error is not None:
        yield repr(error)
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename.startswith(PACKAGE):
                yield from (repr(value) for name, value in frame.f_locals.items() if name != "self")
        error = error.__context__


@pytest.mark.parametrize(
    "arguments",
    [
        {"client_secret": f"{SECRET}\n"},
        {"client_secret": SECRET.encode()},
        {"client_secret": {"key": SECRET}},
        {"access_token": [SECRET]},
        {"access_token": (SECRET,)},
        {"base_url": f"https://{SECRET}@pay.example"},
        {"base_url": f"https://user:{SECRET}@pay.example"},
    ],
)
def test_no_variable_of_a_refusal_shows_a_key(arguments: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Account(**{"client_id": "id", "client_secret": SECRET} | arguments)
    assert [text for text in variables_of(refused.value) if SECRET in text] == []


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"client_id": "a\nb"}, r"Account\(client_id=\.\.\.\) has spaces"),
        ({"client_secret": 7}, "client_secret.* must be a string"),
        ({"client_id": None}, r"Account\(client_id=\.\.\.\) is missing"),
        ({"client_secret": ""}, "client_secret.* is missing"),
        ({"access_token": ""}, "access_token.* is empty"),
        ({"base_url": "ftp://x"}, "base_url"),
        ({"checkout_origins": ["https://x/path"]}, "checkout_origins.* contains a path"),
        ({"signer": object()}, "signer.* has no method sign"),
        ({"public_url": "ada.example"}, r"Account\(public_url=\.\.\.\)"),
        ({"languages": ["xx"]}, r"Account\(languages=\.\.\.\)"),
        ({"time_zone": "Mars/Base"}, r"Account\(time_zone=\.\.\.\)"),
        ({"shop_name": "a\nb"}, r"Account\(shop_name=\.\.\.\)"),
    ],
)
def test_keys_that_cannot_be_used_are_refused_by_name(arguments: dict[str, Any], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault):
        Account(**{"client_id": "id", "client_secret": SECRET} | arguments)


def test_no_secret_shows_itself() -> None:
    text = repr(Account("id", SECRET, access_token=f"{SECRET}-token"))
    assert ("id" in text, SECRET in text) == (True, False)


@pytest.mark.parametrize(("name", "error"), [(7, TypeError), ("a\nb", ValueError), ("x" * 256, ValueError)])
def test_a_name_is_a_short_text(name: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="account must"):
        require_account_name(name)
