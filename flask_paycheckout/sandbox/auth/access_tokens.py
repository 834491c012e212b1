"""Access tokens, issued for a confirmed login and sent in the `Authorization` header."""

from __future__ import annotations

import secrets
from datetime import timedelta

from flask import request
from sqlalchemy import delete, or_, select
from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import COLUMNS_OF_CALLER, AccessToken, Account, Caller, digest_of
from flask_paycheckout.sandbox.world.context import assumption, world

_SCHEME = "bearer "


def issue_token(session: Session, user_id: str, *, expires: bool) -> str:
    """Issue a new token of an account, which its owner's id names. One that does not expire can never be revoked."""
    now = world().clock.now()
    session.execute(delete(AccessToken).where(AccessToken.expires_at <= now))
    token = secrets.token_urlsafe(32)
    lifetime = timedelta(minutes=int(assumption("access_token_minutes")))
    session.add(
        AccessToken(
            token_digest=digest_of(token),
            user_id=user_id,
            created_at=now,
            expires_at=now + lifetime if expires else None,
        )
    )
    return token


def account_of_token(session: Session) -> Caller | None:
    """Return the account of the current request's access token; None without a valid one."""
    token = _presented(request.headers.get("Authorization", ""))
    wanted = select(*COLUMNS_OF_CALLER).join(AccessToken, AccessToken.user_id == Account.user_id)
    is_valid = or_(AccessToken.expires_at.is_(None), AccessToken.expires_at > world().clock.now())
    found = session.execute(wanted.where(AccessToken.token_digest == digest_of(token), is_valid)).one_or_none()
    return None if found is None else Caller(*found)


def _presented(header: str) -> str:
    """The token in the header's value, in the formats that the unknown `authorization_format` allows."""
    has_scheme = header[: len(_SCHEME)].lower() == _SCHEME
    if has_scheme:
        return "" if assumption("authorization_format") == "raw" else header[len(_SCHEME) :].strip()
    return "" if assumption("authorization_format") == "bearer" else header.strip()
