"""`GET /v1/disbursement/fiat/{disbursementId}/report`: the transfer proof."""

from __future__ import annotations

import io

from pypdf import PdfReader

from tests.sandbox.actors import Tester
from tests.sandbox.disbursements.payers import Payer


def text_of(proof: PdfReader) -> str:
    return "".join(page.extract_text() for page in proof.pages).replace("\n", " ")


def test_it_is_a_pdf_attachment_named_after_the_disbursement(payer: Payer, tester: Tester) -> None:
    disbursement_id = payer.pays_one()
    payer.forces(disbursement_id)
    response = payer.downloads(disbursement_id)
    assert (response.status_code, response.content_type) == (200, "application/pdf")
    assert response.headers["Content-Disposition"] == f'attachment; filename="disbursement-{disbursement_id}.pdf"'
    assert response.data.startswith(b"%PDF-")
    assert tester.requests()[0]["answerBody"] == f"(application/pdf, {len(response.data)} bytes)"
    assert payer.downloads(disbursement_id).data == response.data


def test_it_says_who_got_what_and_when(payer: Payer) -> None:
    disbursement_id = payer.pays_one(1234.5, reference="INV-7", note="Salary for May")
    payer.forces(disbursement_id)
    text, record = text_of(PdfReader(io.BytesIO(payer.downloads(disbursement_id).data))), payer.sees(disbursement_id)
    for expected in (
        *(disbursement_id, "INV-7", "Salary for May", "Ada Example", "4000123412", "1,234.50 USD", "Completed"),
        *(f"{record['feeAmount']} USD", f"{record['amount'] + record['feeAmount']:,} USD", record["createdAt"][:10]),
    ):
        assert expected in text


def test_an_unknown_disbursement_or_one_of_tokens_has_none(payer: Payer) -> None:
    disbursement_id = payer.sends_one()
    payer.forces(disbursement_id)
    for disbursement in ("none", disbursement_id):
        refused = payer.reads(f"/v1/disbursement/fiat/{disbursement}/report")
        assert refused.body == {"statusCode": 404, "error": "Not Found", "message": "Disbursement not found"}
