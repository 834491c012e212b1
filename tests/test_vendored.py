"""Files from other projects are listed with their licences in a file of the wheel."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
VENDORED = tomllib.loads((ROOT / "flask_paycheckout" / "vendored.toml").read_text(encoding="utf-8"))["vendored"]
#: Kinds of files that are our own in every folder: Python files, pages and their translations.
OWN = {".py", ".html", ".po", ".mo", ".typed", ".pyc", ".toml"}
OWN_FILES = {
    *(f"flask_paycheckout/static/{name}" for name in ("copy.js", "owner.css", "paycheckout.css", "status.js")),
    *(f"flask_paycheckout/sandbox/static/{name}" for name in ("docs.css", "inspector.css", "sandbox.css")),
    "flask_paycheckout/sandbox/static/picture.svg",
    "flask_paycheckout/sandbox/wire/examples.json",
}


def test_each_packaged_file_that_is_not_our_own_is_listed_with_its_licence() -> None:
    packaged = {
        path.relative_to(ROOT).as_posix()
        for folder in ("flask_paycheckout", "tests/browser/axe")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix not in OWN
    }
    listed = [name for part in VENDORED for name in (*part["files"], *part["text"])]
    assert sorted(packaged - OWN_FILES) == sorted(listed)
    assert all(part["license"] and part["source"] for part in VENDORED)


def test_the_wheel_has_the_text_of_each_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    texts = {name for part in VENDORED for name in part["text"] if name.startswith("flask_paycheckout/")}
    copies = {name for name in texts if name.startswith("flask_paycheckout/sandbox/static/")}
    assert texts - copies <= set(project["license-files"])
