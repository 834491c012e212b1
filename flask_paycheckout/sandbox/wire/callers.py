"""Who may pull the tester's levers: callers on this machine who hold the control token and use a known host name.

A page of another origin in the developer's browser can reach loopback too. It cannot read answers (no CORS here), a
rebound DNS name fails the host check, and it knows neither the control token nor a page's form token.
"""

from __future__ import annotations

import hmac
import re
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import urlsplit

from flask import request

from flask_paycheckout.sandbox.world.context import world

CONTROL_HEADER = "X-Sandbox-Control"
_PROXIES = ("X-Forwarded-For", "X-Real-IP", "Forwarded", "Via")
_OWN_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")
# Every name below localhost is this machine. Encoded ones are left out: nobody needs them, and not all can be read.
_BELOW_LOCALHOST = re.compile(r"((?!xn--)[a-z0-9_-]{1,63}\.)+localhost")


class CallRefused(Exception):
    """The caller may not do this; holds what is wrong and what would help."""

    def __init__(self, status: int, field: str, fault: str, remedy: str, asks_for: str | None = None) -> None:
        super().__init__(f"{field} {fault}")
        self.status, self.field, self.fault, self.remedy = status, field, fault, remedy
        #: What a browser is told to ask the person before it.
        self.asks_for = asks_for


def allowed_hosts(base_url: str, *more: str) -> frozenset[str]:
    """The names a sandbox answers to: this machine's, the base address's, and any given ones."""
    return _OWN_HOSTS | {_host_of(base_url), *(host.lower() for host in more)}


def check_host() -> None:
    """Refuse names we were not told about: a hostile page may have pointed its own name at this machine."""
    sent = request.headers.get("Host", "")
    # Of anything else, what reads it next might take another part for the name than we do.
    name = _host_of(f"//{sent}") if _HOST.fullmatch(sent) else ""
    if name not in world().hosts and not _BELOW_LOCALHOST.fullmatch(name):
        said = (name or sent)[:100]
        raise CallRefused(
            400, "Host", f"is {said!r}, which this sandbox does not answer to", "Use localhost, or --allow-host."
        )


def is_local() -> bool:
    """Whether the caller is on this machine, and no proxy or tunnel on it that passes on what others send."""
    return _is_loopback(request.remote_addr or "") and not any(name in request.headers for name in _PROXIES)


def may_control() -> bool:
    """Whether the caller is on this machine, or on another one that was allowed to, and knows the control token."""
    return is_local() or (world().allow_remote_control and _knows_password())


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
    """From other machines the inspector, too, wants the control token: browsers ask for it as a password."""
    if is_local() or _knows_password():
        return
    remedy = "Give the control token as the password, with any user name."
    raise CallRefused(401, "password", "is missing or wrong", remedy, asks_for='Basic realm="Payments sandbox"')


def _knows_password() -> bool:
    given = request.authorization
    return given is not None and world().is_control_token(given.password or "")


def form_token(of: str = "inspector") -> str:
    """What proves that a form was rendered by the inspector, or by the page named.

    The control token itself never enters a page, and the token of one page is worth nothing on another.
    """
    return hmac.new(world().control_token.encode(), f"{of} form".encode(), sha256).hexdigest()


def check_form(of: str = "inspector") -> None:
    """Accept a form only from the page's own."""
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


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
