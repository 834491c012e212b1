"""The languages: one is chosen from any list of tags, and each catalogue is complete."""

from __future__ import annotations

import re

import pytest
from babel.messages import Catalog
from babel.messages.mofile import read_mo

from flask_paycheckout.translations.catalogues import LANGUAGES, Language, catalogue, choose
from tests.translating import extracted, po_file, read

TRANSLATED = [language for language in LANGUAGES if language != "en"]


@pytest.mark.parametrize(
    ("tags", "language", "tag"),
    [
        (["de"], "de", "de"),
        (["de-CH"], "de", "de-CH"),
        (["de_AT"], "de", "de-AT"),
        (["DE-at"], "de", "de-at"),
        (["es-419"], "es", "es-419"),
        (["ja-Jpan-JP"], "ja", "ja-Jpan-JP"),
        (["ja-JP-u-ca-japanese"], "ja", "ja-JP"),
        (["in-ID"], "id", "id-ID"),
        (["fr-FR", "de-AT", "en"], "de", "de-AT"),
        (["en-GB", "de"], "en", "en-GB"),
        (["dex", "deutsch", "x"], "en", "en"),
        (["*"], "en", "en"),
        ([], "en", "en"),
        (["../de", "de/..", "\x00de", "", "-", "de\n"], "en", "en"),
    ],
    ids=repr,
)
def test_the_first_language_that_is_spoken_is_chosen(tags: list[str], language: str, tag: str) -> None:
    assert choose(tags) == Language(language, tag)


def test_a_reader_of_none_of_the_offered_languages_gets_the_first_one() -> None:
    assert choose(["en", "fr"], ["ja", "de"]) == Language("ja", "ja")
    assert choose(["en", "de"], ["ja", "de"]) == Language("de", "de")


def listed(text: object) -> list[str]:
    """One text, or its plurals."""
    return [str(form) for form in text] if isinstance(text, (tuple, list)) else [str(text)]


def pairs(catalog: Catalog) -> list[tuple[list[str], list[str]]]:
    """Each message with its translation, in a fixed order."""
    return sorted((listed(message.id), listed(message.string)) for message in catalog if message.id)


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"%\(\w+\)\w", text))


@pytest.mark.parametrize("language", TRANSLATED)
def test_every_message_of_the_source_is_translated_compiled_and_no_other(language: str) -> None:
    """If this fails, run `python -m tests.translating`, translate, and run it again."""
    translations = read(language)
    assert [ids for ids, _ in pairs(translations)] == [ids for ids, _ in pairs(extracted())]
    assert len(pairs(translations)) >= 27
    assert [message.id for message in translations if message.fuzzy] == []
    for ids, texts in pairs(translations):
        assert all(text.strip() and text not in ids for text in texts), ids
        assert all(placeholders(text) == placeholders(ids[0]) for text in texts), ids
        assert len(texts) == (translations.num_plurals if len(ids) == 2 else 1), ids
    with po_file(language).with_suffix(".mo").open("rb") as file:
        assert pairs(read_mo(file)) == pairs(translations)


@pytest.mark.parametrize(
    ("language", "singular", "many"),
    [("en", "1 minute.", "5 minutes."), ("de", "1 Minute", "5 Minuten"), ("ja", "約1分", "約5分")],
)
def test_numbers_have_their_own_forms(language: str, singular: str, many: str) -> None:
    forms = ("Please try again in about %(minutes)d minute.", "Please try again in about %(minutes)d minutes.")
    for minutes, expected in ((1, singular), (5, many)):
        assert expected in catalogue(language).ngettext(*forms, minutes) % {"minutes": minutes}


def test_indonesian_tells_money_that_was_not_accepted_from_money_that_has_not_arrived() -> None:
    words = catalogue("id").gettext
    assert "diterima" in words("Your payment arrived.")
    assert "tidak diterima" not in words("Your payment was not accepted")
