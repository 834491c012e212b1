"""Our style sheets and scripts. Flask's own route for them would answer odd paths with a redirect to any host."""

from __future__ import annotations

from pathlib import Path

from flask import Response, current_app, send_from_directory

__all__ = ["static"]

_FOLDER = Path(__file__).parent.parent / "static"


def static(filename: str) -> Response:
    """A file, cached for as long as the shop caches its own."""
    return send_from_directory(_FOLDER, filename, max_age=current_app.get_send_file_max_age(filename))
