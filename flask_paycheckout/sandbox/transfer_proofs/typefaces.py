"""The fonts that proofs are printed with. Only those that a text needs are loaded: together they are large.

This package brings the letters of Latin, Greek and Cyrillic; those of most other scripts come with the extra
`sandbox`, in the package weblate-fonts. A character that no font has is printed as its number, U+1F600.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from fontTools import unicodedata  # type: ignore[import-untyped]
from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
from fpdf import FPDF

from flask_paycheckout.sandbox.wire.envelope import UNSEEN_SIGNS
from flask_paycheckout.sandbox.world.money import rows_of

REGULAR = "regular"
_FOLDER = Path(__file__).parent / "fonts"
# A script, by its ISO 15924 code, and the font of weblate-fonts that is tried for it. Japanese text has its kanji in
# the Japanese shapes and Korean text its hanja in the Korean ones; the fonts at the end have rare characters.
_EAST_ASIAN = tuple(
    rows_of("""
Hira | KurintoSansJP
Kana | KurintoSansJP
Hang | KurintoSansKR
Hani | KurintoSansSC
Bopo | KurintoSansTC
Hani | KurintoSansTC
Hani | KurintoSansJP
Hani | KurintoSansKR
""")
)
_OTHER_SCRIPTS = "KurintoSans"
_REGULAR_FILE = _FOLDER / "NotoSans-Regular.ttf"


class Paper(FPDF):
    """A document in which signs that are not seen, such as joiners, are set in the font of the letter before them.

    In a font of their own they would end a run of letters, and could neither join nor part what they stand between.
    """

    _latest: str | None = None

    def get_fallback_font(self, char: str, style: str = "") -> str | None:
        if char not in UNSEEN_SIGNS:
            self._latest = super().get_fallback_font(char, style)
        return self._latest


def load_fonts(pdf: FPDF, text: str) -> set[str]:
    """Make the regular and the bold font usable, and whatever else the text needs.

    :return: characters of the text that no font has
    """
    pdf.add_font(REGULAR, "", _REGULAR_FILE)
    pdf.add_font(REGULAR, "B", _FOLDER / "NotoSans-Bold.ttf")
    _leave_unseen_signs_to_others(pdf)
    missing = set(text) - {"\n", *UNSEEN_SIGNS} - characters_of(_REGULAR_FILE)
    if missing:
        missing = _load_others(pdf, missing)
    # Joins Arabic letters, orders Indic vowels, and sets right-to-left text from right to left.
    pdf.set_text_shaping(True)
    return missing


def _load_others(pdf: FPDF, missing: set[str]) -> set[str]:
    loaded = []
    for file in _font_files(missing):
        held = characters_of(file)
        if missing & held:
            pdf.add_font(file.stem, "", file)
            loaded.append(file.stem)
            missing = missing - held
        if not missing:
            break
    # Bold print of such a text falls back to the regular letters: there is no bold font of every script.
    pdf.set_fallback_fonts(loaded, exact_match=False)
    return missing


def _leave_unseen_signs_to_others(pdf: FPDF) -> None:
    """Only what the regular font does not have is looked for in others."""
    fonts: Any = pdf.fonts
    for font in fonts.values():
        for sign in UNSEEN_SIGNS:
            font.cmap.pop(ord(sign), None)


def close_fonts(pdf: FPDF) -> None:
    """The library keeps the files open that it reads letters from."""
    fonts: Any = pdf.fonts
    for font in fonts.values():
        font.ttfont.close()


def printable(text: str, missing: set[str]) -> str:
    """The text with the characters that no font has replaced by their numbers."""
    return "".join(f"U+{ord(character):04X}" if character in missing else character for character in text)


def _font_files(characters: set[str]) -> Iterator[Path]:
    """Files that may have these characters, the best first; none where weblate-fonts is not installed."""
    try:
        import weblate_fonts
    except ImportError:
        return
    folder = Path(weblate_fonts.__file__).parent / "static" / "weblate_fonts" / "kurinto" / "ttf"
    scripts = {unicodedata.script(character) for character in characters}
    fonts = [font for script, font in _EAST_ASIAN if script in scripts]
    yield from (folder / f"{font}-Rg.ttf" for font in dict.fromkeys([*fonts, _OTHER_SCRIPTS]))


@lru_cache(maxsize=16)
def characters_of(file: Path) -> frozenset[str]:
    """All characters that a font file can print."""
    with file.open("rb") as opened, TTFont(opened) as font:
        return frozenset(map(chr, font.getBestCmap() or ()))
