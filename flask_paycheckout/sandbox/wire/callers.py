"""Callers: who may control a sandbox, and how many calls each may make in a minute.

A sandbox is controlled by callers that know its control token and use a known host name. Programs send the token in a
header. Browsers get a cookie for it, from the link that the sandbox prints at its start, or from a form.

A page of another site in the developer's browser can reach loopback too. It cannot read answers, because there are no
CORS headers; DNS rebinding fails at the host check; it does not know the control token; and its forms are refused by
the headers with which browsers say where a request comes from.
"""

from __future__ import annotations

import hmac
import re
from collections import Counter
from hashlib import sha256
from urllib.parse import urlsplit

from flask import g, request
from werkzeug import Response

from flask_paycheckout.sandbox.wire.envelope import unspecified_refusal
from flask_paycheckout.sandbox.world.context import assumption, current_time, world

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
    header = request.headers.get("Host", "")
    # Other parsers could read any other form differently.
    name = host_of(f"//{header}") if _HOST.fullmatch(header) else ""
    if name not in world().hosts and not _BELOW_LOCALHOST.fullmatch(name):
        host = (name or header)[:100]
        raise CallRefused(
            400, "Host", f"is {host!r}, which this sandbox does not answer to", "Use localhost, or --allow-host."
        )


def _cookie() -> tuple[str, str]:
    """Name and value of the cookie that stands for the control token; they do not reveal the token.

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


def check_rate() -> None:
    """Count the current call. :raises Refusal: it is one more than the unknown `rate_limit` allows."""
    limit, here = assumption("rate_limit"), world()
    if limit == "off":
        return
    minute, second = divmod(int(current_time().timestamp()), _SECONDS)
    if here.counted_minute != minute:
        here.counted_minute, here.calls = minute, Counter()
    caller = request.headers.get("X-Client-ID") or request.headers.get("Authorization") or request.remote_addr or ""
    here.calls[caller] += 1
    if here.calls[caller] > int(limit):
        g.retry_after = _SECONDS - second
        raise unspecified_refusal(429, f"There were more than {limit} calls in a minute.")
