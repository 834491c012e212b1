"""The page for a developer looking over the sandbox's shoulder: `GET /`."""

from __future__ import annotations

from flask import Blueprint

inspector = Blueprint("inspector", __name__)
