"""Requests and records of registration and login."""

from __future__ import annotations

from typing import Annotated

import msgspec

from flask_paycheckout.sandbox.auth.start_state import INVITATION_LASTS
from flask_paycheckout.sandbox.auth.tables import User
from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp, Url
from flask_paycheckout.sandbox.wire.field_types import Email, Flag, Request, Text, matching, text
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.settings import derived


class NewUser(Request):
    """The body of `POST /v1/auth/register`. The national id is not stored, because no answer shows it."""

    email: Email
    password: Text
    full_name: Text
    national_id: Text | None = msgspec.field(name="nationalID", default=None)
    country: Text | None = None
    country_code: Annotated[str, matching("[A-Za-z]{2}", "a code of two letters, such as US")] | None = None


class NewLogin(Request):
    """The body of `POST /v1/auth/login`."""

    email: Email
    password: Text


class Confirmation(Request):
    """The body of `POST /v1/auth/verify-login`."""

    verification_token: Text
    otp: Annotated[str, text(20)]
    is_disable_expire: Flag | None = None


class Organization(Record):
    id: str = msgspec.field(name="_id")
    org_name: str


class UserCredentials(Record):
    """Credentials of a user: an object whose fields the interface does not show."""


_IN_CAPITALS = {
    "organization_id": "organizationId",
    "created_at": "createdAt",
    "updated_at": "updatedAt",
    "country_code": "countryCode",
    "legal_full_name": "legalFullName",
    "partner_id": "partnerId",
}
"""The names that the interface does not write with underscores."""


class UserRecord(Record, rename=_IN_CAPITALS):
    id: str
    name: str
    email: str
    policy: str
    organization_id: Organization
    role: str
    is_active: bool
    iskyc: bool
    invitation_date: Timestamp
    invitation_expiration_date: Timestamp
    created_at: Timestamp
    updated_at: Timestamp
    country: str
    country_code: str
    kyc_url: Url
    legal_full_name: str
    partner_id: str
    otp_code: str
    credentials: UserCredentials


class VerificationRecord(Record):
    verification_token: str


class LoginRecord(Record):
    access_token: str
    user: UserRecord


def represent(user: User, otp: str) -> UserRecord:
    """Convert a user to its record.

    The interface shows every field without saying which may be missing, so each has a value: a user who registered was
    invited at that time, and the one-time password is the one that was just used.
    """
    return UserRecord.of(
        *(user, user.account),
        organization_id=Organization(user.account.organization_id, user.account.organization_name),
        role="admin",
        iskyc=user.is_verified,
        invitation_date=user.invited_at or user.created_at,
        invitation_expiration_date=user.invitation_expires_at or user.created_at + INVITATION_LASTS,
        country=user.country or "",
        country_code=user.country_code or "",
        # The page on which the user's identity is verified.
        kyc_url=f"{world().base_url}/identity/{user.id}",
        legal_full_name=user.name,
        partner_id=derived(f"partner:{user.id}"),
        otp_code=otp,
        credentials=UserCredentials(),
    )
