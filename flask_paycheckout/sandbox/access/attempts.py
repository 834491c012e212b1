"""A bound on attempts to sign in, for all processes of a sandbox together, by the machine's clock.

An attempt is counted before its password is compared, so that attempts at the same time cannot exceed the bound. One
that succeeds is taken back; it does not clear those that failed.
"""

from __future__ import annotations

from hashlib import sha256
from ipaddress import IPv6Address, ip_address, ip_network

from flask import request
from sqlalchemy import BigInteger, String, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.world.access import OPERATOR, Access
from flask_paycheckout.sandbox.world.context import world
from flask_paycheckout.sandbox.world.counting import CountInWindows
from flask_paycheckout.sandbox.world.database import OUTLIVES_RESET, Table

WINDOW = 15 * 60
"""Seconds in which attempts are counted together."""
OF_ADDRESS, OF_NAME = 10, 100
"""The most failed attempts in a window, of one address and for one name."""
# IPv6: a household or a machine has as many addresses as it likes, below one such prefix.
_PREFIX = 64


class SignInAttempt(Table):
    """The attempts of one address, or for one name, in one window."""

    __tablename__ = "sign_in_attempt"
    __table_args__ = ({"info": OUTLIVES_RESET},)

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    window: Mapped[int] = mapped_column(BigInteger, primary_key=True, index=True)
    attempts: Mapped[int]


_ATTEMPTS = CountInWindows(SignInAttempt.key, SignInAttempt.window, SignInAttempt.attempts)


def count_attempt(session: Session, access: Access, name: str) -> int:
    """Count an attempt; it must be committed whether or not it succeeds.

    :return: 0 when it is allowed, else the seconds until the next one is.
    """
    now = int(world().clock.machine().timestamp())
    # Count the name first: once it is refused, no row is stored for the address, so many addresses fill no table.
    for key, most in ((_of_name(access, name), OF_NAME), (_of_address(), OF_ADDRESS)):
        if _ATTEMPTS.add(session.connection(), key, now // WINDOW) > most:
            return WINDOW - now % WINDOW
    return 0


def take_back(session: Session, access: Access, name: str) -> None:
    """Uncount an attempt that succeeded."""
    window = int(world().clock.machine().timestamp()) // WINDOW
    for key in (_of_name(access, name), _of_address()):
        counted = (SignInAttempt.key == key, SignInAttempt.window == window, SignInAttempt.attempts > 0)
        session.execute(
            update(SignInAttempt).where(*counted).values(attempts=SignInAttempt.attempts - 1),
            execution_options={"synchronize_session": False},
        )


def _of_name(access: Access, name: str) -> str:
    # Names that do not exist are counted together, so that they fill no table.
    known = name if name == OPERATOR or name in access.teams else ""
    return _digest(f"name {known}")


def _of_address() -> str:
    sent = request.remote_addr or ""
    try:
        address = ip_address(sent)
    except ValueError:
        return _digest(f"address {sent}")
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return _digest(f"address {ip_network((address, _PREFIX), strict=False)}")
    return _digest(f"address {address}")


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
