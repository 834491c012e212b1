"""`python -m tests.translating`: brings the catalogues of the customers' pages up to date with the source.

New messages come into every `.po` untranslated, changed ones are marked fuzzy, and what is translated is compiled.
Translate what is new, take the mark "fuzzy" away where the old words are still right, and run it again.
"""

from __future__ import annotations

import io
from pathlib import Path

from babel.messages import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from flask_paycheckout.translations.catalogues import DOMAIN, FOLDER, LANGUAGES

PACKAGE = FOLDER.parent
# All that a customer reads stands in these modules; the templates have no words of their own.
SOURCES = (PACKAGE / "views" / "page_text.py", PACKAGE / "views" / "refund_text.py")
KEYWORDS = {"message": None, "gettext": None, "ngettext": (1, 2)}
# What git knows better, and what would change with every Babel.
_LEFT_OUT = ("Report-", "POT-", "PO-", "Last-Translator", "Language-Team", "Generated-By")


def extracted() -> Catalog:
    """Every message of the source."""
    catalog = _new(None)
    for source in SOURCES:
        place = str(source.relative_to(PACKAGE.parent))
        for _, found, comments, _ in extract_from_file("python", str(source), keywords=KEYWORDS):
            catalog.add(found, auto_comments=comments, locations=[(place, 0)])
    return catalog


def po_file(language: str) -> Path:
    """Where a language's translations are written by people."""
    return FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def read(language: str) -> Catalog:
    """A language's translations as they stand in the source."""
    with po_file(language).open("rb") as file:
        return read_po(file, locale=language, domain=DOMAIN)


def _written(catalog: Catalog) -> str:
    text = io.BytesIO()
    write_po(text, catalog, width=100, include_lineno=False)
    lines = text.getvalue().decode().splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(tuple(f'"{name}' for name in _LEFT_OUT)))


def main() -> None:
    for language in LANGUAGES[1:]:
        catalog = read(language) if po_file(language).exists() else _new(language)
        catalog.update(extracted())
        catalog.obsolete.clear()
        po_file(language).parent.mkdir(parents=True, exist_ok=True)
        po_file(language).write_text(_written(catalog))
        with po_file(language).with_suffix(".mo").open("wb") as file:
            write_mo(file, catalog)
        missing = sum(not message.string or message.fuzzy for message in catalog if message.id)
        print(f"{language}: {len(catalog)} messages, {missing} to translate")


def _new(language: str | None) -> Catalog:
    about = f"# Words of the customers' pages of flask_paycheckout ({language})."
    return Catalog(language, DOMAIN, header_comment=about, project=PACKAGE.name, version="1", fuzzy=False)


if __name__ == "__main__":
    main()
