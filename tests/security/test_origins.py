"""The check of payment URLs: only plain absolute URLs of allowed origins are accepted."""

from __future__ import annotations

import pytest

from flask_paycheckout.errors import UnsafeCheckoutUrl
from flask_paycheckout.security.origins import origin_of, require_allowed


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://pay.example/checkout/1", "https://pay.example"),
        ("https://PAY.example:443", "https://pay.example"),
        ("HTTPS://pay.example/", "https://pay.example"),
        ("https://pay.example:8443/x?y#z", "https://pay.example:8443"),
        ("http://127.0.0.1:8790/checkout/1", "http://127.0.0.1:8790"),
        ("http://pay.example:80", "http://pay.example"),
        ("http://pay.example:443", "http://pay.example:443"),
        ("https://[::1]:8443/", "https://[::1]:8443"),
    ],
)
def test_an_origin_is_scheme_host_and_port_without_the_default(url: str, origin: str) -> None:
    assert origin_of(url) == origin


# `payment_urls.py` has tricks that are tried through the shop; a check of their destination would not notice these.
TRICKS = [
    "https://pay.example:0/",
    "https://pay.example:99999/",
    "https://pay.example/" + "a" * 2048,
    f"https://{'a' * 64}.example/",
    "https://pay..example/",
    "https://pay.example;script-src/",
    "https://*.example/",
    "https://[v1.x]/",
    "",
]


@pytest.mark.parametrize("url", TRICKS, ids=range(len(TRICKS)))
def test_a_url_with_tricks_in_it_is_refused_everywhere(url: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        origin_of(url)
    for allowed in ((), ("https://pay.example",)):
        with pytest.raises(UnsafeCheckoutUrl) as refused:
            require_allowed(url, allowed)
        assert "PAYCHECKOUT_CHECKOUT_ORIGINS" in str(refused.value)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("http://pay.example/secret-page", ()),
        ("http://127.0.0.1.evil.example/secret-page", ()),
        # Browsers read these as addresses of this machine.
        ("http://2130706433/secret-page", ()),
        ("http://0x7f.1/secret-page", ()),
        ("http://0177.0.0.1/secret-page", ()),
        ("https://evil.example/secret-page", ("https://pay.example",)),
        ("https://pay.example:8443/secret-page", ("https://pay.example",)),
        ("http://pay.example/secret-page", ("https://pay.example",)),
        ("http://127.0.0.1/secret-page", ("https://pay.example",)),
    ],
)
def test_refused_with_the_origin_and_never_the_url(url: str, allowed: tuple[str, ...]) -> None:
    """Anybody who has the URL can pay, so no log may hold it."""
    with pytest.raises(UnsafeCheckoutUrl) as refused:
        require_allowed(url, allowed)
    assert origin_of(url) in str(refused.value)
    assert "secret-page" not in str(refused.value)
