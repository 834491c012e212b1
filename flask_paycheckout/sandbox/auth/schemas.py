"""Requests and records of registration and login."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated
from uuid import UUID

import msgspec

from flask_paycheckout.sandbox.auth.start_state import INVITATION_LASTS
from flask_paycheckout.sandbox.auth.tables import Account, User
from flask_paycheckout.sandbox.wire.envelope import Record, Timestamp
from flask_paycheckout.sandbox.wire.field_types import (
    EmailAddress,
    Flag,
    Matching,
    OptionalFreeText,
    OptionalText,
    RequiredFreeText,
    RequiredText,
    Text,
)
from flask_paycheckout.sandbox.world.context import assumption, world
from flask_paycheckout.sandbox.world.settings import derived


@dataclass(frozen=True)
class NewUser:
    """The body of `POST /v1/auth/register`. The national id is not stored, because no answer shows it."""

    email: Annotated[str, EmailAddress()]
    password: RequiredText
    full_name: RequiredFreeText
    national_id: OptionalText = field(default=None, metadata={"name": "nationalID"})
    country: OptionalFreeText = None
    country_code: Annotated[str | None, Matching("[A-Za-z]{2}", "a code of two letters, such as US")] = None


@dataclass(frozen=True)
class NewLogin:
    """The body of `POST /v1/auth/login`."""

    email: Annotated[str, EmailAddress()]
    password: RequiredText


@dataclass(frozen=True)
class Confirmation:
    """The body of `POST /v1/auth/verify-login`."""

    verification_token: RequiredText
    otp: Annotated[str, Text(20)]
    is_disable_expire: Flag = False


class Organization(Record):
    id: str = msgspec.field(name="_id")
    org_name: str


class UserCredentials(Record):
    """Credentials of a user, whose fields the interface does not show: the unknown `user_credentials` fills them."""

    client_id: str | None = None
    client_secret: str | None = None


class UserRecord(Record):
    id: str
    name: str
    email: str
    policy: str
    organization_id: Organization
    role: str
    is_active: bool = msgspec.field(name="is_active")
    iskyc: bool = msgspec.field(name="iskyc")
    created_at: Timestamp
    updated_at: Timestamp
    legal_full_name: str
    partner_id: str
    credentials: UserCredentials
    invitation_date: Timestamp | None = msgspec.field(name="invitation_date", default=None)
    invitation_expiration_date: Timestamp | None = msgspec.field(name="invitation_expiration_date", default=None)
    country: str | None = None
    country_code: str | None = None
    kyc_url: str | None = msgspec.field(name="kyc_url", default=None)
    otp_code: str | None = msgspec.field(name="otp_code", default=None)


class VerificationRecord(Record):
    verification_token: str


class LoginRecord(Record):
    access_token: str
    user: UserRecord


def represent(user: User, account: Account, otp: str) -> UserRecord:
    """Convert a user to its record.

    The interface shows every field without saying which may be missing, so by default each has a value: a user who
    registered was invited at that time, and the one-time password is the one that was just used.
    """
    every = assumption("user_fields") == "all"
    as_uuid = str(UUID(derived(f"policy:{user.policy}", 16)))
    policies = {"id": user.policy, "uuid": as_uuid, "name": "merchant-policy"}
    registered, empty = (user.created_at, "") if every else (None, None)
    return UserRecord.of(
        user,
        policy=policies[assumption("user_policy")],
        organization_id=Organization(user.organization_id, user.organization_name),
        role=derived("role:admin") if assumption("user_role") == "id" else assumption("user_role"),
        iskyc=user.is_verified,
        invitation_date=user.invited_at or registered,
        invitation_expiration_date=user.invitation_expires_at or (registered and registered + INVITATION_LASTS),
        legal_full_name=user.name,
        partner_id=derived(f"partner:{user.id}"),
        credentials=UserCredentials() if assumption("user_credentials") == "empty" else UserCredentials.of(account),
        country=user.country or empty,
        country_code=user.country_code or empty,
        # The page on which the user's identity is verified.
        kyc_url=f"{world().base_url}/identity/{user.id}" if every or not user.is_verified else None,
        otp_code=otp if every else None,
    )
