"""The letters on a transfer proof, read back from the document's own fonts."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pytest
from fontTools.pens.recordingPen import DecomposingRecordingPen  # type: ignore[import-untyped]
from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
from pypdf import PdfReader
from pypdf.generic import ContentStream

from tests.sandbox.disbursements.payers import Payer
from tests.sandbox.transfer_proofs.test_endpoints import proof_of, text_of

# The font that all these names are printed with.
FONT = "KurintoSans"

# A name, and the same without what joins or parts its letters.
NAMES = {
    "persian-parted": ("علی\u200cرضا", "علیرضا"),
    "persian-joined": ("ه\u200d", "ه"),
    "bengali": ("র\u200d\u09cdয", "র\u09cdয"),
    "hindi": ("क\u094d\u200dष", "क\u094dष"),
}

UNSEEN = "\u200c\u200d\u200e\u200f\u061c"

Outline = list[tuple[str, Any]]


def outline(font: TTFont, glyph: int) -> Outline:
    pen = DecomposingRecordingPen(font.getGlyphSet())
    font.getGlyphSet()[font.getGlyphName(glyph)].draw(pen)
    drawn: Outline = pen.value
    return drawn


def printed(proof: PdfReader) -> list[Outline]:
    """The letters that are seen on the page in the font of the names."""
    resources: Any = proof.pages[0]["/Resources"]
    fonts = {name: font.get_object()["/DescendantFonts"][0].get_object() for name, font in resources["/Font"].items()}
    (name,) = [name for name, font in fonts.items() if font["/BaseFont"].endswith(f"+{FONT}")]
    glyph_of = fonts[name]["/CIDToGIDMap"].get_object().get_data()
    with TTFont(io.BytesIO(fonts[name]["/FontDescriptor"].get_object()["/FontFile2"].get_object().get_data())) as font:
        glyphs = [int.from_bytes(glyph_of[2 * code : 2 * code + 2]) for code in _codes(proof, name)]
        outlines = [outline(font, glyph) for glyph in glyphs]
    return [drawn for drawn in outlines if drawn]


def _codes(proof: PdfReader, wanted: str) -> Iterator[int]:
    """The codes that are shown in one font, in the order of the page."""
    font, outer = None, list[Any]()
    for operands, operator in ContentStream(proof.pages[0].get_contents(), proof).operations:
        if operator == b"q":
            outer.append(font)
        if operator == b"Q":
            font = outer.pop()
        if operator == b"Tf":
            font = operands[0]
        if operator in {b"Tj", b"TJ"} and font == wanted:
            for shown in operands[0] if operator == b"TJ" else operands:
                if hasattr(shown, "original_bytes"):
                    raw = shown.original_bytes
                    yield from (int.from_bytes(raw[place : place + 2]) for place in range(0, len(raw), 2))


@pytest.mark.parametrize(("name", "plain"), NAMES.values(), ids=NAMES.keys())
def test_joiners_shape_the_letters_around_them(payer: Payer, name: str, plain: str) -> None:
    # The note is printed with another font, which has joiners too and comes before the font of the name.
    assert printed(proof_of(payer, name, note="王小明")) != printed(proof_of(payer, plain, note="王小明"))


@pytest.mark.parametrize("name", ["Ada\u200d Ex\u200cample\u200e", "\u200fAda Example\u061c"], ids=ascii)
def test_a_sign_that_is_not_seen_leaves_nothing_on_the_page(payer: Payer, name: str) -> None:
    text = text_of(proof_of(payer, name))
    assert "U+" not in text
    assert "Ada Example" in "".join(sign for sign in text if sign not in UNSEEN)


def name_line(proof: PdfReader) -> str:
    (line,) = [line for line in proof.pages[0].extract_text().splitlines() if "שרה" in line]
    return "".join(sign for sign in line if sign not in UNSEEN)


def test_direction_marks_order_the_page(payer: Payer) -> None:
    """Without the mark the number belongs to the Hebrew letters before it, and stands on their left."""
    assert name_line(proof_of(payer, "a שרה\u200e 7")).endswith("שרה 7")
    assert not name_line(proof_of(payer, "a שרה 7")).endswith("שרה 7")
