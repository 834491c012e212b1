"""`GET /health`: whether this process and its database answer, for whatever watches a shared sandbox.

Everybody may ask. The answer says nothing about what is in the sandbox.
"""

from __future__ import annotations

from flask import Blueprint, Response
from sqlalchemy import select

from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import WorldSettings

HEALTH = "/health"

health = Blueprint("health", __name__)


@health.get(HEALTH)
def tell() -> Response:
    """200 when the database can be read; an error of the database is 500 as on every other page."""
    with transaction() as session:
        session.execute(select(WorldSettings.id)).scalar_one()
    return Response("ok\n", content_type="text/plain; charset=utf-8", headers={"Cache-Control": "no-store"})
