"""`GET /v1/disbursement/fiat/{disbursementId}/report`: the transfer proof."""

from __future__ import annotations

import io
import sys
from typing import Any

import pytest
from pypdf import PdfReader
from pypdf.generic import ArrayObject

from tests.sandbox.actors import Tester
from tests.sandbox.conftest import MakeSandbox
from tests.sandbox.disbursements.payers import Payer, given

NAMES = (
    "Zoë Łukasiewicz Ångström",
    "Ξένη Παπαδοπούλου Ольга Їжакевич",
    "王小明 砂場ひらがなカタカナ",
    "김철수 뷁",
    "สมชาย ใจดี",
    "ქართული Հայերեն አማርኛ",
)
# Shaped and turned around on paper: what is read back is the letters, in the order of the page.
SHAPED = (
    "محمد القاسم",
    "שרה כהן",
    "किरण श्रीवास्तव",
    "தமிழ் తెలుగు ಕನ್ನಡ മലയാളം සිංහල বাংলা ગુજરાતી ਪੰਜਾਬੀ ଓଡ଼ିଆ",
    "ລາວ ދިވެހި",
)


def proof_of(payer: Payer, name: str = "Ada", **more: Any) -> PdfReader:
    """The proof of a completed disbursement to somebody of that name."""
    batch = payer.pays({"recipient": given() | {"name": name}, "amount": 1234.5} | more).data
    made = batch["disburseData"][0]["disbursementId"]
    payer.forces(made)
    response = payer.downloads(made)
    assert response.status_code == 200, response.data
    return PdfReader(io.BytesIO(response.data))


def text_of(proof: PdfReader) -> str:
    return "".join(page.extract_text() for page in proof.pages).replace("\n", " ")


def test_it_is_a_pdf_attachment_named_after_the_disbursement(payer: Payer, tester: Tester) -> None:
    made = payer.pays_one()
    payer.forces(made)
    response = payer.downloads(made)
    assert (response.status_code, response.content_type) == (200, "application/pdf")
    assert response.headers["Content-Disposition"] == f'attachment; filename="disbursement-{made}.pdf"'
    assert response.data.startswith(b"%PDF-")
    assert tester.requests()[0]["answerBody"] == f"(application/pdf, {len(response.data)} bytes)"
    assert payer.downloads(made).data == response.data


def test_it_says_who_got_what_and_when(payer: Payer) -> None:
    made = payer.pays_one(1234.5, reference="INV-7", note="Salary for May")
    payer.forces(made)
    text, record = text_of(PdfReader(io.BytesIO(payer.downloads(made).data))), payer.sees(made)
    for expected in (
        *(made, "INV-7", "Salary for May", "Ada Example", "4000123412", "1,234.50 USD", "Completed"),
        *(f"{record['feeAmount']} USD", f"{record['amount'] + record['feeAmount']:,} USD", record["createdAt"][:10]),
    ):
        assert expected in text


def test_it_prints_names_in_any_script(payer: Payer) -> None:
    text = text_of(proof_of(payer, note="\n".join((*NAMES, *SHAPED))))
    assert [name for name in NAMES if name not in text] == []
    assert {letter for name in SHAPED for letter in name} <= set(text)
    assert "U+" not in text


def test_an_unknown_disbursement_or_one_of_tokens_has_none(payer: Payer) -> None:
    made = payer.sends_one()
    payer.forces(made)
    for disbursement in ("none", made):
        refused = payer.reads(f"/v1/disbursement/fiat/{disbursement}/report")
        assert refused.body == {"statusCode": 404, "error": "Not Found", "message": "Disbursement not found"}


def test_what_strangers_wrote_is_printed_and_nothing_else(payer: Payer) -> None:
    said = "[pay](https://evil.example) ) Tj ET Q endstream endobj /JS (app.alert(1)) /OpenAction"
    proof = proof_of(payer, said, reference=said, note=said)
    assert text_of(proof).count(said) >= 3
    assert [page for page in proof.pages if "/Annots" in page or "/AA" in page] == []
    # It opens at its top, which is a place and no action.
    assert isinstance(proof.root_object["/OpenAction"], ArrayObject)
    assert not set(proof.root_object) & {"/AA", "/Names", "/AcroForm"}


def test_unknown_disbursement_fee(make_sandbox: MakeSandbox) -> None:
    for value, total in (("on_top", "1,236.24 USD"), ("included", "1,234.50 USD")):
        assert f"Total {total}" in text_of(proof_of(Payer(make_sandbox(disbursement_fee=value))))


def test_a_character_without_a_font_is_printed_as_its_number(payer: Payer, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Ada U+1781 U+1F600" in text_of(proof_of(payer, "Ada ខ \N{GRINNING FACE}"))
    monkeypatch.setitem(sys.modules, "weblate_fonts", None)
    text = text_of(proof_of(payer, "Zoë Ольга 王 김"))
    assert "Zoë Ольга U+738B U+AE40" in text
