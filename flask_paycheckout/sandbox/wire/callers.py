"""Callers: those that may control a sandbox, and how many calls each may make in a minute.

A sandbox is controlled by callers on this machine that know the control token and use a known host name.

A page of another site in the developer's browser can reach loopback too. It cannot read answers, because there are no
CORS headers; DNS rebinding fails at the host check; and it knows neither the control token nor a form's token.
"""

from __future__ import annotations

import hmac
import re
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import g, request
from sqlalchemy import BigInteger, delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column

from flask_paycheckout.sandbox.wire.envelope import unspecified_refusal
from flask_paycheckout.sandbox.world.context import assumption, current_time, world
from flask_paycheckout.sandbox.world.database import Table, transaction

CONTROL_HEADER = "X-Sandbox-Control"
_PROXIES = ("X-Forwarded-For", "X-Real-IP", "Forwarded", "Via")
_OWN_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
# All names below localhost are this machine. Punycode is left out: nobody needs it, and not all of it can be decoded.
_BELOW_LOCALHOST = re.compile(r"((?!xn--)[a-z0-9_-]{1,63}\.)+localhost")


class CallRefused(Exception):
    """A refused call: status, the field that is wrong, the fault and a remedy."""

    def __init__(self, status: int, field: str, fault: str, remedy: str, asks_for: str | None = None) -> None:
        super().__init__(f"{field} {fault}")
        self.status, self.field, self.fault, self.remedy = status, field, fault, remedy
        self.asks_for = asks_for
        """The value of the `WWW-Authenticate` header."""


def allowed_hosts(base_url: str, *more: str) -> frozenset[str]:
    """Host names that a sandbox answers to: this machine's, the base URL's and further ones."""
    return _OWN_HOSTS | {_host_of(base_url), *(host.lower() for host in more)}


def check_host() -> None:
    """Refuse unknown host names, because a hostile page can let its own name resolve to this machine."""
    sent = request.headers.get("Host", "")
    # Anything else could be parsed differently elsewhere.
    name = _host_of(f"//{sent}") if _HOST.fullmatch(sent) else ""
    if name not in world().hosts and not _BELOW_LOCALHOST.fullmatch(name):
        said = (name or sent)[:100]
        raise CallRefused(
            400, "Host", f"is {said!r}, which this sandbox does not answer to", "Use localhost, or --allow-host."
        )


def is_local() -> bool:
    """Whether the caller is on this machine, and not a proxy or tunnel for callers elsewhere."""
    return is_loopback(request.remote_addr or "") and not any(name in request.headers for name in _PROXIES)


def may_control() -> bool:
    """Whether the caller may open the inspector's pages."""
    try:
        check_loopback()
        check_password()
    except CallRefused:
        return False
    return True


def check_loopback() -> None:
    if world().allow_remote_control or is_local():
        return
    raise CallRefused(
        403,
        "client address",
        "is not on this machine, or hidden by a proxy",
        "Call from this machine, or start with --allow-remote-control.",
    )


def check_control_token() -> None:
    if not world().is_control_token(request.headers.get(CONTROL_HEADER, "")):
        raise CallRefused(
            401, CONTROL_HEADER, "is missing or wrong", "Send the control token that the sandbox printed at its start."
        )


def check_password() -> None:
    """Require the control token as a password, for which browsers ask: from other machines, and in a named world."""
    name, given = world().name, request.authorization
    if (is_local() and not name) or (given is not None and world().is_control_token(given.password or "")):
        return
    remedy = "Give the control token as the password, with any user name."
    realm = f"Payments sandbox, world {name}" if name else "Payments sandbox"
    raise CallRefused(401, "password", "is missing or wrong", remedy, asks_for=f'Basic realm="{realm}"')


def form_token(of: str = "inspector") -> str:
    """The token in the forms of a page, which is derived from the control token and valid for that page only."""
    return hmac.new(world().control_token.encode(), f"{of} form".encode(), sha256).hexdigest()


def check_form(of: str = "inspector") -> None:
    """Refuse a form that the page itself did not send."""
    fetched_from = request.headers.get("Sec-Fetch-Site", "same-origin")
    origin = request.headers.get("Origin")
    foreign = fetched_from != "same-origin" or origin not in {None, request.host_url.rstrip("/")}
    if foreign or not hmac.compare_digest(request.form.get("token", "").encode(), form_token(of).encode()):
        raise CallRefused(403, "form", "was not sent from the page's own", "Load the page again and try once more.")


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


_SECONDS = 60


class CallCount(Table):
    """The calls of one client in one minute."""

    __tablename__ = "call_count"

    caller: Mapped[str] = mapped_column(primary_key=True)
    """A digest, because credentials are secret."""
    minute: Mapped[int] = mapped_column(BigInteger, primary_key=True, index=True)
    calls: Mapped[int]


def check_rate() -> None:
    """Count the current call. :raises Refusal: it is one more than the unknown `rate_limit` allows."""
    limit = assumption("rate_limit")
    if limit == "off":
        return
    now = int(current_time().timestamp())
    sent = request.headers.get("X-Client-ID") or request.headers.get("Authorization") or request.remote_addr or ""
    caller = sha256(sent.encode("utf-8", "surrogateescape")).hexdigest()
    with transaction() as session:
        calls = _count(session, caller, now // _SECONDS)
    if calls > int(limit):
        g.retry_after = _SECONDS - now % _SECONDS
        raise unspecified_refusal(429, f"There were more than {limit} calls in a minute.")


def _count(session: Session, caller: str, minute: int) -> int:
    """Count a call, in one statement because another process may count at the same time; forget earlier minutes."""
    insert = postgresql.insert if session.get_bind().dialect.name == "postgresql" else sqlite.insert
    counting = (
        insert(CallCount)
        .values(caller=caller, minute=minute, calls=1)
        .on_conflict_do_update(index_elements=["caller", "minute"], set_={"calls": CallCount.calls + 1})
        .returning(CallCount.calls)
    )
    calls = session.scalars(counting).one()
    if calls == 1:
        session.execute(delete(CallCount).where(CallCount.minute < minute))
    return calls
