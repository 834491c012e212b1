"""Lists are read fast when they are as the interface says, and leniently when they are not: the outcome is the same."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_paycheckout.client import NotFound, TransportFailed
from flask_paycheckout.client.envelope import data_of
from flask_paycheckout.client.records.fiat_disbursements import FiatDisbursement, FiatPaymentMethod
from flask_paycheckout.client.records.listing import ListReader
from flask_paycheckout.client.records.payments import Payment
from flask_paycheckout.client.records.recipients import Recipient
from flask_paycheckout.client.records.references import Bank, Crypto, Currency, PaymentMethod
from tests.client import samples
from tests.client.wire import Script, Shop, paged, steady, success

READERS: list[tuple[ListReader[Any], dict[str, Any]]] = [
    (ListReader(FiatDisbursement), samples.FIAT),
    (ListReader(FiatPaymentMethod), samples.FIAT_METHOD),
    (ListReader(Recipient), samples.RECIPIENT),
    (ListReader(Payment), samples.PAYMENT),
    (ListReader(Currency), samples.CURRENCY),
    (ListReader(Crypto), samples.CRYPTO),
    (ListReader(Bank), samples.BANK),
    (ListReader(PaymentMethod), samples.PAYMENT_METHOD),
]
NAMES = ["fiat", "fiat-method", "recipient", "payment", "currency", "crypto", "bank", "method"]
each_record = pytest.mark.parametrize(("reader", "sample"), READERS, ids=NAMES)
FIAT = READERS[0][0]


def slowly(reader: ListReader[Any], body: bytes) -> tuple[Any, ...]:
    return reader.list(data_of("GET /x", body))


@each_record
def test_typed_decoding_takes_what_the_interface_shows(reader: ListReader[Any], sample: dict[str, Any]) -> None:
    body = success([{**sample, "surprise": {"a": [1]}}] * 3)
    swift = reader.swift_list(body)
    assert swift == slowly(reader, body)
    assert swift is not None
    page = reader.swift_page(success(paged(sample, total_pages=3)))
    assert page == reader.page(data_of("GET /x", success(paged(sample, total_pages=3))))
    assert page is not None
    assert page.docs == swift[:1]


@each_record
def test_every_field_has_its_place(reader: ListReader[Any], sample: dict[str, Any]) -> None:
    (record,) = slowly(reader, success([sample]))
    names = {field.encode_name for field in msgspec.structs.fields(type(record))}
    assert names == set(sample)
    assert all(getattr(record, name) is not None for name in record.__struct_fields__)


@each_record
def test_no_account_is_shown(reader: ListReader[Any], sample: dict[str, Any]) -> None:
    shown = repr(slowly(reader, success([sample])))
    assert "canary" not in shown
    assert "1234567890" not in shown


@each_record
def test_a_record_cannot_be_changed(reader: ListReader[Any], sample: dict[str, Any]) -> None:
    (record,) = slowly(reader, success([sample]))
    with pytest.raises(AttributeError):
        record.id = "other"


ODD: list[Any] = [5, -1.5, True, "", "odd", "12.5", "NaN", "2026-01-01T10:00:00", [], [None, 1], {}, {"a": 1}, None]


@each_record
@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_one_odd_field_hides_nothing_else(reader: ListReader[Any], sample: dict[str, Any], odd: object) -> None:
    (whole,) = slowly(reader, success([sample]))
    needed = {field.encode_name for field in msgspec.structs.fields(type(whole)) if field.required}
    for name in set(sample) - needed:
        body = success([sample, {**sample, name: odd}])
        swift = reader.swift_list(body)
        records = slowly(reader, body) if swift is None else swift
        assert records == slowly(reader, body)
        assert records[0] == whole


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("2026-01-01T10:00:00Z"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@steady
@given(st.sampled_from(READERS), st.data())
def test_both_ways_agree_on_anything(pair: tuple[ListReader[Any], dict[str, Any]], data: st.DataObject) -> None:
    reader, sample = pair
    odd = data.draw(st.dictionaries(st.sampled_from(sorted(sample)), JSON, max_size=3))
    body = success([{**sample, **odd}])
    swift = reader.swift_list(body)
    if swift is not None:
        assert swift == slowly(reader, body)
        assert repr(swift) == repr(slowly(reader, body))


@pytest.mark.parametrize("text", ['"12.5"', '"NaN"', ' \n "7"', "1e400", "1E-999999999", "true", "[]", "NaN"])
@pytest.mark.parametrize("name", ["amount", "feeAmount", "feePercentage"])
def test_only_a_number_of_moneys_size_is_money(name: str, text: str) -> None:
    body = json.dumps({"statusCode": 200, "data": [samples.FIAT]})
    body = body.replace(f'"{name}": {samples.FIAT[name]}', f'"{name}":{text}')
    assert text in body
    (found,) = Shop(Script(body.encode())).fiat_disbursements.list().docs
    assert getattr(found, {"amount": "amount", "feeAmount": "fee_amount"}.get(name, "fee_percentage")) is None
    assert found.disbursement_id == "d1"


def test_amounts_are_exact_to_the_last_digit() -> None:
    body = success([samples.FIAT]).replace(b"125.5", b"123456789012345678901234567890.123456789012345678")
    assert FIAT.swift_list(body) is not None
    (found,) = Shop(Script(body)).fiat_disbursements.list().docs
    assert found.amount == Decimal("123456789012345678901234567890.123456789012345678")


@pytest.mark.parametrize("text", ["\\u0000", "\\ud800"])
def test_text_that_no_database_stores_reads_as_none(text: str) -> None:
    body = success([samples.FIAT]).replace(b'"thanks"', f'"{text}"'.encode())
    (found,) = Shop(Script(body)).fiat_disbursements.list().docs
    assert (found.note, found.reference) == (None, "ref-1")


@pytest.mark.parametrize("lost", [5, {}, {"status": "pending"}, {"disbursementId": None, "status": "pending"}])
@pytest.mark.parametrize("plain", [True, False])
def test_a_record_that_is_none_is_not_left_out_in_silence(lost: object, plain: bool) -> None:
    docs = [samples.FIAT, lost]
    body = success(docs if plain else paged(*docs))
    with pytest.raises(TransportFailed, match="item 1 of the list"):
        Shop(Script(body), count=0).fiat_disbursements.list()


def test_a_page_that_names_a_key_twice_is_refused_when_it_takes_a_closer_look() -> None:
    body = b'{"statusCode":200,"data":{"docs":"odd","docs":5,"page":1}}'
    with pytest.raises(TransportFailed, match="twice"):
        Shop(Script(body), count=0).recipients.list()
    with pytest.raises(TransportFailed, match="not a page"):
        Shop(Script(success([])), count=0).recipients.list()


@pytest.mark.parametrize("start", [b'{"statusCode":200,"data":[' + b"[" * 100_000, b"[" * 100_000, b'{"a":' * 100_000])
def test_deep_answers_are_refused_at_once(start: bytes) -> None:
    begun = time.monotonic()
    with pytest.raises(TransportFailed):
        Shop(Script(start), count=0).fiat_disbursements.list()
    assert time.monotonic() - begun < 20


def test_a_list_of_100_records_takes_the_swift_way() -> None:
    # How fast that is, the benchmarks tell; here only that no documented field sends it the slow way.
    docs = [{**samples.FIAT, "disbursementId": f"d{number}", "feePercentage": number} for number in range(100)]
    page = FIAT.swift_page(success(paged(*docs)))
    assert page is not None
    assert [record.disbursement_id for record in page.docs] == [f"d{number}" for number in range(100)]


@pytest.mark.parametrize(("status", "kind"), [(404, NotFound), (302, TransportFailed), (199, TransportFailed)])
@pytest.mark.parametrize("data", [[samples.FIAT], paged(samples.FIAT)], ids=["plain", "paged"])
def test_data_beside_a_refusal_is_no_list(status: int, kind: type[Exception], data: object) -> None:
    with pytest.raises(kind):
        Shop(Script(success(data, status)), count=0).fiat_disbursements.list()
