"""The languages of the customers' pages, and their compiled gettext catalogues."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from gettext import NullTranslations, translation
from pathlib import Path

import msgspec

DOMAIN = "paycheckout"
FOLDER = Path(__file__).parent

LANGUAGES = ("en", "de", "es", "id", "ja")
"""ISO 639 codes of the pages' languages. English is the language of the source."""

# Language, script and region. The language decides the page's texts; all three decide the notation of amounts.
_TAG = re.compile(r"([A-Za-z]{2,3})((?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?)(?=-|\Z)")
_RIGHT_TO_LEFT = {"ar"}
# Older Java programs, such as older Android phones, use the former code of Indonesian.
_FORMER = {"in": "id"}


class Language(msgspec.Struct, frozen=True):
    """The language of a page, and the notation of its amounts."""

    code: str
    """The language of the texts: one of `LANGUAGES`."""

    tag: str
    """The language with its region if there is one, such as "de-CH"; it decides the notation of amounts."""

    @property
    def direction(self) -> str:
        """The writing direction of the language: `ltr` or `rtl`."""
        return "rtl" if self.code in _RIGHT_TO_LEFT else "ltr"

    def gettext(self, text: str) -> str:
        """The translation of a text of the pages."""
        # A catalogue returns its header for an empty text.
        return text and catalogue(self.code).gettext(text)


def choose(wanted: Iterable[str], offered: Sequence[str] = LANGUAGES) -> Language:
    """Choose the first wanted language that is offered, else the first offered language.

    :param wanted: tags such as "de", "de-CH" or "de_CH", most preferred first; invalid tags are skipped.
    """
    for tag in wanted:
        match = _TAG.match(tag.replace("_", "-"))
        if match is None:
            continue
        code = match[1].lower()
        language = _FORMER.get(code, code)
        if language in offered:
            return Language(language, language + match[2])
    return Language(offered[0], offered[0])


@cache
def catalogue(language: str) -> NullTranslations:
    """The messages of one of `LANGUAGES`, read once per process."""
    if language == "en":
        return NullTranslations()
    return translation(DOMAIN, FOLDER, [language])
