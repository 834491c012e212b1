"""Records of users and their logins."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from flask_paycheckout.client.hidden import Hidden
from flask_paycheckout.client.records.record import Record, hidden

__all__ = ["Login", "Organization", "User", "Verification"]


class Organization(Record, frozen=True):
    """Whom a user belongs to."""

    id: str | None = msgspec.field(default=None, name="_id")
    org_name: str | None = msgspec.field(default=None, name="orgName")


class User(Record, frozen=True, rename="camel"):
    """The user who logged in. The formats of `role` and `policy` are not shown.

    :ivar organization_id: the organization itself, as the service names the field.
    :ivar partner_id: issued by an external verification partner.
    :ivar otp_code: never shown by `repr`.
    :ivar credentials: never shown by `repr`.
    """

    id: str | None = None
    name: str | None = None
    email: str | None = None
    policy: str | None = None
    organization_id: Organization | None = None
    role: str | None = None
    is_active: bool | None = msgspec.field(default=None, name="is_active")
    iskyc: bool | None = None
    invitation_date: datetime | None = msgspec.field(default=None, name="invitation_date")
    invitation_expiration_date: datetime | None = msgspec.field(default=None, name="invitation_expiration_date")
    created_at: datetime | None = None
    updated_at: datetime | None = None
    country: str | None = None
    country_code: str | None = None
    kyc_url: str | None = msgspec.field(default=None, name="kyc_url")
    legal_full_name: str | None = None
    partner_id: str | None = None
    otp_code: Hidden | None = msgspec.field(default=None, name="otp_code")
    credentials: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The user as plain data; of the credentials, `repr` shows the names only."""
        return super().to_dict() | {"credentials": hidden(self.credentials)}

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        if self.credentials is not None:
            shown["credentials"] = Hidden()
        return f"User({', '.join(f'{name}={value!r}' for name, value in shown.items())})"


class Verification(Record, frozen=True, rename="camel"):
    """The token that register and login give; exchanged for a login, together with the one-time password."""

    verification_token: Hidden


class Login(Record, frozen=True, rename="camel"):
    """A login that was verified.

    :ivar access_token: for `PaymentsClient(access_token=...)`; a string that `repr` does not show.
    :ivar user: None only when the answer has no usable user.
    """

    access_token: Hidden
    user: User | None = None
