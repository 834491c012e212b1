"""The page a customer pays on: `GET /checkout/<id>`."""

from __future__ import annotations

from flask import Blueprint

hosted_page = Blueprint("hosted_page", __name__)
