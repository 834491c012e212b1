"""Users: registration, and login with a password and a one-time password."""

from __future__ import annotations

from datetime import datetime
from typing import Unpack

import msgspec

from flask_paycheckout.client.awaited import W
from flask_paycheckout.client.bodies import flag, text, texts
from flask_paycheckout.client.hidden import Credentials, Hidden, concealed
from flask_paycheckout.client.records import GIVEN, Record, given_as
from flask_paycheckout.client.resource import Resource, method
from flask_paycheckout.client.sending import Access, Operation
from flask_paycheckout.client.waiting import CallOptions


class Organization(Record, frozen=True):
    """The organization that a user belongs to."""

    id: str = given_as("_id")
    org_name: str = GIVEN


class User(Record, frozen=True):
    """The user who logged in. The interface does not show the formats of `role` and `policy`.

    :ivar organization_id: the organization itself, in the field that the service gives this name.
    :ivar partner_id: issued by an external verification partner.
    :ivar otp_code: never shown by `repr`.
    :ivar credentials: never shown by `repr`.
    """

    id: str = GIVEN
    name: str = GIVEN
    email: str = GIVEN
    policy: str = GIVEN
    organization_id: Organization = GIVEN
    role: str = GIVEN
    is_active: bool = given_as("is_active")
    iskyc: bool = GIVEN
    invitation_date: datetime | None = msgspec.field(default=None, name="invitation_date")
    invitation_expiration_date: datetime | None = msgspec.field(default=None, name="invitation_expiration_date")
    created_at: datetime = GIVEN
    updated_at: datetime = GIVEN
    country: str | None = None
    country_code: str | None = None
    kyc_url: str | None = msgspec.field(default=None, name="kyc_url")
    legal_full_name: str = GIVEN
    partner_id: str = GIVEN
    otp_code: Hidden | None = msgspec.field(default=None, name="otp_code")
    credentials: Credentials | None = None


class Verification(Record, frozen=True):
    """The token that register and login return; exchanged for a login, together with the one-time password."""

    verification_token: Hidden


class Login(Record, frozen=True):
    """A login that was verified.

    :ivar access_token: for `PaymentsClient(access_token=...)`; a string that `repr` does not show.
    :ivar user: the user; None only if the answer has no usable user.
    """

    access_token: Hidden
    user: User = GIVEN


# None of these is retried: the first two send an e-mail, and the third uses up a token that works only once.
_REGISTER = Operation("POST", "/v1/auth/register", Verification, access=Access.OPEN)
_LOGIN = Operation("POST", "/v1/auth/login", Verification, access=Access.OPEN, status_key="status")
_VERIFY = Operation("POST", "/v1/auth/verify-login", Login, access=Access.OPEN, status_key="status")


class Auth(Resource[W]):
    """`client.auth`. Secrets that are sent here are masked if the service repeats them in an error.

    >>> verification = client.auth.login("merchant@example.com", "sandbox-password")
    >>> otp = sandbox.get("mails").json()[0]["otp"]  # from the e-mail, where it is a real one
    >>> login = client.auth.verify_login(verification, otp)
    >>> login.user.email
    'merchant@example.com'
    >>> with PaymentsClient("http://127.0.0.1:8790", access_token=login.access_token) as own:
    ...     len(own.fiat_disbursements.payment_methods("USD"))
    2
    """

    @method
    async def register(
        self,
        email: str,
        password: str,
        full_name: str,
        *,
        national_id: str | None = None,
        country: str | None = None,
        country_code: str | None = None,
        **options: Unpack[CallOptions],
    ) -> str:
        """Creates a user and sends the one-time password by e-mail; returns the verification token.

        :param national_id: the number of a national identity card or passport.
        :param country: the country's name.
        :param country_code: the country's two-letter code.
        :raises Invalid: the service refuses the user.
        :raises PaymentsError: see `errors`.
        """
        password, national_id = concealed(password), concealed(national_id)
        body = texts(email=email, full_name=full_name, password=password, country=country, country_code=country_code)
        if national_id is not None:
            body["nationalID"] = text("national_id", national_id)
        return (await self._caller.record(_REGISTER, body=body)).verification_token

    @method
    async def login(self, email: str, password: str, **options: Unpack[CallOptions]) -> str:
        """Sends the one-time password by e-mail; returns the verification token.

        :raises RequestRefused: e-mail or password are wrong; the interface does not show the kind of error.
        :raises PaymentsError: see `errors`.
        """
        password = concealed(password)
        body = texts(email=email, password=password)
        return (await self._caller.record(_LOGIN, body=body)).verification_token

    @method
    async def verify_login(
        self, verification_token: str, otp: str, *, disable_expire: bool = False, **options: Unpack[CallOptions]
    ) -> Login:
        """Exchanges the verification token and the one-time password for an access token.

        :param disable_expire: whether the access token never expires; it cannot be invalidated afterwards.
        :raises RequestRefused: token or password are wrong or used; the interface does not show the kind of error.
        :raises PaymentsError: see `errors`.
        """
        verification_token, otp = concealed(verification_token), concealed(otp)
        body = texts(verification_token=verification_token, otp=otp)
        body["isDisableExpire"] = flag("disable_expire", disable_expire)
        return await self._caller.record(_VERIFY, body=body)
