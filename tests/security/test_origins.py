"""The check of payment URLs: only plain absolute URLs of allowed origins are accepted."""

from __future__ import annotations

import pytest

from flask_paycheckout.errors import UnsafeCheckoutUrl
from flask_paycheckout.security.origins import is_loopback, origin_of, require_allowed


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


TRICKS = [
    pytest.param("javascript:alert(1)", id="javascript"),
    pytest.param("data:text/html,x", id="data"),
    pytest.param("//evil.example/", id="scheme-relative"),
    pytest.param("/checkout/1", id="relative"),
    pytest.param("https:/evil.example", id="one slash"),
    pytest.param("https:evil.example", id="no slash"),
    pytest.param("https:///evil.example", id="no host"),
    pytest.param("ftp://pay.example/", id="ftp"),
    pytest.param("https://pay.example@evil.example/", id="user name"),
    pytest.param("https://evil.example\\@pay.example/", id="backslash"),
    pytest.param("https://pay.example%2eevil.example/", id="quoted host"),
    pytest.param("https://pay.example/\r\nSet-Cookie: a=b", id="line break"),
    pytest.param("https://pay.example/\tx", id="tab"),
    pytest.param(" https://pay.example/", id="space before"),
    pytest.param("https://pay.еxample/", id="look-alike letter"),
    pytest.param('https://pay.example/"><script>', id="markup"),
    pytest.param("https://pay.example:0/", id="port 0"),
    pytest.param("https://pay.example:99999/", id="port too large"),
    pytest.param("https://pay.example:x/", id="port no number"),
    pytest.param("https://[::1/", id="broken address"),
    pytest.param("https://pay.example/" + "a" * 2048, id="too long"),
    pytest.param("https://pay.example/\x7f", id="delete character"),
    pytest.param(f"https://{'a' * 64}.example/", id="part of a name too long"),
    pytest.param(f"https://{'a.' * 127}example/", id="name too long"),
    pytest.param("https://pay..example/", id="empty part of a name"),
    pytest.param("https://pay.example;script-src/", id="a policy in the host"),
    pytest.param("https://*.example/", id="wildcard"),
    pytest.param("http://2130706433/", id="address as a number"),
    pytest.param("http://0x7f.1/", id="address in another base"),
    pytest.param("http://0177.0.0.1/", id="address with a leading zero"),
    pytest.param("https://[v1.x]/", id="address of the future"),
    pytest.param("", id="empty"),
]


@pytest.mark.parametrize("url", TRICKS)
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
        pytest.param("https://anywhere.example/1", (), id="https anywhere"),
        pytest.param("http://127.0.0.1:8790/1", (), id="http on this machine"),
        pytest.param("http://localhost/1", (), id="http on localhost"),
        pytest.param("http://[::1]:8790/1", (), id="http on this machine, IPv6"),
        pytest.param("https://pay.example/1", ("https://pay.example",), id="listed"),
        pytest.param("http://pay.lan/1", ("https://pay.example", "http://pay.lan"), id="listed http"),
    ],
)
def test_allowed(url: str, allowed: tuple[str, ...]) -> None:
    require_allowed(url, allowed)


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        pytest.param("http://pay.example/secret-page", (), id="http elsewhere"),
        pytest.param("http://127.0.0.1.evil.example/secret-page", (), id="looks like this machine"),
        pytest.param("https://evil.example/secret-page", ("https://pay.example",), id="not listed"),
        pytest.param("https://pay.example:8443/secret-page", ("https://pay.example",), id="other port"),
        pytest.param("http://pay.example/secret-page", ("https://pay.example",), id="other scheme"),
        pytest.param("https://pay.example.evil.example/secret-page", ("https://pay.example",), id="longer host"),
        pytest.param(
            "http://127.0.0.1/secret-page", ("https://pay.example",), id="this machine, when others are listed"
        ),
    ],
)
def test_refused_with_the_origin_and_never_the_url(url: str, allowed: tuple[str, ...]) -> None:
    """Whoever has the URL can pay, so no log may hold it."""
    with pytest.raises(UnsafeCheckoutUrl) as refused:
        require_allowed(url, allowed)
    assert origin_of(url) in str(refused.value)
    assert "secret-page" not in str(refused.value)


@pytest.mark.parametrize("host", ["localhost", "shop.localhost", "127.0.0.1", "127.8.9.10", "::1", "[::1]"])
def test_loopback(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["", "localhost.example", "10.0.0.1", "0.0.0.0", "128.0.0.1", "::2", "notlocalhost"])  # noqa: S104
def test_not_loopback(host: str) -> None:
    assert not is_loopback(host)
