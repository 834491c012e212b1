"""A user as the service writes it."""

from __future__ import annotations

import msgspec

from flask_paycheckout.sandbox.accounts import Account
from flask_paycheckout.sandbox.auth.tables import User
from flask_paycheckout.sandbox.ids import derived
from flask_paycheckout.sandbox.records import Moment, Record
from flask_paycheckout.sandbox.world import unknown, world


class Organization(Record, frozen=True):
    id: str = msgspec.field(name="_id")
    org_name: str


class UserCredentials(Record, frozen=True):
    """The interface names the object but nothing in it: empty unless the unknown `user_credentials` fills it."""

    client_id: str | None = None
    client_secret: str | None = None


class UserRecord(Record, frozen=True):
    id: str
    name: str
    email: str
    policy: str
    organization_id: Organization
    role: str
    is_active: bool = msgspec.field(name="is_active")
    iskyc: bool = msgspec.field(name="iskyc")
    created_at: Moment
    updated_at: Moment
    legal_full_name: str
    partner_id: str
    credentials: UserCredentials
    invitation_date: Moment | None = msgspec.field(name="invitation_date", default=None)
    invitation_expiration_date: Moment | None = msgspec.field(name="invitation_expiration_date", default=None)
    country: str | None = None
    country_code: str | None = None
    kyc_url: str | None = msgspec.field(name="kyc_url", default=None)
    otp_code: str | None = msgspec.field(name="otp_code", default=None)


class VerificationRecord(Record, frozen=True):
    verification_token: str


class LoginRecord(Record, frozen=True):
    access_token: str
    user: UserRecord


def represent(user: User, account: Account) -> UserRecord:
    """The user, ready for the envelope. Nobody here was invited, and a used one-time password is not repeated."""
    return UserRecord(
        id=user.id,
        name=user.name,
        email=user.email,
        policy=user.policy,
        organization_id=Organization(user.organization_id, user.organization_name),
        role=unknown("user_role"),
        is_active=user.is_active,
        iskyc=user.is_verified,
        created_at=user.created_at,
        updated_at=user.updated_at,
        legal_full_name=user.name,
        partner_id=derived(f"partner:{user.id}"),
        credentials=_credentials(account),
        country=user.country,
        country_code=user.country_code,
        kyc_url=None if user.is_verified else f"{world().base_url}/identity/{user.id}",
    )


def _credentials(account: Account) -> UserCredentials:
    if unknown("user_credentials") == "empty":
        return UserCredentials()
    return UserCredentials(account.client_id, account.client_secret)
