"""Rules of the reference lists, all deprecated."""

from __future__ import annotations

from tests.rules.rule import PAGE, SORT, Lines, Rule, answered, tests_of, under

CURRENCIES, CRYPTOS = "GET /v1/reference/currencies", "GET /v1/reference/cryptos"
BANKS, METHODS = "GET /v1/reference/banks", "GET /v1/reference/payment-methods"

_references = tests_of("sandbox/references/test_endpoints.py")
_client = tests_of("client/test_references.py")

_CURRENCY: Lines = (
    *("_id: string", "id: string", "value: string", "currency: string", "countryCode: string"),
    *("logo: string", "name: string", "country: string", "symbol: string"),
    *("requireBankName: boolean", "requireIfsc: boolean", "requireIban: boolean"),
    *("requireAchOrWire: boolean", "requireAccountNumber: boolean"),
)
_CRYPTO: Lines = (
    *("_id: string", "symbol: string", "id: string", "name: string", "label: string", "address: string"),
    *("chainId: integer", "is_native: boolean", "logo: string", "currencies: array", "currencies[]: string"),
    *("decimal: integer", "priceId: string"),
)
_BANK: Lines = (
    *("_id: string", "id: string", "name: string", "paymentCode: string", "country: string", "currency: string"),
    *("createdAt: timestamp", "updatedAt: timestamp", "__v: integer"),
)
_METHOD: Lines = (
    *("id: string", "name: string", "code: string", "group: string", "currency: string", "image: string"),
    *("isActive: boolean", "flatFeeAmount: number", "percentFeeAmount: number"),
)


def _array(record: Lines) -> Lines:
    return answered(data="array") + under("data[].", record)


RULES = (
    Rule(
        id="reference.currencies",
        says="Each currency names its country and what its bank accounts need.",
        on=(CURRENCIES,),
        gives=_array(_CURRENCY),
        shown_by=_references("test_a_currency_has_the_fields_of_its_record"),
        kept_by_client=_client("test_what_the_lists_hold"),
    ),
    Rule(
        id="reference.currencies.value",
        says="The value of a currency is the country's name in capitals.",
        on=(CURRENCIES,),
        shown_by=_references("test_the_value_of_a_currency_is_its_country_in_capitals"),
    ),
    Rule(
        id="reference.cryptos",
        says="Each token tells contract, chain, decimals, and the currencies that it can be exchanged for.",
        on=(CRYPTOS,),
        gives=_array(_CRYPTO),
        shown_by=_references("test_a_crypto_has_the_fields_of_its_record"),
        kept_by_client=_client("test_what_the_lists_hold"),
    ),
    Rule(
        id="reference.cryptos.id",
        says="The id of a token is its symbol and its network.",
        on=(CRYPTOS,),
        shown_by=_references("test_the_id_of_a_crypto_is_its_symbol_and_network", "test_identifiers_are_unique"),
    ),
    Rule(
        id="reference.cryptos.use-smart-contract",
        says="Tokens are filtered by whether the service's contract serves them; without the filter all are listed.",
        on=(CRYPTOS,),
        asks=("useSmartContract?: boolean",),
        shown_by=_references(
            "test_use_smart_contract_splits_the_cryptos_in_two", "test_all_cryptos_are_listed_when_no_filter_is_given"
        ),
    ),
    Rule(
        id="reference.cryptos.blockchain-type",
        says="Tokens are filtered by EVM or STELLAR; all are listed without.",
        on=(CRYPTOS,),
        asks=("blockchainType?: EVM | STELLAR",),
        shown_by=_references(
            "test_cryptos_are_filtered_by_blockchain_type", "test_all_cryptos_are_listed_when_no_filter_is_given"
        ),
    ),
    Rule(
        id="reference.banks",
        says="Banks are listed in pages.",
        on=(BANKS,),
        gives=answered(*PAGE, *under("docs[].", _BANK)),
        shown_by=_references("test_a_bank_has_the_fields_of_its_record", "test_pages_of_banks_hold_each_bank_once"),
        kept_by_client=_client("test_banks_come_in_pages_only"),
    ),
    Rule(
        id="reference.banks.limit",
        says="limit says how many banks a page has; page, which the interface does not name here, turns it.",
        on=(BANKS,),
        asks=("limit?: integer = 10", "page?: integer = 1"),
        shown_by=_references("test_banks_come_in_pages_of_ten", "test_pages_of_banks_hold_each_bank_once"),
    ),
    Rule(
        id="reference.banks.sort",
        says="Banks are sorted as every list is.",
        on=(BANKS,),
        asks=(SORT,),
        shown_by=_references(
            "test_banks_are_sorted_by_time", "test_banks_are_sorted_by_creation_unless_asked_otherwise"
        ),
    ),
    Rule(
        id="reference.banks.country-and-currency",
        says="Banks are filtered by country and by currency.",
        on=(BANKS,),
        asks=("country?: string", "currency?: string"),
        shown_by=_references(
            "test_banks_are_filtered_by_country_in_any_case",
            "test_banks_are_filtered_by_currency",
            "test_banks_come_in_pages_of_ten",
        ),
    ),
    Rule(
        id="reference.banks.available",
        says="disbursmentAvailable, so spelt, leaves the banks that can be paid, and goes with the other filters.",
        on=(BANKS,),
        asks=("disbursmentAvailable?: boolean = false",),
        shown_by=_references(
            "test_disbursment_available_leaves_the_banks_that_can_be_paid",
            "test_disbursment_available_goes_with_the_other_filters",
            "test_disbursment_available_false_is_no_filter",
        ),
        kept_by_client=tests_of("client/test_operations.py")("test_what_goes_on_the_wire"),
    ),
    Rule(
        id="reference.methods",
        says="Payment methods tell group, fees and whether they can be used.",
        on=(METHODS,),
        gives=_array(_METHOD),
        shown_by=_references("test_a_payment_method_has_the_fields_of_its_record"),
        kept_by_client=_client("test_what_the_lists_hold"),
    ),
    Rule(
        id="reference.methods.for-deposit",
        says="The methods are those of buying crypto, or with isForDeposit those of deposits.",
        on=(METHODS,),
        asks=("isForDeposit?: boolean = false",),
        shown_by=_references(
            "test_payment_methods_are_those_of_buying_crypto", "test_is_for_deposit_gives_the_methods_of_deposits"
        ),
    ),
    Rule(
        id="reference.open",
        says="The lists are read without credentials.",
        on=(CURRENCIES, CRYPTOS, BANKS, METHODS),
        needs="nothing",
        shown_by=_references("test_no_credentials_are_needed"),
    ),
)
