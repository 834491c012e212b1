"""Registering, logging in and confirming a login.

Hashing a password takes long on purpose, so it happens with no transaction open. An unknown address costs the same
hashing as a known one and gets the same answer as a wrong password.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from werkzeug.security import check_password_hash, generate_password_hash

from flask_paycheckout.sandbox.accounts import Account, add_account
from flask_paycheckout.sandbox.auth.start_user import PASSWORD_HASH
from flask_paycheckout.sandbox.auth.tables import User
from flask_paycheckout.sandbox.auth.verifications import begin
from flask_paycheckout.sandbox.database import transaction
from flask_paycheckout.sandbox.email_addresses import EmailAddress, key_of
from flask_paycheckout.sandbox.envelope import unworded
from flask_paycheckout.sandbox.fields import FieldError
from flask_paycheckout.sandbox.ids import new_id
from flask_paycheckout.sandbox.kinds import Flag, Prose, Schema, SchemaOf, Text
from flask_paycheckout.sandbox.world import unknown, world


@dataclass(frozen=True)
class TwoLetters(Text):
    """A code of two letters."""

    most: int = 2

    def read(self, name: str, value: object) -> str:
        if not isinstance(value, str) or len(value) != self.most or not (value.isascii() and value.isalpha()):
            raise FieldError(f"{name} must be a code of two letters, such as US.")
        return value

    def schema(self, schema_of: SchemaOf) -> Schema:
        return {"type": "string", "pattern": "^[A-Za-z]{2}$"}


@dataclass(frozen=True)
class NewUser:
    """What a registration sends. The national id is taken and not kept: no answer shows it."""

    email: Annotated[str, EmailAddress()]
    password: Annotated[str, Text()]
    full_name: Annotated[str, Prose()]
    national_id: Annotated[str | None, Text()] = field(default=None, metadata={"name": "nationalID"})
    country: Annotated[str | None, Prose()] = None
    country_code: Annotated[str | None, TwoLetters()] = None


@dataclass(frozen=True)
class Credentials:
    """What a login sends."""

    email: Annotated[str, EmailAddress()]
    password: Annotated[str, Text()]


@dataclass(frozen=True)
class Confirmation:
    """What confirms a login."""

    verification_token: Annotated[str, Text()]
    otp: Annotated[str, Text(20)]
    is_disable_expire: Annotated[bool, Flag()] = False


def register(new: NewUser) -> str:
    """Make a user with an account of its own; the verification token of its first login."""
    # Hashed before anything is looked up, so that a taken address takes as long as a free one.
    password_hash = generate_password_hash(new.password)
    try:
        with transaction() as session:
            return begin(session, _add_user(session, new, password_hash))
    except IntegrityError:
        raise unworded(int(unknown("email_taken_error")), "This e-mail address is registered already.") from None


def _add_user(session: Session, new: NewUser, password_hash: str) -> User:
    now = world().clock.now()
    account = add_account(session)
    user = User(
        id=account.user_id,
        email=new.email,
        email_key=key_of(new.email),
        password_hash=password_hash,
        name=new.full_name,
        country=new.country,
        country_code=new.country_code,
        organization_id=new_id(session),
        organization_name=new.full_name,
        policy=new_id(session),
        is_active=False,
        is_verified=False,
        created_at=now,
        updated_at=now,
    )
    session.add(user)
    session.flush()
    return user


def log_in(sent: Credentials) -> str:
    """The verification token of a login with the right password."""
    with transaction() as session:
        user = session.scalars(select(User).where(User.email_key == key_of(sent.email))).one_or_none()
    is_right = check_password_hash(PASSWORD_HASH if user is None else user.password_hash, sent.password)
    if user is None or not is_right:
        raise unworded(int(unknown("wrong_password_error")), "The e-mail address or the password is wrong.")
    with transaction() as session:
        return begin(session, user)


def account_of(session: Session, user_id: str) -> Account:
    return session.get_one(Account, user_id)
