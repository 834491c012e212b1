"""`GET /v1/reference/...`: what each list holds, its filters, and that nobody needs credentials."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from flask import Flask
from iso4217 import Currency

from flask_paycheckout.sandbox.fiat_disbursements.methods import METHODS
from flask_paycheckout.sandbox.money.currencies import decimals_of
from flask_paycheckout.sandbox.money.tokens import TOKENS
from flask_paycheckout.sandbox.references.countries import COUNTRIES
from tests.sandbox.actors import Answer, Tester, exact
from tests.sandbox.conftest import MakeSandbox


class Reader:
    """Reads reference lists as anybody can: without a single header."""

    def __init__(self, app: Flask) -> None:
        self._http = app.test_client()

    def asks(self, path: str, **query: Any) -> Answer:
        response = self._http.get(f"/v1/reference/{path}?{urlencode(query)}")
        return Answer(response.status_code, exact(response.data))

    def reads(self, path: str, **query: Any) -> Any:
        answer = self.asks(path, **query)
        assert answer.code == 200, answer
        return answer.data


@pytest.fixture
def reader(sandbox: Flask) -> Reader:
    return Reader(sandbox)


@pytest.mark.parametrize("path", ["currencies", "cryptos", "banks", "payment-methods"])
def test_a_list_is_the_same_in_every_world(make_sandbox: MakeSandbox, path: str) -> None:
    assert Reader(make_sandbox()).reads(path) == Reader(make_sandbox()).reads(path)


@pytest.mark.rule("The value of a currency is the country's name in capitals.")
def test_the_value_of_a_currency_is_its_country_in_capitals(reader: Reader) -> None:
    for record in reader.reads("currencies"):
        assert record["value"] == record["country"].upper()


def test_currencies_are_those_of_iso_4217(reader: Reader) -> None:
    for record in reader.reads("currencies"):
        known = Currency(record["currency"])
        assert record["name"] == known.currency_name
        assert decimals_of(record["currency"]) == known.exponent


@pytest.mark.rule("Each currency names its country and what its bank accounts need.")
@pytest.mark.parametrize(
    ("country", "needed"),
    [
        ("US", {"requireBankName", "requireAccountNumber", "requireAchOrWire"}),
        ("IN", {"requireBankName", "requireAccountNumber", "requireIfsc"}),
        ("DE", {"requireIban"}),
        ("KW", {"requireBankName", "requireIban"}),
        ("JP", {"requireBankName", "requireAccountNumber"}),
    ],
)
def test_a_currency_says_what_its_bank_accounts_need(reader: Reader, country: str, needed: set[str]) -> None:
    (record,) = [record for record in reader.reads("currencies") if record["countryCode"] == country]
    assert {name for name, value in record.items() if value is True} == needed


@pytest.mark.parametrize("path", ["currencies", "cryptos", "payment-methods"])
def test_identifiers_are_unique(reader: Reader, path: str) -> None:
    records = reader.reads(path)
    assert len({record["id"] for record in records}) == len(records)


@pytest.mark.rule("Each token tells contract, chain, decimals, and the currencies that it can be exchanged for.")
def test_a_crypto_has_the_fields_of_its_record(reader: Reader) -> None:
    (usdc,) = [record for record in reader.reads("cryptos") if record["id"] == "usdc-polygon"]
    assert set(usdc) == {
        *("_id", "symbol", "id", "name", "label", "address", "chainId", "is_native", "logo", "currencies"),
        *("decimal", "priceId"),
    }
    assert (usdc["symbol"], usdc["chainId"], usdc["decimal"], usdc["is_native"]) == ("USDC", 137, 6, False)
    assert usdc["address"] == "0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359"
    assert "USD" in usdc["currencies"]


@pytest.mark.rule(
    "Tokens are filtered by whether the service's contract serves them; without the filter all are listed."
)
def test_use_smart_contract_splits_the_cryptos_in_two(reader: Reader) -> None:
    with_contract = {record["id"] for record in reader.reads("cryptos", useSmartContract="true")}
    without = {record["id"] for record in reader.reads("cryptos", useSmartContract="false")}
    assert "usdc-polygon" in with_contract
    assert {"eth-ethereum", "usdc-stellar"} <= without
    assert with_contract & without == set()
    assert with_contract | without == {token.id for token in TOKENS}


@pytest.mark.rule("Tokens are filtered by EVM or STELLAR; all are listed without.")
@pytest.mark.parametrize("blockchain_type", ["EVM", "STELLAR"])
def test_cryptos_are_filtered_by_blockchain_type(reader: Reader, blockchain_type: str) -> None:
    found = [record["id"] for record in reader.reads("cryptos", blockchainType=blockchain_type)]
    assert found == [token.id for token in TOKENS if token.blockchain_type == blockchain_type]


def test_filters_of_cryptos_hold_together(reader: Reader) -> None:
    assert reader.reads("cryptos", blockchainType="STELLAR", useSmartContract="true") == []


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("cryptos", {"useSmartContract": "yes"}, "useSmartContract"),
        ("cryptos", {"blockchainType": "evm"}, "blockchainType"),
        ("banks", {"limit": "0"}, "limit"),
        ("banks", {"limit": "ten"}, "limit"),
        ("banks", {"sort": "name"}, "sort"),
        ("banks", {"country": ""}, "country"),
        ("banks", {"disbursmentAvailable": "1"}, "disbursmentAvailable"),
        ("payment-methods", {"isForDeposit": "TRUE"}, "isForDeposit"),
    ],
)
def test_a_filter_that_means_nothing_is_refused_by_name(
    reader: Reader, path: str, query: dict[str, str], field: str
) -> None:
    refused = reader.asks(path, **query)
    assert refused.code == 400
    assert refused.message.startswith(field)


@pytest.mark.rule("Banks are listed in pages.")
@pytest.mark.rule("limit says how many banks a page has; page, which the interface does not name here, turns it.")
def test_banks_come_in_pages_of_ten(reader: Reader) -> None:
    page = reader.reads("banks")
    assert len(page["docs"]) == page["limit"] == 10
    assert page["totalDocs"] == len(METHODS) + 2 * len(COUNTRIES)


def test_pages_of_banks_hold_each_bank_once(reader: Reader) -> None:
    pages = [reader.reads("banks", limit=40, page=number)["docs"] for number in (1, 2, 3)]
    codes = [bank["paymentCode"] for page in pages for bank in page]
    assert len(codes) == len(set(codes)) == len(METHODS) + 2 * len(COUNTRIES)


@pytest.mark.rule("Banks are sorted as every list is.")
@pytest.mark.parametrize("column", ["createdAt", "updatedAt"])
@pytest.mark.parametrize("sign", ["", "-"])
def test_banks_are_sorted_by_time(reader: Reader, column: str, sign: str) -> None:
    times = [bank[column] for bank in reader.reads("banks", limit=100, sort=sign + column)["docs"]]
    assert times == sorted(times, reverse=sign == "-")
    assert len(set(times)) == len(times)


def test_banks_are_sorted_by_creation_unless_asked_otherwise(reader: Reader) -> None:
    assert reader.reads("banks") == reader.reads("banks", sort="createdAt") != reader.reads("banks", sort="updatedAt")


@pytest.mark.rule("Banks are filtered by country and by currency.")
def test_banks_are_filtered_by_country_in_any_case(reader: Reader) -> None:
    found = reader.reads("banks", country="united states", limit=100)["docs"]
    assert {bank["country"] for bank in found} == {"United States"}
    assert found == reader.reads("banks", country="UNITED STATES", limit=100)["docs"]


def test_banks_are_filtered_by_currency(reader: Reader) -> None:
    found = reader.reads("banks", currency="EUR", limit=100)["docs"]
    assert {bank["currency"] for bank in found} == {"EUR"}
    assert len({bank["country"] for bank in found}) > 1


@pytest.mark.rule("disbursmentAvailable, so spelt, leaves the banks that can be paid, and goes with the other filters.")
def test_disbursment_available_leaves_the_banks_that_can_be_paid(reader: Reader) -> None:
    available = reader.reads("banks", disbursmentAvailable="true", limit=100)["docs"]
    assert [bank["paymentCode"] for bank in available] == [method.bank_code for method in METHODS]
    assert [bank["currency"] for bank in available] == [method.currency for method in METHODS]


def test_disbursment_available_goes_with_the_other_filters(reader: Reader) -> None:
    page = reader.reads("banks", disbursmentAvailable="true", country="France", currency="EUR")
    assert [bank["paymentCode"] for bank in page["docs"]] == ["fr_banque_du_sable"]


def test_disbursment_available_false_is_no_filter(reader: Reader) -> None:
    assert reader.reads("banks", disbursmentAvailable="false") == reader.reads("banks")


@pytest.mark.rule("Payment methods tell group, fees and whether they can be used.")
@pytest.mark.rule("The methods are those of buying crypto, or with isForDeposit those of deposits.")
def test_payment_methods_are_those_of_buying_crypto(reader: Reader) -> None:
    methods = reader.reads("payment-methods")
    assert {"onramp_us_card", "onramp_eu_sepa"} <= {method["code"] for method in methods}
    assert reader.reads("payment-methods", isForDeposit="false") == methods


def test_is_for_deposit_gives_the_methods_of_deposits(reader: Reader, tester: Tester) -> None:
    listed = {method["code"]: method for method in reader.reads("payment-methods", isForDeposit="true")}
    usable = {method["code"]: method for method in tester.does("GET", "account")["paymentMethods"]}
    assert listed.keys() == usable.keys()
    for code, method in usable.items():
        assert listed[code]["flatFeeAmount"] == method["flatFeeAmount"]
        assert listed[code]["isActive"] == method["enabled"]


def test_a_deposit_method_that_is_switched_off_is_not_active(reader: Reader, tester: Tester) -> None:
    tester.does("POST", "account", {"paymentMethods": [{"code": "us_qr", "enabled": False}]})
    listed = {method["code"]: method for method in reader.reads("payment-methods", isForDeposit="true")}
    assert listed["us_qr"]["isActive"] is False


@pytest.mark.parametrize(("path", "field"), [("currencies", "logo"), ("cryptos", "logo"), ("payment-methods", "image")])
def test_every_picture_exists(reader: Reader, sandbox: Flask, path: str, field: str) -> None:
    deposit_methods = reader.reads(path, isForDeposit="true") if path == "payment-methods" else []
    for address in {record[field] for record in reader.reads(path) + deposit_methods}:
        picture = sandbox.test_client().get(urlsplit(address).path)
        assert (picture.status_code, picture.mimetype) == (200, "image/svg+xml"), address


def test_other_pictures_do_not_exist(sandbox: Flask) -> None:
    assert sandbox.test_client().get("/pictures/script.svg").status_code == 404


@pytest.mark.rule("The id of a token is its symbol and its network.")
def test_the_id_of_a_crypto_is_its_symbol_and_network(reader: Reader) -> None:
    for record in reader.reads("cryptos"):
        symbol, _, network = record["id"].partition("-")
        assert symbol == record["symbol"].lower()
        assert network.isalpha()
        assert network.islower()
