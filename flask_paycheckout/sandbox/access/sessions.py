"""Sessions of people who signed in, in the database, so that all processes of a sandbox know them.

They last by the machine's clock, since the virtual one is advanced. A reset leaves them alone.
"""

from __future__ import annotations

import hmac
import secrets
from datetime import datetime, timedelta
from hashlib import sha256

from flask import request
from sqlalchemy import String, delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column
from werkzeug import Response as AnyResponse

from flask_paycheckout.sandbox.world.access import Access
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.database import OUTLIVES_RESET, Table

LASTS = timedelta(hours=12)
"""How long a session lasts."""
MAX_SESSIONS = 100
"""The most sessions of the operator, and of each team; one more ends the oldest."""
_MAX_COOKIE = 100


class SignedIn(Table):
    """The session of somebody who signed in."""

    __tablename__ = "signed_in"
    __table_args__ = ({"info": OUTLIVES_RESET},)

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    """Of the cookie, which is secret."""
    name: Mapped[str] = mapped_column(String(100), index=True)
    """The team, or the operator."""
    password_mark: Mapped[str] = mapped_column(String(64))
    """Follows from the password, so that another password ends the session."""
    began_at: Mapped[datetime]
    expires_at: Mapped[datetime] = mapped_column(index=True)


def begin_session(session: Session, access: Access, name: str) -> str:
    """Begin a session of the operator or a team, and return its cookie."""
    now, cookie = world().clock.machine(), secrets.token_urlsafe(32)
    session.execute(delete(SignedIn).where(SignedIn.expires_at <= now))
    newest = select(SignedIn.digest).where(SignedIn.name == name).order_by(SignedIn.began_at.desc())
    for digest in session.scalars(newest.offset(MAX_SESSIONS - 1)).all():
        session.execute(delete(SignedIn).where(SignedIn.digest == digest))
    session.add(
        SignedIn(
            digest=_digest(cookie),
            name=name,
            password_mark=_mark(access, name),
            began_at=now,
            expires_at=now + LASTS,
        )
    )
    return cookie


def find_session(session: Session, access: Access) -> SignedIn | None:
    """The session of the current request's cookie, unless it has ended."""
    cookie = request.cookies.get(cookie_name(), "")
    if not 0 < len(cookie) <= _MAX_COOKIE:
        return None
    wanted = SignedIn.digest == _digest(cookie), SignedIn.expires_at > world().clock.machine()
    found = session.scalars(select(SignedIn).where(*wanted)).one_or_none()
    is_valid = found is not None and hmac.compare_digest(found.password_mark, _mark(access, found.name))
    return found if is_valid else None


def end_session(session: Session) -> None:
    """End the session of the current request's cookie."""
    session.execute(delete(SignedIn).where(SignedIn.digest == _digest(request.cookies.get(cookie_name(), ""))))


def keep_cookie(response: AnyResponse, cookie: str) -> None:
    """Send the cookie of a session. Scripts cannot read it, and other sites cannot have it sent with their forms."""
    response.set_cookie(
        cookie_name(), cookie, max_age=LASTS, secure=_is_secure(), httponly=True, samesite="Lax", path="/"
    )


def forget_cookie(response: AnyResponse) -> None:
    response.delete_cookie(cookie_name(), secure=_is_secure(), httponly=True, samesite="Lax", path="/")


def cookie_name() -> str:
    """With TLS, the name that browsers accept from this very host and over TLS only."""
    return "__Host-payments_sandbox" if _is_secure() else "payments_sandbox"


def _is_secure() -> bool:
    return request.is_secure or world().base_url.startswith("https:")


def _digest(cookie: str) -> str:
    return sha256(cookie.encode("utf-8", "surrogatepass")).hexdigest()


def _mark(access: Access, name: str) -> str:
    """Keyed with the control token, so that the database does not help anybody to guess the password."""
    password = access.password_of(name)
    # Nobody has this mark: the team is gone, or has no password any more.
    text = secrets.token_hex(16) if password is None else f"signed in {name} {password}"
    return hmac.new(world().control_token.encode(), text.encode("utf-8", "surrogatepass"), sha256).hexdigest()
