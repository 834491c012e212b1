"""Decoding a page of 100 records, beside `json.loads` of the same bytes and a plain dict of each record's fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flask_paycheckout.client.envelope import data_of, envelope_of
from flask_paycheckout.client.records.fiat_disbursements import FiatDisbursement
from flask_paycheckout.client.records.pages import page_of
from flask_paycheckout.client.records.reading import RecordReader
from tests.benchmarks.measuring import CPU_MS, FLOOR, OURS, Contender, Goal, Options, repeated
from tests.benchmarks.row import Row

_RECORDS = 100
_STEP = {"activity": "Created", "description": "by u-1", "status": "pending", "updatedAt": "2026-01-01T12:00:00.000Z"}
_RECORD: dict[str, Any] = {
    "status": "completed",
    "groupId": "group-1",
    "recipient": {
        "recipientId": "rec-1",
        "email": "bo@example.com",
        "name": "Bo",
        "bank": {
            "bankName": "First Bank",
            "accountName": "Bo",
            "accountNumber": "4000123412",
            "bankCode": "first_bank",
            "currency": "USD",
            "country": "US",
        },
    },
    "amount": 12.5,
    "currency": "USD",
    "feeAmount": 0.37,
    "feePercentage": 2.9,
    "createdBy": "u-1",
    "activityHistory": [_STEP, _STEP | {"status": "completed"}],
    "note": None,
    "createdAt": "2026-01-01T12:00:00.000Z",
    "updatedAt": "2026-01-01T12:05:00.000Z",
}
_NUMBERS = {"totalDocs": _RECORDS, "offset": 0, "limit": _RECORDS, "totalPages": 1, "page": 1, "pagingCounter": 1}


def _body() -> bytes:
    docs = [{"disbursementId": f"dis-{n}", "reference": f"refund-{n}"} | _RECORD for n in range(_RECORDS)]
    return json.dumps({"statusCode": 200, "message": "ok", "data": {"docs": docs} | _NUMBERS}).encode()


def _ours() -> Callable[[], object]:
    reader, body = RecordReader(FiatDisbursement), _body()

    def decode() -> None:
        assert len(page_of(data_of(envelope_of(body)), reader).docs) == _RECORDS

    return decode


def _floor() -> Callable[[], object]:
    body = _body()
    return lambda: [dict(record) for record in json.loads(body)["data"]["docs"]]


@contextmanager
def _contenders(options: Options, database: str | None) -> Iterator[dict[str, Contender]]:
    times = options.amount(500)
    yield {OURS: repeated(_ours(), times), FLOOR: repeated(_floor(), times)}


@contextmanager
def _profiled(database: str | None) -> Iterator[Callable[[], object]]:
    yield _ours()


ROW = Row(
    name="decoding",
    title="decoding a list of 100 records, to `json.loads` and a dict for each",
    goals=(Goal(CPU_MS, over=FLOOR, at_most=1.0),),
    contenders=_contenders,
    profiled=_profiled,
)
