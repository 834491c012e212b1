"""The page `GET /identity/<user id>`, to which a user's `kyc_url` leads: who the user is, and whether that is verified.

In place of the external partner, whoever has the address confirms the identity with a button. Doing it twice has no
second effect.
"""

from __future__ import annotations

from flask import Blueprint, Response, redirect, url_for
from sqlalchemy import update
from sqlalchemy.orm import Session
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.auth.tables import User
from flask_paycheckout.sandbox.levers.pages import page
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import rows_changed, transaction

identity_page = Blueprint("identity_page", __name__, url_prefix="/identity")


@identity_page.get("/<user_id>")
def show(user_id: str) -> Response:
    with transaction() as session:
        user = _find(session, user_id)
    return page("identity.html", 404 if user is None else 200, user=user)


@identity_page.post("/<user_id>")
def confirm(user_id: str) -> AnyResponse:
    """Verify the identity, as the partner would."""
    with transaction() as session:
        verified = update(User).where(User.id == user_id, User.is_verified.is_(False))
        rows_changed(session, verified.values(is_verified=True, updated_at=world().clock.now()))
    return redirect(url_for("identity_page.show", user_id=user_id), 303)


def _find(session: Session, user_id: str) -> User | None:
    return session.get(User, user_id)
