from __future__ import annotations

from typing import Any

import httpx
import pytest

from flask_paycheckout.client import (
    FiatItem,
    NewRecipient,
    NotFound,
    OutcomeUnknown,
    TransportFailed,
)
from flask_paycheckout.client.records import RecordReader
from tests.client.samples import ACCOUNT, BATCH, FIAT
from tests.client.wire import Script, Shop, refusal, success


def item(**changed: Any) -> FiatItem:
    return FiatItem(**{"amount": 1, "recipient_id": "r1", **changed})


@pytest.mark.parametrize(
    ("wrong", "kind", "fault"),
    [
        (item(amount="1.005"), ValueError, r"items\[1\]\.amount 1.005 has more decimals than USD has \(2\)"),
        (item(recipient_id=None), ValueError, r"items\[1\]\.recipient_id or items\[1\]\.recipient must be given"),
        (item(recipient=NewRecipient(bank=ACCOUNT)), ValueError, r"and not both"),
        ({"amount": 1}, TypeError, r"items\[1\] must be a FiatItem, not dict"),
    ],
)
def test_a_wrong_item_is_named_and_nothing_is_sent(wrong: Any, kind: type[Exception], fault: str) -> None:
    script = Script(success(BATCH))
    with pytest.raises(kind, match=fault) as caught:
        Shop(script).fiat_disbursements.create("USD", [item(), wrong])
    alone: Any = item()
    with pytest.raises(TypeError, match="items must be several FiatItem, not one FiatItem"):
        Shop(script).fiat_disbursements.create("USD", alone)
    assert script.requests == []
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "odd",
    [
        {**BATCH, "disburseData": [FIAT, {}]},
        {**BATCH, "disburseData": [{**FIAT, "disbursementId": 5}]},
    ],
)
def test_a_batch_that_cannot_be_read_whole_may_have_moved_money(odd: dict[str, Any]) -> None:
    with pytest.raises(OutcomeUnknown, match=r"disburseData|disbursementId|item 1"):
        Shop(Script(success(odd))).fiat_disbursements.create("USD", [item()])


@pytest.mark.parametrize("fault", [ValueError, TypeError, ZeroDivisionError])
def test_an_error_of_reading_the_answer_leaves_it_unknown_whether_money_moved(
    monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
) -> None:
    def fail(*asked: object) -> None:
        raise fault("canary")

    monkeypatch.setattr(RecordReader, "read", fail)
    with pytest.raises(OutcomeUnknown, match=fault.__name__) as caught:
        Shop(Script(success(BATCH))).fiat_disbursements.create("USD", [item(reference="ref-1")])
    assert (caught.value.http_status, caught.value.references) == (200, ("ref-1",))
    assert "canary" not in str(caught.value)


def pdf(content: bytes = b"%PDF-1.7", kind: str = "application/pdf", status: int = 200) -> httpx.Response:
    return httpx.Response(status, headers={"Content-Type": kind}, content=content)


def test_a_report_may_have_16_mebibytes() -> None:
    most = b"%PDF" + b"x" * (16 * 1024 * 1024 - 4)
    assert Shop(Script(pdf(most))).fiat_disbursements.report("d1") == most
    with pytest.raises(TransportFailed, match="larger than 16777216 bytes"):
        Shop(Script(pdf(most + b"x")), count=0).fiat_disbursements.report("d1")


@pytest.mark.parametrize(("status", "kind"), [(200, "application/json"), (404, "text/plain"), (200, "application/pdf")])
def test_without_a_pdf_the_envelope_decides(status: int, kind: str) -> None:
    answer = pdf(refusal(404, "Not Found", "Disbursement not found"), kind, status)
    with pytest.raises(NotFound, match="Disbursement not found"):
        Shop(Script(answer)).fiat_disbursements.report("d1")


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (pdf(b"<html>"), "not a JSON object"),
        (pdf(kind="text/html"), "not a JSON object"),
        (pdf(success({}), "application/json"), "the answer is no PDF"),
    ],
)
def test_a_body_that_is_no_pdf_is_no_report(answer: httpx.Response, fault: str) -> None:
    with pytest.raises(TransportFailed, match=fault):
        Shop(Script(answer), count=0).fiat_disbursements.report("d1")
