"""Callers: those that may control a sandbox, and how many calls each may make in a minute.

A sandbox is controlled by callers that know its control token and use a known host name. Programs send the token in a
header. Browsers get a cookie for it, from the link that the sandbox prints at its start, or from a form.

A page of another site in the developer's browser can reach loopback too. It cannot read answers, because there are no
CORS headers; DNS rebinding fails at the host check; it does not know the control token; and its forms are refused by
the headers with which browsers say where a request comes from.
"""

from __future__ import annotations

import hmac
import re
from hashlib import sha256
from urllib.parse import urlsplit

from flask import g, request
from sqlalchemy import BigInteger, delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Mapped, Session, mapped_column
from werkzeug import Response

from flask_paycheckout.sandbox.wire.envelope import unspecified_refusal
from flask_paycheckout.sandbox.world.context import assumption, current_time, world
from flask_paycheckout.sandbox.world.database import Table, transaction

CONTROL_HEADER = "X-Sandbox-Control"
OWN_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
# All names below localhost are this machine. Punycode is left out: nobody needs it, and not all of it can be decoded.
_BELOW_LOCALHOST = re.compile(r"((?!xn--)[a-z0-9_-]{1,63}\.)+localhost")


class CallRefused(Exception):
    """A refused call: status, the field that is wrong, the fault and a remedy."""

    def __init__(self, status: int, field: str, fault: str, remedy: str) -> None:
        super().__init__(f"{field} {fault}")
        self.status, self.field, self.fault, self.remedy = status, field, fault, remedy


def check_host() -> None:
    """Refuse unknown host names, because a hostile page can let its own name resolve to this machine."""
    sent = request.headers.get("Host", "")
    # Anything else could be parsed differently elsewhere.
    name = host_of(f"//{sent}") if _HOST.fullmatch(sent) else ""
    if name not in world().hosts and not _BELOW_LOCALHOST.fullmatch(name):
        said = (name or sent)[:100]
        raise CallRefused(
            400, "Host", f"is {said!r}, which this sandbox does not answer to", "Use localhost, or --allow-host."
        )


def _cookie() -> tuple[str, str]:
    """Name and value of the cookie that stands for the control token, which a browser cannot learn from them.

    Browsers share cookies among all ports of a host, so the name belongs to one sandbox.
    """
    value = hmac.new(world().control_token.encode(), b"inspector", sha256).hexdigest()
    return f"sandbox_{sha256(value.encode()).hexdigest()[:8]}", value


def let_in(response: Response) -> None:
    """Give the browser the cookie with which it may control the sandbox."""
    path, is_secure = f"{request.script_root}/", world().base_url.startswith("https:")
    response.set_cookie(*_cookie(), path=path, secure=is_secure, httponly=True, samesite="Lax")


def may_control() -> bool:
    """Whether the browser has the cookie for the control token."""
    name, value = _cookie()
    return hmac.compare_digest(request.cookies.get(name, "").encode(), value.encode())


def host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


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
