"""The route of our style sheets and scripts, since Flask's own would redirect odd paths to the request's host."""

from __future__ import annotations

from pathlib import Path

from flask import Response, current_app, send_from_directory

__all__ = ["static"]

_FOLDER = Path(__file__).parent.parent / "static"


def static(filename: str) -> Response:
    """Send a file, with the cache time of the shop's own static files."""
    return send_from_directory(_FOLDER, filename, max_age=current_app.get_send_file_max_age(filename))
