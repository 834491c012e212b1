"""The languages of the customers' pages, read from compiled gettext catalogues. No web, no database."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from gettext import NullTranslations, translation
from pathlib import Path

__all__ = ["DOMAIN", "FOLDER", "LANGUAGES", "Tongue", "catalogue", "choose"]

DOMAIN = "paycheckout"
FOLDER = Path(__file__).parent

LANGUAGES = ("en", "de", "es", "id", "ja")
"""ISO 639 codes; a page is written in one of them. English is what the source says."""

# Language, script, region: all that decides how a page and its amounts are written.
_TAG = re.compile(r"([A-Za-z]{2,3})(?:-[A-Za-z]{4})?(?:-(?:[A-Za-z]{2}|[0-9]{3}))?(?=-|\Z)")
# What Java's older programs, and so older Android phones, call Indonesian.
_FORMER = {"in": "id"}


@dataclass(frozen=True)
class Tongue:
    """What a customer is spoken to in."""

    language: str
    """One of `LANGUAGES`: the page's words."""

    tag: str
    """The same with a region where one was named, such as "de-CH": how the page writes amounts."""


def choose(wanted: Iterable[str], offered: Sequence[str] = LANGUAGES) -> Tongue:
    """The first language tag that we can speak; the first one offered when there is none.

    :param wanted: tags such as "de", "de-CH" or "de_CH", the dearest first; whatever is no tag is passed over.
    """
    for tag in wanted:
        found = _TAG.match(tag.replace("_", "-"))
        if found is None:
            continue
        language = _FORMER.get(found[1].lower(), found[1].lower())
        if language in offered:
            return Tongue(language, language + found[0][len(found[1]) :])
    return Tongue(offered[0], offered[0])


@cache
def catalogue(language: str) -> NullTranslations:
    """The messages of one of `LANGUAGES`, read once for each process."""
    if language == "en":
        return NullTranslations()
    return translation(DOMAIN, FOLDER, [language])
