"""The fonts that proofs are printed with. Only those that a text needs are loaded: together they are large.

Covered are Latin, Greek, Cyrillic, Arabic, Hebrew, Armenian, Georgian, Ethiopic, Thaana, the scripts of India, Sri
Lanka and South-East Asia, Chinese, Japanese and Korean. A character of any other is printed as its number, U+1F600,
so that nothing disappears. Where the fonts come from and their licences are in `fonts/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fpdf import FPDF

from flask_paycheckout.sandbox.fields import UNSEEN_SIGNS

REGULAR = "regular"
_FOLDER = Path(__file__).parent / "fonts"

# First and last character of each range that a font is for.
_RANGES: tuple[tuple[int, int, str], ...] = (
    (0x0530, 0x058F, "NotoSansArmenian-Regular"),
    (0x0590, 0x05FF, "NotoSansHebrew-Regular"),
    (0x0600, 0x06FF, "NotoSansArabic-Regular"),
    (0x0750, 0x077F, "NotoSansArabic-Regular"),
    (0x0780, 0x07BF, "NotoSansThaana-Regular"),
    (0x08A0, 0x08FF, "NotoSansArabic-Regular"),
    (0x0900, 0x097F, "NotoSansDevanagari-Regular"),
    (0x0980, 0x09FF, "NotoSansBengali-Regular"),
    (0x0A00, 0x0A7F, "NotoSansGurmukhi-Regular"),
    (0x0A80, 0x0AFF, "NotoSansGujarati-Regular"),
    (0x0B00, 0x0B7F, "NotoSansOriya-Regular"),
    (0x0B80, 0x0BFF, "NotoSansTamil-Regular"),
    (0x0C00, 0x0C7F, "NotoSansTelugu-Regular"),
    (0x0C80, 0x0CFF, "NotoSansKannada-Regular"),
    (0x0D00, 0x0D7F, "NotoSansMalayalam-Regular"),
    (0x0D80, 0x0DFF, "NotoSansSinhala-Regular"),
    (0x0E00, 0x0E7F, "NotoSansThai-Regular"),
    (0x0E80, 0x0EFF, "NotoSansLao-Regular"),
    (0x1000, 0x109F, "NotoSansMyanmar-Regular"),
    (0x10A0, 0x10FF, "NotoSansGeorgian-Regular"),
    (0x1100, 0x11FF, "TransferProofHangul-Regular"),
    (0x1200, 0x139F, "NotoSansEthiopic-Regular"),
    (0x1780, 0x17FF, "NotoSansKhmer-Regular"),
    (0x19E0, 0x19FF, "NotoSansKhmer-Regular"),
    (0x1C90, 0x1CBF, "NotoSansGeorgian-Regular"),
    (0x2D00, 0x2D2F, "NotoSansGeorgian-Regular"),
    (0x2D80, 0x2DDF, "NotoSansEthiopic-Regular"),
    (0x2E80, 0x312F, "DroidSansFallbackFull"),
    (0x3130, 0x318F, "TransferProofHangul-Regular"),
    (0x3190, 0x9FFF, "DroidSansFallbackFull"),
    (0xA8E0, 0xA8FF, "NotoSansDevanagari-Regular"),
    (0xA9E0, 0xA9FF, "NotoSansMyanmar-Regular"),
    (0xAA60, 0xAA7F, "NotoSansMyanmar-Regular"),
    (0xAB00, 0xAB2F, "NotoSansEthiopic-Regular"),
    (0xAC00, 0xD7AF, "TransferProofHangul-Regular"),
    (0xF900, 0xFAFF, "DroidSansFallbackFull"),
    (0xFB13, 0xFB17, "NotoSansArmenian-Regular"),
    (0xFB1D, 0xFB4F, "NotoSansHebrew-Regular"),
    (0xFB50, 0xFDFF, "NotoSansArabic-Regular"),
    (0xFE70, 0xFEFF, "NotoSansArabic-Regular"),
    (0xFF00, 0xFFEF, "DroidSansFallbackFull"),
)


class Paper(FPDF):
    """A document in which signs that are not seen, such as joiners, are set in the font of the letter before them.

    In a font of their own they would end a run of letters, and could neither join nor part what they stand between.
    """

    _latest: str | None = None

    def get_fallback_font(self, char: str, style: str = "") -> str | None:
        if char not in UNSEEN_SIGNS:
            self._latest = super().get_fallback_font(char, style)
        return self._latest


def load_fonts(pdf: FPDF, text: str) -> None:
    """Make the regular and the bold font usable, and whatever else the text needs."""
    pdf.add_font(REGULAR, "", _FOLDER / "NotoSans-Regular.ttf")
    pdf.add_font(REGULAR, "B", _FOLDER / "NotoSans-Bold.ttf")
    _leave_unseen_signs_to_others(pdf)
    needed = sorted({font for character in set(text) if (font := _font_of(character)) is not None})
    for font in needed:
        pdf.add_font(font, "", _FOLDER / f"{font}.ttf")
    # Bold print of such a text falls back to the regular letters: there is no bold font of every script.
    pdf.set_fallback_fonts(needed, exact_match=False)
    # Joins Arabic letters, orders Indic vowels, and sets right-to-left text from right to left.
    pdf.set_text_shaping(True)


def _leave_unseen_signs_to_others(pdf: FPDF) -> None:
    """Only what the regular font does not have is looked for in others."""
    fonts: list[Any] = list(pdf.fonts.values())
    for font in fonts:
        for sign in UNSEEN_SIGNS:
            font.cmap.pop(ord(sign), None)


def close_fonts(pdf: FPDF) -> None:
    """The library keeps the files open that it reads letters from."""
    fonts: list[Any] = list(pdf.fonts.values())
    for font in fonts:
        font.ttfont.close()


def _font_of(character: str) -> str | None:
    code = ord(character)
    return next((font for first, last, font in _RANGES if first <= code <= last), None)


def printable(pdf: FPDF, text: str) -> str:
    """The text with characters that no loaded font has replaced by their numbers."""
    fonts: list[Any] = list(pdf.fonts.values())
    return "".join(held if _is_in(held, fonts) else f"U+{ord(held):04X}" for held in text)


def _is_in(character: str, fonts: list[Any]) -> bool:
    return character in UNSEEN_SIGNS or any(ord(character) in font.cmap for font in fonts)
