"""Ids that try to be more than one segment of a path, or another request."""

from __future__ import annotations

__all__ = ["QUOTED", "REFUSED"]

# What is sent: always one segment, which the service reads back as the very id.
QUOTED = {
    "up": "../admin",
    "up-twice": "../../v1/checkout",
    "up-inside": "a/../../b",
    "up-quoted": "..%2fadmin",
    "up-quoted-upper": "..%2Fadmin",
    "up-quoted-dots": "%2e%2e",
    "up-quoted-twice": "%252e%252e%252f",
    "dot-segment": "./a",
    "three-dots": "...",
    "absolute": "/v1/auth/login",
    "other-host": "//evil.example/x",
    "other-scheme": "https://evil.example/",
    "user-info": "@evil.example",
    "backslash": "..\\admin",
    "query": "a?status=completed",
    "fragment": "a#b",
    "parameter": "a;b=c",
    "ampersand": "a&b=c",
    "colon": "a:b",
    "plus-and-blank": "a+b c",
    "tab": "a\tb",
    "nul": "a\0b",
    "nul-quoted": "a%00b",
    "line-break": "a\r\nX-Evil: 1\r\n\r\nGET /admin HTTP/1.1",
    "line-break-quoted": "a%0d%0aX-Evil:%201",
    "next-line": "a\x85b\u2028c",
    "percent-alone": "100%",
    "unicode": "é\u202e\U0001f4b8",
    "full-width": "\uff0e\uff0e\uff0fadmin",
    "decomposed": "e\u0301",
    "template": "{id}",
    "long": "x" * 500,
    "long-when-quoted": "\U0001f4b8" * 500,
}

# What cannot be one segment, or is none of the service's: nothing is sent.
REFUSED = {
    "empty": "",
    "dot": ".",
    "dots": "..",
    "too-long": "x" * 501,
    "much-too-long": "/" * 1_000_000,
    "half-a-surrogate-pair": "a\ud800b",
}
