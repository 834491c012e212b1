"""`python -m tests.translating`: brings the catalogues of the customers' pages up to date with the source.

New messages are added to every `.po` untranslated, changed ones are marked fuzzy, and translations are compiled.
Translate the new messages, remove the mark "fuzzy" where the old translation is still right, and run it again.
"""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from babel.messages import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from flask_paycheckout.translations.catalogues import DOMAIN, FOLDER, LANGUAGES
from flask_paycheckout.views import page_text, receipt_text, refund_text, status_text

PACKAGE = FOLDER.parent
# All texts for customers are in these modules; the templates contain none.
SOURCES = (status_text, page_text, receipt_text, refund_text)
KEYWORDS = {"gettext": None, "ngettext": (1, 2)}
# Headers with facts that git records, and headers that change with every Babel version.
_LEFT_OUT = ("Report-", "POT-", "PO-", "Last-Translator", "Language-Team", "Generated-By")


def extracted() -> Catalog:
    """Every message of the source: the texts of its constants, and the messages that its functions look up."""
    catalog = _new(None)
    for source in SOURCES:
        file = Path(source.__file__ or "")
        imported = {name.asname or name.name for node in _imports(file) for name in node.names}
        constants = [value for name, value in vars(source).items() if name.isupper() and name not in imported]
        looked_up = [message for _, message, _, _ in extract_from_file("python", str(file), keywords=KEYWORDS)]
        for message in [*texts_of(constants), *looked_up]:
            catalog.add(message, locations=[(str(file.relative_to(PACKAGE.parent)), 0)])
    return catalog


def _imports(file: Path) -> list[ast.ImportFrom]:
    return [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.ImportFrom)]


def texts_of(value: object) -> Iterator[str]:
    """The texts in a constant of any form."""
    if isinstance(value, str):
        yield from [value] if value else []
    elif isinstance(value, Mapping):
        yield from texts_of([*value.values()])
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts_of(each)
    elif isinstance(value, msgspec.Struct):
        yield from texts_of(msgspec.structs.astuple(value))


def po_file(language: str) -> Path:
    """The file in which people write a language's translations."""
    return FOLDER / language / "LC_MESSAGES" / f"{DOMAIN}.po"


def read(language: str) -> Catalog:
    """A language's translations in the source."""
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
