"""Transfer proofs where fonts are missing: they print what they can, and tell what they cannot."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder  # type: ignore[import-untyped]
from fontTools.pens.ttGlyphPen import TTGlyphPen  # type: ignore[import-untyped]

from tests.sandbox.disbursements.payers import Payer, given
from tests.sandbox.transfer_proofs.test_endpoints import NAMES, proof_of, text_of

pytestmark = pytest.mark.usefixtures("system_fonts")

KHMER = "ខក"


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fonts of the sandbox extra are not installed."""
    monkeypatch.setitem(sys.modules, "weblate_fonts", None)


def put_font(file: Path, letters: str) -> None:
    """Make a font file in which each of these letters is a square."""
    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 700), (500, 700), (500, 0)):
        pen.lineTo(corner)
    pen.closePath()
    names = [".notdef", *(f"uni{ord(letter):04X}" for letter in letters)]
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder(names)
    builder.setupCharacterMap({ord(letter): name for letter, name in zip(letters, names[1:], strict=True)})
    builder.setupGlyf(dict.fromkeys(names, pen.glyph()))
    builder.setupHorizontalMetrics(dict.fromkeys(names, (600, 0)))
    builder.setupHorizontalHeader(ascent=800, descent=-200)
    builder.setupNameTable({"familyName": file.stem, "styleName": "Regular", "psName": file.stem})
    builder.setupOS2()
    builder.setupPost()
    file.parent.mkdir(parents=True, exist_ok=True)
    builder.save(file)


def test_a_script_without_a_font_is_named_with_what_to_install(payer: Payer) -> None:
    text = text_of(proof_of(payer, f"Ada {KHMER}"))
    assert "Ada U+1781U+1780" in text
    told = ("Not printed", "Khmer", "such as U+1780", "Install the Noto fonts of these scripts", "fonts-noto-core")
    assert [words for words in told if words not in text] == []
    text = text_of(proof_of(payer, "Kim \N{GRINNING FACE}"))
    assert "Kim U+1F600" in text
    assert "None is known for these symbols" in text


@pytest.mark.usefixtures("no_package")
def test_without_the_package_every_script_that_needs_it_is_named(payer: Payer) -> None:
    text = text_of(proof_of(payer, "Zoë Ольга 王 김 محمد"))
    assert "Zoë Ольга U+738B U+AE40 U+0645U+062DU+0645U+062F" in text
    assert "Arabic, Han, Hangul" in text
    assert "pip install 'flask-paycheckout[sandbox]'" in text


@pytest.mark.usefixtures("no_package")
def test_without_the_package_latin_greek_and_cyrillic_are_printed(payer: Payer) -> None:
    for name in NAMES["latin"], NAMES["greek-and-cyrillic"]:
        text = text_of(proof_of(payer, name))
        assert name in text
        assert "Not printed" not in text


@pytest.mark.usefixtures("no_package")
def test_without_the_package_the_longest_texts_still_make_one_page(payer: Payer) -> None:
    recipient = given(accountName="字" * 200, bankName="字" * 200) | {"name": "字" * 200}
    proof = proof_of(payer, recipient=recipient, reference="字" * 200, note="字" * 500)
    assert len(proof.pages) == 1
    assert text_of(proof).replace(" ", "").count("U+5B57") >= 1300
    assert "Not printed" in text_of(proof)


@pytest.mark.parametrize(
    "file", ["truetype/noto/NotoSansKhmer-Regular.ttf", "home/.local/share/fonts/NotoSansKhmer[wdth,wght].ttf"]
)
def test_fonts_of_the_system_print_what_the_package_does_not(payer: Payer, system_fonts: Path, file: str) -> None:
    put_font(system_fonts / file, KHMER)
    text = text_of(proof_of(payer, f"Ada {KHMER}"))
    assert f"Ada {KHMER}" in text
    assert "Not printed" not in text


@pytest.mark.usefixtures("no_package")
def test_fonts_of_the_system_stand_in_for_the_package(payer: Payer, system_fonts: Path) -> None:
    put_font(system_fonts / "NotoSansGeorgian-Regular.ttf", "ქართული")
    put_font(system_fonts / "NotoSansCJK-Regular.ttc", "王김")
    assert "ქართული 王 김" in text_of(proof_of(payer, "ქართული 王 김"))


def test_a_file_that_is_no_font_is_passed_over(payer: Payer, system_fonts: Path) -> None:
    (system_fonts / "NotoSansKhmer-Regular.ttf").write_bytes(b"no font")
    (system_fonts / "NotoSerifKhmer-Regular.ttf").symlink_to(system_fonts / "gone")
    assert "U+1781U+1780" in text_of(proof_of(payer, KHMER))
