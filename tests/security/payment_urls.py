"""Payment URLs that a broken or hostile service could return, and the origins that a browser would open."""

from __future__ import annotations

#: Plain URLs, which must always be accepted.
GOOD = (
    "https://pay.example/checkout/1",
    "https://pay.example:443/checkout/1",
    "HTTPS://PAY.EXAMPLE/checkout/1",
    "https://pay.example/checkout/1?a=b&c=%0d%0a#d",
    "https://pay.example/a;b=c,d/'e'/(f)!*$+@:",
    "https://pay.example//evil.example/",
    "https://pay.example/https://evil.example/",
    "https://pay.example/#@evil.example/",
    "https://pay.example/..%2f..%2fevil.example",
)

_SCHEMES = (
    *(
        "javascript:alert(1)",
        "javascript://pay.example/%0aalert(1)",
        "java\tscript:alert(1)",
        "\x01javascript:alert(1)",
    ),
    *("data:text/html;base64,PHNjcmlwdD4=", "file:///etc/passwd", "ftp://pay.example/"),
    *("intent://pay.example/#Intent;scheme=https;end", "http://pay.example/", "http:https://pay.example"),
    *(
        "https",
        "https://",
        "https:pay.example",
        "https:///pay.example",
        "https:\\\\pay.example",
        "h\u200bttps://pay.example/",
    ),
    *("://pay.example", "//pay.example", "/\\pay.example", "/", "", "pay.example", "/checkout/1"),
)

_USERS = (
    *(f"https://{user}evil.example/" for user in ("pay.example@", "@", "a:b@", "pay.example%40", "pay.example\\@")),
    *(f"https://pay.example@{host}" for host in ("evil.example:443/", "[::1]/", "pay.example/")),
)

# Inserted into a URL at different places: browsers drop, replace or stop at many of these.
_CHARACTERS = (
    "\r\n",
    *"\t\n\r\x00\x0b\x0c\x1f \x7f\x85\xa0\xad",
    *"\u200b\u2028\u202e\ufeff\u2215\uff0f\u3002\uff0e\u2024\xe9\u0455",
    *'\\<>"',
)

_PLACES = (
    "https://pay.example{}.evil.example/",
    "https:{}//evil.example/",
    "https://pay.example/{}x",
    "{}https://evil.example/",
)

_HOSTS = (
    *("pay.example.evil.example", "evilpay.example", "pay.example.", ".pay.example", "pay..example", "*.example"),
    *("xn--py-7ka.example", "p\u0430y.example", "pay\u2044.example", "pay.example;evil.example", "pay.example'"),
    *("pay.example{}", "%70ay.example", "pay.example%00.evil.example", "a" * 64 + ".example", "a." * 130 + "example"),
    # Addresses
    *("127.0.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "10.0.0.1", "169.254.169.254"),
    *("256.256.256.256", "localhost", "x.localhost", "[::1]", "[::1", "[fe80::1%25eth0]"),
    *("[::ffff:169.254.169.254]", "[v1.evil]", "[::1]evil.example"),
    # Ports
    *("pay.example:", "pay.example:0443", "pay.example:444", "pay.example:0", "pay.example:-1", "pay.example:65536"),
    *("pay.example:4 43", "pay.example:\u0664\u0664\u0663"),
    # Users
    *("evil.example#@pay.example", "evil.example/@pay.example", "evil.example\\@pay.example"),
)

_HEADERS = (
    "https://pay.example/\r\nSet-Cookie: stolen=1",
    "https://pay.example/\r\n\r\n<script>alert(1)</script>",
    "https://pay.example/\u560d\u560aSet-Cookie: stolen=1",
    "https://pay.example\r\nLocation: https://evil.example/",
    "https://pay.example/" + "a" * 2029,
    "https://pay.example/" + "a" * 100_000,
    "https://" + "a" * 100_000 + ".example/",
)

TRICKS = tuple(
    dict.fromkeys(
        (
            *_SCHEMES,
            *_USERS,
            *(_PLACES[0].format(character) for character in _CHARACTERS),
            *(place.format(character) for place in _PLACES[1:] for character in ("\r\n", *"\t\x00 ")),
            *(f"https://{host}/1" for host in _HOSTS),
            *(f"http://{host}/1" for host in _HOSTS),
            *_HEADERS,
        )
    )
)
