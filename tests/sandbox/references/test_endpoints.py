"""`GET /v1/reference/...`: the content of each list, its filters, and the access without credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest
from flask import Flask
from iso4217 import Currency

from flask_paycheckout.sandbox.disbursements.banks import METHODS
from flask_paycheckout.sandbox.references.data import COUNTRIES
from flask_paycheckout.sandbox.world.money import TOKENS, decimals_of
from tests.sandbox.actors import Tester, call

Reads = Callable[..., Any]


@pytest.fixture
def reads(sandbox: Flask) -> Reads:
    """Reads a list without any header."""
    return lambda path, **query: call(sandbox, "GET", f"/v1/reference/{path}?{urlencode(query)}").data


def test_currencies_are_those_of_iso_4217(reads: Reads) -> None:
    for record in reads("currencies"):
        currency = Currency(record["currency"])
        assert (record["value"], record["name"]) == (record["country"].upper(), currency.currency_name)
        assert decimals_of(record["currency"]) == currency.exponent


def test_use_smart_contract_splits_the_cryptos_in_two(reads: Reads) -> None:
    with_contract, without = (
        {record["id"] for record in reads("cryptos", useSmartContract=value)} for value in ("true", "false")
    )
    assert "usdc-polygon" in with_contract
    assert {"eth-ethereum", "usdc-stellar"} <= without
    assert sorted([*with_contract, *without]) == sorted(token.id for token in TOKENS)


def test_cryptos_are_filtered_by_blockchain_type(reads: Reads) -> None:
    for kind in ("EVM", "STELLAR"):
        ids = [record["id"] for record in reads("cryptos", blockchainType=kind)]
        assert ids == [token.id for token in TOKENS if token.blockchain_type == kind]


def test_banks_come_in_pages_of_ten_each_once(reads: Reads) -> None:
    page, many = reads("banks"), len(METHODS) + 2 * len(COUNTRIES)
    assert (len(page["docs"]), page["limit"], page["totalDocs"]) == (10, 10, many)
    codes = [bank["paymentCode"] for number in (1, 2, 3) for bank in reads("banks", limit=40, page=number)["docs"]]
    assert len(codes) == len(set(codes)) == many


def test_banks_are_filtered_by_country_in_any_case_and_by_currency(reads: Reads) -> None:
    for country in ("united states", "UNITED STATES"):
        assert {bank["country"] for bank in reads("banks", country=country, limit=100)["docs"]} == {"United States"}
    banks = reads("banks", currency="EUR", limit=100)["docs"]
    assert {bank["currency"] for bank in banks} == {"EUR"}
    assert len({bank["country"] for bank in banks}) > 1


def test_disbursment_available_leaves_the_banks_that_can_be_paid(reads: Reads) -> None:
    available = reads("banks", disbursmentAvailable="true", limit=100)["docs"]
    assert [bank["paymentCode"] for bank in available] == [method.bank_code for method in METHODS]
    page = reads("banks", disbursmentAvailable="true", country="France", currency="EUR")
    assert [bank["paymentCode"] for bank in page["docs"]] == ["fr_banque_du_sable"]
    assert reads("banks", disbursmentAvailable="false") == reads("banks")


def test_payment_methods_are_those_of_buying_crypto(reads: Reads) -> None:
    methods = reads("payment-methods")
    assert {"onramp_us_card", "onramp_eu_sepa"} <= {method["code"] for method in methods}
    assert reads("payment-methods", isForDeposit="false") == methods


def test_is_for_deposit_gives_the_methods_of_deposits(reads: Reads, tester: Tester) -> None:
    tester.does("POST", "accounts/default/switches", {"paymentMethods": [{"code": "us_qr", "enabled": False}]})
    listed = {method["code"]: method["isActive"] for method in reads("payment-methods", isForDeposit="true")}
    assert listed == {
        method["code"]: method["enabled"]
        for method in tester.does("GET", "accounts/default/switches")["paymentMethods"]
    }
    assert not listed["us_qr"]
