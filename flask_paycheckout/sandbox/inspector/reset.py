"""`GET /inspector/reset`: the confirmation before a reset."""

from __future__ import annotations

from flask import Response
from sqlalchemy import select
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.inspector.blueprint import inspector, redirect_to, show
from flask_paycheckout.sandbox.levers.start_state import reset_world
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import WorldSettings


@inspector.get("/inspector/reset")
def ask_to_reset() -> Response:
    """Ask for confirmation, because a reset cannot be undone."""
    with transaction() as session:
        settings = session.execute(select(WorldSettings)).scalar_one()
    return show("reset", first_webhook_url=settings.first_webhook_url)


@inspector.post("/inspector/reset")
def reset() -> AnyResponse:
    with transaction(exclusive=True) as session:
        reset_world(session, world())
    return redirect_to("show_overview", "reset")
