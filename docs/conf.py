"""Configuration of the documentation: `sphinx-build -W docs build/docs`."""

from __future__ import annotations

import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from pygments.lexers.shell import BashLexer
from sphinx.addnodes import desc_annotation

# The checked-out package, though another version may be installed.
sys.path.insert(0, str(Path(__file__).parents[1]))

project = "flask_paycheckout"
author = "the authors of flask_paycheckout"
copyright = f"2026, {author}"  # noqa: A001 - Sphinx's own name
release = version = version_of("flask-paycheckout")

extensions = ["myst_parser", "sphinx.ext.autodoc", "pallets_sphinx_themes"]
default_role = "code"
nitpicky = False
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# `Payment` is a name of the extension and one of the client.
suppress_warnings = ["ref.python"]
highlight_language = "text"

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_preserve_defaults = True
autoclass_content = "class"

html_theme = "flask"
html_title = f"flask_paycheckout {version}"
html_static_path = ["_static"]
html_css_files = ["documentation.css"]
html_js_files = ["documentation.js"]
templates_path = ["_templates"]
html_show_sourcelink = False
toc_object_entries = False
html_show_copyright = False
html_sidebars = {
    "**": ["globaltoc.html", "localtoc.html", "searchbox.html"],
    # It has no place in the table of contents.
    "404": [],
}
html_theme_options = {"index_sidebar_logo": False}


def mark_code(app: object, kind: str, name: str, subject: object, options: object, lines: list[str]) -> None:
    """Show the indented blocks of a docstring as code, as `pydoc` does."""
    in_code, before = False, ""
    for number in range(len(lines) - 1, -1, -1):
        line, above = lines[number], lines[number - 1] if number else ""
        in_code = line.startswith("    ") and not line.strip().startswith(">>>")
        before = next((said for said in reversed(lines[:number]) if said.strip()), "")
        begins = in_code and not above.strip() and not before.startswith((" ", ":")) and not re.match(r"[-*] ", before)
        if begins:
            lines[number:number] = [".. code-block:: python", ""]


def hide_objects(app: object, doctree: Any) -> None:
    """Leave out values of attributes that have no text of their own, such as a column's."""
    for value in list(doctree.findall(desc_annotation)):
        if value.astext().strip().startswith("= <"):
            value.parent.remove(value)


def setup(app: Any) -> None:
    """Connect the hooks above; show commands as commands, though no prompt stands before them."""
    app.connect("autodoc-process-docstring", mark_code)
    app.connect("doctree-read", hide_objects)
    app.add_lexer("console", BashLexer)
