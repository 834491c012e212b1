"""The account that exists from the start, its user, and an access token that never expires."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy.orm import Session

from flask_paycheckout.sandbox.auth.tables import AccessToken, Account, User, digest_of
from flask_paycheckout.sandbox.world.context import world

CLIENT_ID = "sandbox-client"
CLIENT_SECRET = "sandbox-secret-0123456789abcdef"  # noqa: S105 - published on purpose, it guards play money
EMAIL = "merchant@example.com"
PASSWORD = "sandbox-password"  # noqa: S105
ACCESS_TOKEN = "sandbox-access-token"  # noqa: S105
USER_ID = "5a6d00000000000000000001"

ORGANIZATION_ID = "5a6d00000000000000000002"

# Hashed once and kept here: hashing takes a tenth of a second, which creating each sandbox would cost.
PASSWORD_HASH = (
    "scrypt:32768:8:1$Y5vc8cpiswLwkGSx$"  # noqa: S105 - of the published password
    "9c278cc397ab30c6b399f53aba8669a3a46d6324c35d0cbe3f4e808a68d30d16"
    "3253ec3238b78ab6bf85c1082e3d4d73108c8cfe02a1330b51591dfe468249f4"
)
_AGE = timedelta(days=90)


def add_start_account(session: Session) -> None:
    """Add the account that works without registration."""
    session.add(Account(user_id=USER_ID, client_id=CLIENT_ID, client_secret=CLIENT_SECRET, checkout_enabled=True))


def add_start_user(session: Session) -> None:
    """Add the start account's user, registered 90 days ago, and its access token."""
    now = world().clock.machine()
    session.add(
        User(
            id=USER_ID,
            email=EMAIL,
            email_key=EMAIL,
            password_hash=PASSWORD_HASH,
            name="Sandbox Merchant",
            country="United States",
            country_code="US",
            organization_id=ORGANIZATION_ID,
            organization_name="Sandbox Shop",
            policy="5a6d00000000000000000003",
            is_active=True,
            is_verified=True,
            created_at=now - _AGE,
            updated_at=now - _AGE,
        )
    )
    session.add(AccessToken(token_digest=digest_of(ACCESS_TOKEN), user_id=USER_ID, created_at=now, expires_at=None))
