"""A throttle on guesses: so many within a quarter of an hour, from one place and from everywhere together.

A guess is counted before it is looked at, in a commit of its own and by conditional statements, so that many at once,
in any number of processes, are no more than allowed. What is kept is bounded: a refused guess writes nothing, and rows
of a window that is over are removed.

Many addresses together could keep the owner out for as long as they go on. So a browser that was let in before has a
signed cookie that says so: it counts by itself, and what strangers do does not concern it. Behind a proxy an app sees
the proxy's address in place of its visitors', unless Werkzeug's `ProxyFix` is set up for it; all are then one place.
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

from example_shop.clock import now
from example_shop.database import Model, Moment, changed, db

if TYPE_CHECKING:
    from werkzeug.wrappers import Response

#: Within this time a place may guess so often, and all places together.
WINDOW = timedelta(minutes=15)
MOST_FROM_ONE = 5
MOST_FROM_ALL = 60

COOKIE = "owner_browser"
_KNOWN_FOR = timedelta(days=365)
_EVERYWHERE = "everywhere"


class Tries(Model):
    """How often a password was given from a place since its window began."""

    __tablename__ = "tries"

    place: Mapped[str] = mapped_column(String(64), primary_key=True)
    since: Mapped[datetime] = mapped_column(Moment, index=True)
    count: Mapped[int]


class TooMany(Exception):
    """This guess is not looked at.

    :ivar wait: seconds after which one is looked at again.
    """

    def __init__(self, wait: int) -> None:
        super().__init__(f"There were too many tries; the next one is in {wait} seconds.")
        self.wait = wait


def claim_try() -> None:
    """Count the guess that this request brings.

    :raises TooMany: it is one too many.
    """
    # The place first: one that is refused takes nothing from what all may do together.
    count(place(), MOST_FROM_ONE)
    if known_browser() is None:
        count(_EVERYWHERE, MOST_FROM_ALL)
    db.session.commit()


def forgive() -> None:
    """The guess was right: the place begins anew, and all together have one guess back."""
    db.session.execute(delete(Tries).where(Tries.place == place()))
    if known_browser() is None:
        back = update(Tries).where(Tries.place == _EVERYWHERE, Tries.count > 0)
        db.session.execute(back.values(count=Tries.count - 1))
    db.session.commit()


def count(where: str, most: int) -> None:
    """Count one more from there, uncommitted; a full window is left as it is."""
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
    """A row for the place, with nothing counted yet; another request may be first to make it."""
    db.session.execute(delete(Tries).where(Tries.since <= begun - WINDOW))
    try:
        with db.session.begin_nested():
            db.session.add(Tries(place=where, since=begun, count=0))
    except IntegrityError:
        pass


def place() -> str:
    """Who guesses: a browser that was let in before, or an address."""
    if browser := known_browser():
        return f"browser {browser}"
    address = request.remote_addr or "unknown"
    try:
        parsed = ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(parsed, IPv6Address):
        # Who has one address of IPv6 has all of its network, but for those that stand for one of IPv4.
        return str(parsed.ipv4_mapped or IPv6Network((parsed, 64), strict=False))
    return address


def known_browser() -> str | None:
    """The name that this browser got when its owner was let in."""
    try:
        name = serializer().loads(request.cookies.get(COOKIE, ""))
    except BadSignature:
        return None
    return str(name)[:40]


def remember_browser(response: Response) -> None:
    """Answer to a right guess: the cookie comes back to this address only."""
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
