"""`GET /inspector/reset`: the confirmation before a reset."""

from __future__ import annotations

from flask import Response
from sqlalchemy import select
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.inspector.blueprint import inspector, redirect_to, show
from flask_paycheckout.sandbox.levers.start_file import StartFileError
from flask_paycheckout.sandbox.levers.start_state import reset_world
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import transaction
from flask_paycheckout.sandbox.world.settings import WorldSettings


@inspector.get("/inspector/reset")
def ask_to_reset() -> Response:
    """Ask for confirmation, because a reset cannot be undone."""
    return _page()


def _page(status: int = 200, problem: str = "") -> Response:
    with transaction() as session:
        settings = session.execute(select(WorldSettings)).scalar_one()
    return show("reset", status, first_webhook_url=settings.first_webhook_url, problem=problem)


@inspector.post("/inspector/reset")
def reset() -> AnyResponse:
    try:
        with transaction(exclusive=True) as session:
            reset_world(session, world())
    except StartFileError as wrong:
        return _page(409, str(wrong))
    return redirect_to("show_overview", "reset")
