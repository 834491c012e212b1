"""Font files for writing beyond Latin, Greek and Cyrillic, which this package does not bring itself.

They come with the `sandbox` extra, in the package weblate-fonts, and from the system's Noto fonts. Together they are
large, so a caller takes the next file only while it still misses characters.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from fontTools import unicodedata  # type: ignore[import-untyped]
from fontTools.ttLib import TTFont, TTLibError  # type: ignore[import-untyped]

SYSTEM_FOLDERS = (
    "/usr/share/fonts",
    "/usr/local/share/fonts",
    "/Library/Fonts",
    "/System/Library/Fonts",
    "C:/Windows/Fonts",
)
"""Where operating systems keep fonts; the folders of the user are added to them."""
_USER_FOLDERS = (".local/share/fonts", "Library/Fonts")
# A script, by its ISO 15924 code, and the font of weblate-fonts that is tried for it. Japanese text has its kanji in
# the Japanese shapes and Korean text its hanja in the Korean ones; the fonts at the end have rare characters.
_EAST_ASIAN = (
    ("Hira", "KurintoSansJP"),
    ("Kana", "KurintoSansJP"),
    ("Hang", "KurintoSansKR"),
    ("Hani", "KurintoSansSC"),
    ("Bopo", "KurintoSansTC"),
    ("Hani", "KurintoSansTC"),
    ("Hani", "KurintoSansJP"),
    ("Hani", "KurintoSansKR"),
)
_OTHER_SCRIPTS = "KurintoSans"
# Characters that belong to no script of their own: punctuation, symbols, combining marks.
_SHARED = {"Zyyy", "Zinh", "Zzzz"}


def font_files(characters: set[str]) -> Iterator[Path]:
    """Files that may have these characters, the best first.

    Noto comes before the package's font for other scripts, which lacks Khmer, Burmese and the conjuncts of Sinhala.
    """
    scripts = {unicodedata.script(character) for character in characters}
    yield from _package_files(font for script, font in _EAST_ASIAN if script in scripts)
    yield from _system_files(scripts - _SHARED)
    yield from _package_files([_OTHER_SCRIPTS])


@lru_cache(maxsize=16)
def characters_of(file: Path) -> frozenset[str]:
    """All characters that a font file, or the first font of a collection, can print; none when it cannot be read."""
    try:
        with file.open("rb") as opened, TTFont(opened, fontNumber=0) as font:
            return frozenset(map(chr, font.getBestCmap() or ()))
    except (OSError, TTLibError):
        return frozenset()


def script_names(characters: set[str]) -> list[str]:
    """The scripts of these characters in English, in alphabetical order; `symbols` stands for what has no script."""
    scripts = {unicodedata.script(character) for character in characters}
    names = sorted(unicodedata.script_name(script) for script in scripts - _SHARED)
    return [*names, "symbols"] if scripts & _SHARED else names


def package_folder() -> Path | None:
    """The folder with the fonts of weblate-fonts; None where it is not installed."""
    try:
        import weblate_fonts
    except ImportError:
        return None
    return Path(weblate_fonts.__file__).parent / "static" / "weblate_fonts" / "kurinto" / "ttf"


def _package_files(fonts: Iterable[str]) -> Iterator[Path]:
    folder = package_folder()
    if folder is not None:
        yield from (folder / f"{font}-Rg.ttf" for font in dict.fromkeys(fonts))


def _system_files(scripts: set[str]) -> Iterator[Path]:
    if not scripts:
        return
    there = {file.name.lower(): file for folder in _folders() for file in folder.rglob("Noto*")}
    names = (name for script in sorted(scripts) for name in _noto_names(script))
    yield from (there[name] for name in names if name in there)


def _noto_names(script: str) -> list[str]:
    """The names, in small letters, under which systems keep the regular Noto font of a script."""
    if script in dict(_EAST_ASIAN):
        return ["notosanscjk-regular.ttc"]
    name = unicodedata.script_name(script).replace(" ", "").lower()
    families = f"notosans{name}", f"notoserif{name}"
    endings = "-regular.ttf", "[wght].ttf", "[wdth,wght].ttf"
    return [family + ending for family in families for ending in endings]


def _folders() -> Iterator[Path]:
    yield from map(Path, SYSTEM_FOLDERS)
    if home := os.environ.get("HOME"):
        yield from (Path(home) / folder for folder in _USER_FOLDERS)
