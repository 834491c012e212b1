"""Decoding a page of 100 records, beside `json.loads` of the same bytes and a plain dict of each record's fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flask_paycheckout.client.envelope import data_of, envelope_of
from flask_paycheckout.client.records.fiat_disbursements import FiatDisbursement
from flask_paycheckout.client.records.pages import page_of
from flask_paycheckout.client.records.reading import RecordReader
from tests.benchmarks.measuring import CPU_MS, FLOOR, OURS, Contender, Goal, Options, repeated
from tests.benchmarks.row import Row
from tests.client.samples import FIAT
from tests.client.wire import paged, success

_RECORDS = 100


def _body() -> bytes:
    docs = [FIAT | {"disbursementId": f"dis-{n}", "reference": f"refund-{n}"} for n in range(_RECORDS)]
    return success(paged(*docs, limit=_RECORDS))


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
