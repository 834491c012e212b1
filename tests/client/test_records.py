"""Records: an invalid field hides no other field, and no record of a list is skipped silently."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from flask_paycheckout.client import Record, TransportFailed
from flask_paycheckout.client.envelope import data_of, envelope_of
from flask_paycheckout.client.hidden import AccountNumber
from flask_paycheckout.client.records import RecordReader
from flask_paycheckout.client.resources.auth import User
from flask_paycheckout.client.resources.crypto_disbursements import CryptoDisbursement
from flask_paycheckout.client.resources.deposits import Deposit
from flask_paycheckout.client.resources.fiat_records import FiatDisbursement, FiatPaymentMethod
from flask_paycheckout.client.resources.payments import Payment, Quote
from flask_paycheckout.client.resources.recipients import Recipient
from flask_paycheckout.client.resources.references import Bank, Crypto, Currency, PaymentMethod
from tests.client import samples
from tests.client.samples import DEPOSIT
from tests.client.wire import Script, Shop, paged, success

SAMPLES: dict[type[Record], dict[str, Any]] = {
    Deposit: DEPOSIT,
    FiatDisbursement: samples.FIAT,
    FiatPaymentMethod: samples.FIAT_METHOD,
    CryptoDisbursement: samples.CRYPTO_DISBURSEMENT,
    Recipient: samples.RECIPIENT,
    User: samples.USER,
    Payment: samples.PAYMENT,
    Quote: samples.QUOTE,
    Currency: samples.CURRENCY,
    Crypto: samples.CRYPTO,
    Bank: samples.BANK,
    PaymentMethod: samples.PAYMENT_METHOD,
}
each_record = pytest.mark.parametrize(("kind", "sample"), SAMPLES.items(), ids=[kind.__name__ for kind in SAMPLES])


def read(kind: type[Record], sample: dict[str, Any]) -> Any:
    return RecordReader(kind).read(data_of(envelope_of(success(sample))))


def says(value: object, wire: Any) -> bool:
    """Whether a field, or a record with all its fields, has the value from the wire."""
    if isinstance(value, msgspec.Struct):
        names = {field.encode_name: field.name for field in msgspec.structs.fields(value)}
        return set(wire) <= set(names) and all(says(getattr(value, names[name]), wire[name]) for name in wire)
    if isinstance(value, tuple):
        return len(value) == len(wire) and all(map(says, value, wire))
    if isinstance(value, datetime):
        return value == datetime.fromisoformat(wire)
    if isinstance(value, Decimal):
        return value == Decimal(str(wire))
    return value == (str(wire) if isinstance(value, AccountNumber) else wire)


@each_record
def test_every_field_is_read(kind: type[Record], sample: dict[str, Any]) -> None:
    record = read(kind, {**sample, "surprise": {"a": [1]}})
    assert says(record, sample)
    assert all(getattr(record, name) is not None for name in record.__struct_fields__)
    assert "canary" not in repr(record)
    assert "1234567890" not in repr(record)
    with pytest.raises(AttributeError):
        record.status = "other"


ODD: list[Any] = [5, -1.5, True, "", "odd", "12.5", "NaN", "2026-01-01T10:00:00", [], [None, 1], {}, {"a": 1}, None]


@each_record
def test_one_odd_field_hides_nothing_else(kind: type[Record], sample: dict[str, Any]) -> None:
    whole = read(kind, sample)
    names = {field.encode_name: field.name for field in msgspec.structs.fields(kind) if not field.required}
    for wire, name in names.items():
        for odd in ODD:
            changed = read(kind, {**sample, wire: odd})
            assert all(getattr(changed, other) == getattr(whole, other) for other in names.values() if other != name)


@pytest.mark.parametrize("text", ["\\u0000", "\\ud800"])
def test_text_that_no_database_stores_reads_as_none(text: str) -> None:
    body = success([samples.FIAT]).replace(b'"thanks"', f'"{text}"'.encode())
    (payout,) = Shop(Script(body)).fiat_disbursements.list().docs
    assert (payout.note, payout.reference) == (None, "ref-1")


@pytest.mark.parametrize("lost", [5, {}, {"status": "pending"}, {"disbursementId": None, "status": "pending"}])
@pytest.mark.parametrize("plain", [True, False])
def test_a_record_that_is_none_is_not_left_out_in_silence(lost: object, plain: bool) -> None:
    docs = [samples.FIAT, lost]
    body = success(docs if plain else paged(*docs))
    with pytest.raises(TransportFailed, match="item 1 of the list"):
        Shop(Script(body), count=0).fiat_disbursements.list()


def test_an_answer_that_is_no_page_is_refused() -> None:
    body = b'{"statusCode":200,"data":{"docs":[],"docs":[],"page":1}}'
    with pytest.raises(TransportFailed, match="without its data"):
        Shop(Script(body), count=0).recipients.list()
    with pytest.raises(TransportFailed, match="not a page"):
        Shop(Script(success([])), count=0).recipients.list()
