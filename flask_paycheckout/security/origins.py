"""The check of payment URLs: customers are redirected only to allowed origins."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from flask_paycheckout.errors import UnsafeCheckoutUrl

_MAX_URL = 2048
# Matches URLs that all browsers read in the same way: a plain host without a user, then at most a path, and no
# characters that browsers correct differently.
_PLAIN = re.compile(
    r"(https?)://([a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?"
    r"(?:[/?#][!#-;=?-\[\]-~]*)?",
    re.IGNORECASE,
)


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine, in any spelling. Names are not looked up in DNS."""
    name = host.strip("[]").rstrip(".").lower()
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
    mapped = getattr(address, "ipv4_mapped", None) or address
    return bool(mapped.is_loopback or mapped.is_unspecified)


def leads_to_loopback(url: str) -> bool:
    """Whether the host of a URL means this machine."""
    return is_loopback(urlsplit(url).hostname or "")


def origin_of(url: str) -> str:
    """Scheme, host and port of a URL, without the default port.

    :raises ValueError: the text is not an absolute http(s) URL, or browsers may read it differently.
    """
    plain = _PLAIN.fullmatch(url[: _MAX_URL + 1])
    if plain is None or len(url) > _MAX_URL or int(plain[3] or 1) > 65535:
        raise ValueError(f"is not an absolute http or https URL with a plain host, of at most {_MAX_URL} characters")
    scheme, host, port = plain[1].lower(), plain[2].lower(), plain[3]
    default = {"http": "80", "https": "443"}[scheme]
    return f"{scheme}://{host}" + ("" if port in (None, default) else f":{port}")


def require_allowed(url: str, allowed: tuple[str, ...]) -> None:
    """Refuse a payment URL whose origin is not in `allowed`.

    :param allowed: origins; when empty, https is allowed anywhere, and http on this machine only.
    :raises UnsafeCheckoutUrl: the URL is refused; the error has the fault, never the URL, with which anybody could pay.
    """
    try:
        origin = origin_of(url)
    except ValueError as fault:
        raise UnsafeCheckoutUrl(str(fault)) from None
    is_safe = origin in allowed if allowed else origin.startswith("https://") or leads_to_loopback(url)
    if not is_safe:
        raise UnsafeCheckoutUrl(f"goes to {origin}, which is not {'an allowed origin' if allowed else 'https'}")
