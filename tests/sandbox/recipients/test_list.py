"""`GET /v1/recipient`: search and filters, and the start state."""

from __future__ import annotations

import pytest

from tests.sandbox.actors import Merchant
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.recipients.payees import START, adds, bank, found

pytestmark = pytest.mark.each_database


def test_a_few_recipients_exist_from_the_start(merchant: Merchant) -> None:
    docs = merchant.calls("GET", "/v1/recipient").data["docs"]
    assert [doc["id"] for doc in docs] == START
    assert {doc["bank"][0]["currency"] for doc in docs} == {"USD", "GBP", "EUR", "IDR", "JPY"}
    assert {doc["recipientType"] for doc in docs} == {"Individual", "Business"}


@pytest.mark.rule("A search looks into names and e-mail addresses.")
@pytest.mark.parametrize(
    ("search", "names"),
    [
        pytest.param("Ada", ["Ada Example"], id="name"),
        pytest.param("ADA EX", ["Ada Example"], id="name-in-capitals"),
        pytest.param("accounts%40brunel", ["Brunel Works Ltd"], id="email"),
        pytest.param("%C3%A9milie", ["Émilie Exemple"], id="accent"),
        pytest.param("%E7%A0%82%E5%A0%B4", ["砂場商事株式会社"], id="other-script"),
        pytest.param("example.com", ["Ada Example"], id="part-of-email"),
        pytest.param("%25", [], id="percent-is-no-wildcard"),
        pytest.param("a_a", [], id="underscore-is-no-wildcard"),
        pytest.param("Bristol", [], id="not-the-city"),
    ],
)
def test_search_looks_into_name_and_email(merchant: Merchant, search: str, names: list[str]) -> None:
    assert found(merchant, f"search={search}") == names


@pytest.mark.parametrize(
    ("value", "hits"),
    [
        ("prefix", {"ada": 1, "ada@": 1, "example": 0, "ada example": 1}),
        ("exact", {"ada": 0, "ada@example.com": 1, "ADA example": 1}),
    ],
)
def test_unknown_recipient_search(make_sandbox: MakeSandbox, value: str, hits: dict[str, int]) -> None:
    merchant = Merchant(make_sandbox(recipient_search=value))
    for search, count in hits.items():
        assert len(found(merchant, f"search={search.replace(' ', '%20').replace('@', '%40')}")) == count, search


@pytest.mark.rule("Country and currency filter by the bank account.")
def test_country_and_currency_filter_by_the_bank_and_together_with_a_search(merchant: Merchant) -> None:
    adds(merchant, name="Ada Second", bank=bank(currency="USD", country="Ecuador"))
    assert found(merchant, "country=France") == ["Émilie Exemple"]
    assert found(merchant, "country=Atlantis") == found(merchant, "currency=CHF") == []
    assert found(merchant, "currency=JPY") == ["砂場商事株式会社"]
    assert found(merchant, "search=ada&currency=USD") == ["Ada Example", "Ada Second"]
    assert found(merchant, "search=ada&currency=USD&country=Ecuador") == ["Ada Second"]


@pytest.mark.parametrize("name", ["search", "country", "currency"])
def test_a_filter_is_a_short_printable_text(merchant: Merchant, name: str) -> None:
    for value in ("", "%00", "x" * 300):
        refused = merchant.calls("GET", f"/v1/recipient?{name}={value}")
        assert refused.code == 400
        assert refused.message.startswith(f"{name} "), value
