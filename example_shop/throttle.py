"""A limit on password guesses: so many within 15 minutes from one place, and from all places together.

A guess is counted before it is checked, in a commit of its own and by conditional statements, so that simultaneous
guesses in any number of processes stay within the limit. The table is bounded: a refused guess writes nothing, and rows
of an expired window are deleted.

Guesses from many addresses could lock the owner out. Therefore a browser that has logged in before has a signed cookie
and is counted by itself, independent of all others. Behind a proxy, all visitors have the proxy's address and count as
one place, unless Werkzeug's `ProxyFix` is set up.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from ipaddress import IPv6Address, IPv6Network, ip_address
from math import ceil
from typing import TYPE_CHECKING

from flask import current_app, request
from itsdangerous import BadSignature, URLSafeSerializer
from sqlalchemy import String, delete, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Mapped, mapped_column

from example_shop.database import Model, Moment, changed, db
from example_shop.hooks import now

if TYPE_CHECKING:
    from werkzeug.wrappers import Response

WINDOW = timedelta(minutes=15)
"""The time in which MOST_FROM_ONE guesses from one place are allowed, and MOST_FROM_ALL from all together."""

MOST_FROM_ONE = 5
MOST_FROM_ALL = 60

COOKIE = "owner_browser"
_KNOWN_FOR = timedelta(days=365)
_EVERYWHERE = "everywhere"


class Tries(Model):
    """The number of guesses from a place since its window began."""

    __tablename__ = "tries"

    place: Mapped[str] = mapped_column(String(64), primary_key=True)
    since: Mapped[datetime] = mapped_column(Moment, index=True)
    count: Mapped[int]


class TooMany(Exception):
    """There were too many guesses, so this one is not checked."""

    def __init__(self, wait: int) -> None:
        super().__init__(f"There were too many tries; the next one is in {wait} seconds.")
        self.wait = wait
        """Seconds until the next guess is checked."""


def claim_try() -> None:
    """Count the guess in this request.

    :raises TooMany: the limit is reached.
    """
    # The place first, so that a guess that is refused there does not count against the limit of all.
    count(place(), MOST_FROM_ONE)
    if known_browser() is None:
        count(_EVERYWHERE, MOST_FROM_ALL)
    db.session.commit()


def forgive() -> None:
    """Reset the place's count after a correct password, and take the guess off the count of all."""
    db.session.execute(delete(Tries).where(Tries.place == place()))
    if known_browser() is None:
        back = update(Tries).where(Tries.place == _EVERYWHERE, Tries.count > 0)
        db.session.execute(back.values(count=Tries.count - 1))
    db.session.commit()


def count(where: str, most: int) -> None:
    """Count one guess from a place without committing; a full window is left unchanged."""
    begun = now()
    here = update(Tries).where(Tries.place == where)
    over = begun - WINDOW
    while True:
        if changed(here.where(Tries.since > over, Tries.count < most).values(count=Tries.count + 1)):
            return
        since = db.session.scalar(select(Tries.since).where(Tries.place == where))
        if since is not None and since > over:
            db.session.rollback()
            raise TooMany(max(1, ceil((since + WINDOW - begun).total_seconds())))
        begin_window(where, begun)


def begin_window(where: str, begun: datetime) -> None:
    """Insert a row for the place with a count of zero, unless another request was faster."""
    db.session.execute(delete(Tries).where(Tries.since <= begun - WINDOW))
    try:
        with db.session.begin_nested():
            db.session.add(Tries(place=where, since=begun, count=0))
    except IntegrityError:
        pass


def place() -> str:
    """The place of this request: a browser that has logged in before, or an address."""
    if browser := known_browser():
        return f"browser {browser}"
    address = request.remote_addr or "unknown"
    try:
        parsed = ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(parsed, IPv6Address):
        # The owner of an IPv6 address usually has its whole /64 network; mapped addresses stand for one IPv4 address.
        return str(parsed.ipv4_mapped or IPv6Network((parsed, 64), strict=False))
    return address


def known_browser() -> str | None:
    """The random name that this browser got at its last login; None without one."""
    try:
        name = serializer().loads(request.cookies.get(COOKIE, ""))
    except BadSignature:
        return None
    return str(name)[:40]


def remember_browser(response: Response) -> None:
    """Give the browser a signed cookie after a login, sent to the login's path only."""
    name = known_browser() or secrets.token_urlsafe(12)
    response.set_cookie(
        COOKIE,
        serializer().dumps(name),
        max_age=_KNOWN_FOR,
        path=request.path,
        secure=current_app.config["SESSION_COOKIE_SECURE"],
        httponly=True,
        samesite="Lax",
    )


def serializer() -> URLSafeSerializer:
    signed = {"digest_method": hashlib.sha256}
    return URLSafeSerializer(current_app.config["SECRET_KEY"], salt="example_shop.throttle", signer_kwargs=signed)
